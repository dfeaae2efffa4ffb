from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import typer

from netpact.cli.console import people, print_json, progress_bar, verdict_style
from netpact.cli.options import DataName, LimitOptions, PactFile, RunOptions
from netpact.cli.options_of import option
from netpact.cli.originals import NetworkOptions
from netpact.core.limits import Limits


@dataclass(frozen=True, kw_only=True)
class VerifyLimits(LimitOptions):
    max_training: int = option(
        Limits().max_training,
        "OPS",
        "With --retrain: most multiply-adds of training.",
        least=1,
        shown="10^15, some hours",
    )


def verify(
    file: PactFile,
    data: DataName,
    retrain: Annotated[
        bool, typer.Option("--retrain", help="Train the helper network again by the recipe in the file.")
    ] = False,
    *,
    networks: NetworkOptions,
    limits: VerifyLimits,
    run: RunOptions,
) -> int:
    """Check a certificate from the file and the data alone: decode, count errors, recompute the bound, compare.

    A data-dependent certificate needs its helper network: give it by --base ("agreed, given the stated helper"), or
    train it again by --retrain, which needs only file and data.

    With --original (and --unlabelled, if it was certified so) the statement about the network before compression is
    checked as well.

    A statement with arithmetic as run is checked with the torch and on the machine that verify runs on. Where its
    count is larger by near ties alone, the verdict is "undecided".

    Exit codes: 0 agreed; 1 refused, with reasons; 3 agreed, but contradicted by a test error above the bound; 4
    undecided.

    Example: netpact verify mlp.pact --data digits --json
    """
    from netpact.cli.originals import check_original, open_case, original_options
    from netpact.core.errors import PactError
    from netpact.pacts.verification import verify as check

    run.set_threads()
    if retrain and networks.base is not None:
        raise PactError("with --retrain the helper is trained again, and no base is read", where="--base")
    case = open_case(file, data, networks, limits.limits())
    pact = case.pact
    if retrain:
        from netpact.pacts.priors import retrain_helper

        with progress_bar("training the helper again") as bar:
            case = replace(case, base=retrain_helper(pact, case.data, progress=bar, max_parameters=case.max_parameters))
    with progress_bar("verifying") as bar:
        verdict = check(
            pact,
            case.data,
            model=case.model,
            base=case.base,
            base_data=case.base_data,
            max_parameters=case.max_parameters,
            progress=bar,
        )
    people.print(str(verdict), style=verdict_style(verdict), soft_wrap=True, markup=False)
    record, agreed, refused = verdict.to_json(), verdict.agreed, bool(verdict.reasons) or verdict.certificate is None
    if case.original is not None:
        with progress_bar("verifying the original's statement") as bar:
            second = check_original(case, progress=bar)
        people.print(str(second), style=verdict_style(second), soft_wrap=True, markup=False)
        record["original"], agreed = second.to_json(), agreed and second.agreed
        refused = refused or bool(second.reasons)
    elif pact.original is not None:
        people.print(f"not checked: the statement about the original network (give {original_options(pact)})")
    if run.json:
        print_json(record)
    if not agreed:
        return 1 if refused else 4
    return 3 if verdict.contradicted else 0
