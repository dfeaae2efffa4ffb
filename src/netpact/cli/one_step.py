"""certify MODEL: from a network and data to a verified file, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netpact.cli.beside import print_statement
from netpact.cli.console import people, verdict_style
from netpact.cli.data_warnings import warn_about
from netpact.cli.interrupts import keep_in
from netpact.cli.models import names_own_function, own_model, trained_model
from netpact.cli.picture import look_around, print_picture
from netpact.cli.places import pact_place
from netpact.cli.targets import Show, table_of
from netpact.core.errors import PactError, printable
from netpact.core.percent import percent

if TYPE_CHECKING:
    from netpact.cli.commands.certify import StatementOptions
    from netpact.cli.hold_out_alone import AloneOptions
    from netpact.cli.statement_page import StatementPage
    from netpact.exploration import MadePact
    from netpact.methods import Tried


def certify_model(
    model: str,
    data: str,
    statement: StatementOptions,
    alone: AloneOptions,
    show: StatementPage,
    *,
    resume: Path | None,
) -> tuple[dict[str, object], int]:
    """The record for --json, and the exit code."""
    from netpact.cli.app import FINE, REFUSED
    from netpact.cli.commands.search import parse_budget
    from netpact.datasets import load_data
    from netpact.exploration import make_pact

    _refuse_options(statement)
    out = alone.out or Path(f"{_stem(model, alone.weights)}.pact")
    if out.suffix != ".pact":
        raise PactError("must end in .pact", where="--out", hint="a .json file is written with --hold-out only")
    pact_place(out, overwrite=show.overwrite)
    seconds = parse_budget(alone.budget)
    source = load_data(data)
    warn_about(source)
    module = trained_model(model, source, weights=alone.weights)
    tried: list[Tried] = []
    with keep_in(resume), Show(tried) as live:
        made = make_pact(
            module,
            source,
            delta=statement.delta,
            budget_seconds=seconds,
            arithmetic=statement.arithmetic or None,
            maker=own_model(model) if names_own_function(model) else None,
            keep=resume,
            progress=live.tried,
            working=live.working,
        )
    made.pact.write(out)
    people.print(table_of(tried, made.found.found))
    _tell(made, out, tried)
    around = look_around(source, file_bytes=out.stat().st_size)
    print_picture(made.certificate, around, advice=made.advice)
    people.print(str(made.verdict), style=verdict_style(made.verdict), soft_wrap=True)
    own = f" --model {model}" if names_own_function(model) else ""
    people.print(f"anyone can check it: netpact verify {out} --data {data}{own}", soft_wrap=True)
    show.write(made.pact.statements, file=out)
    record = made.to_json() | {"file": str(out)} | around.to_json(made.certificate)
    return record, FINE if made.verdict else REFUSED


def _refuse_options(statement: StatementOptions) -> None:
    """What is about counting in another way, and needs a file."""
    from netpact.cli.commands.certify import StatementOptions as Options

    for name in ("form", "repeats", "public_seed", "original_arithmetic"):
        if getattr(statement, name) != getattr(Options(), name):
            flag = f"--{name.replace('_', '-')}"
            raise PactError(
                "only for a .pact file", where=flag, hint=f"write one without {flag}, then certify that file with it"
            )


def _stem(model: str, weights: Path | None) -> str:
    if weights is not None:
        return weights.stem
    return model.rpartition(":")[2] if names_own_function(model) else model.replace(":", "-")


def _tell(made: MadePact, out: Path, tried: list[Tried]) -> None:
    certificate, found = made.certificate, made.found
    people.print(
        f"{out}: {printable(repr(found.method))}, arithmetic {made.arithmetic}, the "
        f"{'smallest file within a point of accuracy' if made.advice else 'lowest bound'} of {len(tried)} settings",
        soft_wrap=True,
    )
    if found.original_accuracy is not None:
        people.print(
            f"train error before compression {percent(1 - found.original_accuracy, places=2)}, on "
            f"{found.measured_on}; of the network in the file {percent(certificate.train_error, places=2)}",
            soft_wrap=True,
        )
    print_statement(certificate)
