"""A hold-out statement by itself: about a network that is in no .pact file, kept as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from netpact.cli.beside import print_statement
from netpact.cli.console import people, print_json, progress_bar, verdict_style
from netpact.cli.options import Weights
from netpact.cli.options_of import option
from netpact.core.errors import PactError

if TYPE_CHECKING:
    from netpact.cli.commands.certify import StatementOptions
    from netpact.cli.originals import FreshOptions, NetworkOptions
    from netpact.cli.statement_page import StatementPage
    from netpact.core.limits import Limits
    from netpact.runs import Engine

_MOST_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class AloneOptions:
    """For a network that is in no .pact file."""

    PANEL: ClassVar = "For a MODEL"
    weights: Weights = None
    out: Path | None = option(
        None,
        "FILE",
        "The .pact file to write; with --hold-out the .json file of the statement.",
        shown="the weights' name with .pact",
    )
    budget: str = option("5m", "TIME", "Time for trying settings: 90s, 10m, 1h; once more where no bound is useful.")


def is_file(target: Path) -> bool:
    return target.suffix == ".pact" or target.is_file()


def certify_alone(
    model: str,
    data: str,
    statement: StatementOptions,
    fresh: FreshOptions,
    alone: AloneOptions,
    show: StatementPage,
    *,
    engine: Engine | None,
    resume: Path | None,
) -> dict[str, object]:
    from netpact.cli.models import trained_model
    from netpact.core.files import check_place, write_atomically
    from netpact.datasets import load_data
    from netpact.pacts.fresh import certify_hold_out

    if fresh.hold_out is None:
        raise PactError("without a .pact file there is only a hold-out statement", where="--hold-out")
    if alone.out is None:
        raise PactError("no place for the statement", where="--out", hint="give --out FILE.json")
    if alone.out.suffix != ".json":
        raise PactError("must end in .json", where="--out")
    check_place(alone.out)
    source = load_data(data)
    module = trained_model(model, source, weights=alone.weights)
    with progress_bar("counting errors on the hold-out samples") as bar:
        stated = certify_hold_out(
            module,
            fresh.hold_out,
            source,
            delta=statement.delta,
            repeats=statement.repeats,
            arithmetic=statement.arithmetic or statement.original_arithmetic or None,
            progress=bar,
            engine=engine,
            resume=resume,
        )
    record = stated.to_json()
    write_atomically(alone.out, json.dumps(record, indent=1).encode())
    print_statement(stated)
    show.write({"original_hold_out": stated}, file=alone.out)
    return record


def verify_alone(
    file: Path,
    data: str,
    networks: NetworkOptions,
    fresh: FreshOptions,
    limits: Limits,
    show: StatementPage,
    *,
    as_json: bool,
    engine: Engine | None,
    resume: Path | None,
) -> int:
    from netpact.certificates import HoldOutCertificate
    from netpact.cli.app import FINE, REFUSED, UNDECIDED
    from netpact.cli.originals import open_original
    from netpact.core.files import read_bytes
    from netpact.datasets import load_data
    from netpact.pacts.fresh import verify_hold_out

    content = read_bytes(file)
    if len(content) > _MOST_BYTES:
        raise PactError(f"{len(content):,} bytes, at most {_MOST_BYTES:,} are read", where=str(file))
    stated = HoldOutCertificate.from_json(content.decode("utf-8", errors="replace"))
    module = open_original(networks, fresh, limits)
    if module is None or fresh.hold_out is None:
        raise PactError(
            "the network and its samples are needed", where=str(file), hint="give --original and --hold-out"
        )
    with progress_bar("verifying") as bar:
        verdict = verify_hold_out(
            stated, fresh.hold_out, load_data(data), original=module, progress=bar, engine=engine, resume=resume
        )
    people.print(str(verdict), style=verdict_style(verdict), soft_wrap=True, markup=False)
    show.write({"original_hold_out": stated}, file=file, verdicts={"original_hold_out": verdict})
    if as_json:
        print_json(verdict.to_json())
    if verdict:
        return FINE
    return UNDECIDED if verdict.undecided and not verdict.reasons else REFUSED
