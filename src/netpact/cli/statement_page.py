"""--page of certify and verify: the statements of a file."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netpact.cli.console import people
from netpact.cli.options import Overwrite
from netpact.cli.options_of import option
from netpact.cli.places import page_place

if TYPE_CHECKING:
    from netpact.certificates import Statement
    from netpact.pacts.verification import Verdict


@dataclass(frozen=True, kw_only=True)
class StatementPage:
    page: Path | None = option(None, "FILE", "Write an HTML page with all statements of the file and their numbers.")
    overwrite: Overwrite = False

    def __post_init__(self) -> None:
        page_place(self.page, overwrite=self.overwrite)

    def write(
        self, statements: Mapping[str, Statement], *, file: Path, verdicts: Mapping[str, Verdict] | None = None
    ) -> None:
        """In the verifier's words where a statement was agreed to."""
        if self.page is None or not statements:
            return
        from netpact.core.files import write_atomically
        from netpact.reports.statement_page import Checked, render_statements

        shown, checked = dict(statements), None
        if verdicts is not None:
            checked = {
                name: Checked(verdict="not checked", words="Other samples or networks are needed.")
                for name in statements
            }
            for name, one in verdicts.items():
                if name in shown:
                    shown[name] = (one.certificate or shown[name]) if one.agreed else shown[name]
                    checked[name] = Checked(verdict=_word(one), words=" ".join(one.notes) if one.agreed else str(one))
        command = shlex.join(["netpact", *sys.argv[1:]])
        text = render_statements(shown, file=file.name, command=command, checked=checked)
        people.print(f"{write_atomically(self.page, text.encode())}", soft_wrap=True)


def _word(verdict: Verdict) -> str:
    if verdict.agreed:
        return "agreed"
    return "undecided" if verdict.undecided and not verdict.reasons else "refused"
