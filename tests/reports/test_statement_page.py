"""The page of a file's statements: each with its kind, none that was refused, no markup from a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from certificates.test_certificate_record import AS_RUN, make

from netpact.certificates import Certificate, FidelityCertificate, Fresh, HoldOutCertificate, Identified, Statement
from netpact.cli.statement_page import StatementPage
from netpact.core.errors import PactError
from netpact.pacts.verification import Verdict
from netpact.reports.statement_page import NAMES, Checked, render_statements

FRESH = Fresh(
    name="a<b>&'",
    fingerprint="sha256:ab",
    samples=500,
    copies=0,
    repeats=False,
    data_name="digits",
    data_fingerprint="sha256:cd",
)
FILE = Identified(name="linear", sha256="ab" * 32, arithmetic="float32")
HELD = HoldOutCertificate(
    bound=0.2, delta=0.05, near_ties=1, fresh=FRESH, about="file", network=FILE, errors=80, classes=10
)
FIDELITY = FidelityCertificate(
    bound=0.03, delta=0.05, near_ties=2, fresh=FRESH, compressed=FILE, original=FILE, disagreements=9
)
ALL: dict[str, Statement] = {"certificate": make(), "fidelity": FIDELITY, "hold_out": HELD}


def render(statements: dict[str, Statement], checked: dict[str, Checked] | None = None) -> str:
    return render_statements(statements, file="net<i>.pact", command="netpact certify", checked=checked)


def test_every_statement_is_there_with_its_kind() -> None:
    page = render(ALL)
    for name, statement in ALL.items():
        assert f"{NAMES[name]}: Proven" in page
        assert statement.sentence().split(" over the draw")[0] in page
    assert "all at once with at least 85 %" in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert "a&lt;b&gt;" in page
    assert "Nothing on this page was checked again" in page
    assert page.count("<script") == 1, "the page's own"


def test_what_is_certified_as_run_looks_otherwise() -> None:
    page = render({"certificate": make(**AS_RUN, bound=0.5, form="exact")})
    assert "As run: not proven for other machines" in page
    assert ": Proven" not in page
    assert 'class="claim ran"' in page
    assert "<small>as run</small>" in page
    assert 'class="claim ran"' not in render(ALL)


def test_what_was_not_agreed_to_is_not_shown_as_proven() -> None:
    checked = {
        "certificate": Checked(verdict="agreed", words=""),
        "fidelity": Checked(verdict="refused", words="refused: 9 is false"),
        "hold_out": Checked(verdict="undecided", words="undecided: near ties"),
    }
    page = render(ALL, checked)
    assert "Both networks: Refused" in page
    assert "held-out samples: Undecided" in page
    assert "disagree on at most" not in page.split("All numbers")[0]
    assert "at once" not in page
    assert "The network in the file: Proven, verified" in page


def test_vacuous_statements_say_so() -> None:
    page = render({"certificate": make(), "hold_out": replace(HELD, bound=0.95)})
    assert "held-out samples: Proven, but vacuous" in page


def test_the_option_writes_in_the_verifiers_words(tmp_path: Path) -> None:
    said = replace(HELD, fresh=replace(FRESH, name="mine"))
    verdicts = {"certificate": Verdict(("no",), make()), "hold_out": Verdict((), said, notes=("a note",))}
    StatementPage(page=tmp_path / "p.html").write(ALL, file=Path("net.pact"), verdicts=verdicts)
    page = (tmp_path / "p.html").read_text()
    assert "The network in the file: Refused" in page
    assert "of &quot;mine&quot;" in page
    assert "agreed. a note" in page
    assert "Both networks: Not checked" in page
    (tmp_path / "other.html").write_text("mine")
    with pytest.raises(PactError, match="exists"):
        StatementPage(page=tmp_path / "other.html")


def test_a_certificate_alone() -> None:
    certificate = make()
    assert isinstance(certificate, Certificate)
    assert "at once" not in render({"certificate": certificate})
