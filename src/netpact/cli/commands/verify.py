from __future__ import annotations

from typing import Annotated

import typer

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.options import (
    DataName,
    Json,
    MaxMemory,
    MaxParameters,
    MaxTraining,
    MaxWork,
    OwnModel,
    PactFile,
    Threads,
    read_limits,
    set_threads,
)
from netpact.cli.originals import BaseData, BaseFile, OriginalWeights, UnlabelledFile


def verify(
    file: PactFile,
    data: DataName,
    model: OwnModel = "",
    base: BaseFile = None,
    base_data: BaseData = "",
    retrain: Annotated[
        bool, typer.Option("--retrain", help="Train the helper network again, by the recipe in the file.")
    ] = False,
    original: OriginalWeights = None,
    unlabelled: UnlabelledFile = None,
    max_parameters: MaxParameters = None,
    max_work: MaxWork = None,
    max_memory: MaxMemory = None,
    max_training: MaxTraining = None,
    threads: Threads = 0,
    json: Json = False,
) -> int:
    """Check a file's certificate from the file and the data alone: decode, recount, recompute, compare.

    A data-dependent certificate needs its helper network: from --base ("agreed, given the stated helper"), or trained
    again with --retrain, for which file and data are enough.

    With --original, and --unlabelled where it rests on fresh inputs, the statement about the network before compression
    is checked as well.

    Exit code 0: agreed. 1: refused, with the reasons. 3: agreed, but the test error is above the bound and contradicts
    it. Example: netpact verify mlp.pact --data digits --json
    """
    from dataclasses import replace

    from netpact.cli.originals import check_original, open_case, original_options
    from netpact.core.errors import PactError
    from netpact.pacts.verification import verify as check

    set_threads(threads)
    if retrain and base is not None:
        raise PactError("with --retrain the helper is trained again, and no base is read", where="--base")
    case = open_case(
        file,
        data,
        model=model,
        base=base,
        base_data=base_data,
        original=original,
        unlabelled=unlabelled,
        max_parameters=read_limits(
            max_parameters=max_parameters, max_work=max_work, max_memory=max_memory, max_training=max_training
        ),
    )
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
    people.print(
        str(verdict),
        style="green" if verdict.agreed and not verdict.contradicted else "red",
        soft_wrap=True,
        markup=False,
    )
    record, agreed = verdict.to_json(), verdict.agreed
    if case.original is not None:
        with progress_bar("verifying the original's statement") as bar:
            second = check_original(case, progress=bar)
        people.print(str(second), style="green" if second.agreed else "red", soft_wrap=True, markup=False)
        record["original"], agreed = second.to_json(), agreed and second.agreed
    elif pact.original is not None:
        people.print(f"not checked: the statement about the original network (give {original_options(pact)})")
    if json:
        print_json(record)
    if not agreed:
        return 1
    return 3 if verdict.contradicted else 0
