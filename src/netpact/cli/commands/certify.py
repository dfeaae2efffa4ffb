from __future__ import annotations

from typing import Annotated

import typer

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.data_warnings import warn_about
from netpact.cli.options import (
    DataName,
    Json,
    MaxMemory,
    MaxParameters,
    MaxWork,
    OwnModel,
    PactFile,
    Threads,
    read_limits,
    set_threads,
)
from netpact.cli.originals import BaseData, BaseFile, OriginalWeights, UnlabelledFile
from netpact.cli.picture import look_around, print_picture
from netpact.core.errors import printable


def certify(
    file: PactFile,
    data: DataName,
    delta: Annotated[
        float, typer.Option(help="The bound holds with probability 1 - delta; choose it before training.")
    ] = 0.05,
    form: Annotated[str, typer.Option(help="exact, kl or hoeffding")] = "exact",
    model: OwnModel = "",
    base: BaseFile = None,
    base_data: BaseData = "",
    original: OriginalWeights = None,
    unlabelled: UnlabelledFile = None,
    repeats: Annotated[
        bool,
        typer.Option(
            "--repeats",
            help="Declare that the distribution repeats values, as tables do: exact copies of samples are counted.",
        ),
    ] = False,
    public_seed: Annotated[
        str,
        typer.Option(
            "--public-seed",
            metavar="SOURCE",
            help="With a helper and --data FILE.npz:sorted: declare that the counter of the split was fixed publicly "
            "before the samples were collected, and say where.",
        ),
    ] = "",
    max_parameters: MaxParameters = None,
    max_work: MaxWork = None,
    max_memory: MaxMemory = None,
    threads: Threads = 0,
    json: Json = False,
) -> None:
    """Count the errors of what is in the file on the training data, and add the certificate to the file.

    With --original a second statement is added, about the network before compression. With --unlabelled it rests on
    fresh inputs; without, on how close the two networks are, which is looser. Each of the two statements holds
    separately with probability 1 - delta.

    For a file told relative to a helper network (--base), the bound is about the samples that the helper has not seen,
    and the helper's own hold-out bound is stated beside it.

    Example: netpact certify mlp.pact --data digits
    """
    from netpact.certificates.wording import contradiction
    from netpact.cli.originals import open_case, state_original
    from netpact.pacts.certification import certify as state

    set_threads(threads)
    case = open_case(
        file,
        data,
        model=model,
        base=base,
        base_data=base_data,
        original=original,
        unlabelled=unlabelled,
        max_parameters=read_limits(max_parameters=max_parameters, max_work=max_work, max_memory=max_memory),
    )
    warn_about(case.data)
    with progress_bar("counting errors") as bar:
        certified = state(
            case.pact,
            case.data,
            delta=delta,
            form=form,
            model=case.model,
            base=case.base,
            base_data=case.base_data,
            repeats=repeats,
            public_seed=public_seed,
            max_parameters=case.max_parameters,
            progress=bar,
        )
    if case.original is not None:
        with progress_bar("comparing with the original network") as bar:
            certified = certified.with_original(
                state_original(case, delta=delta, repeats=repeats, public_seed=public_seed, progress=bar)
            )
    file_bytes = certified.write(file).stat().st_size
    assert certified.certificate is not None
    people.print(printable(certified.certificate.sentence()), soft_wrap=True)
    around = look_around(case.data, file_bytes=file_bytes)
    print_picture(certified.certificate, around)
    if certified.certificate.contradicted and certified.certificate.test_error is not None:
        people.print(contradiction(certified.certificate.test_error), style="red", soft_wrap=True)
    record = certified.certificate.to_json() | around.to_json(certified.certificate)
    if case.original is not None and certified.original is not None:
        people.print(printable(certified.original.sentence()), soft_wrap=True)
        record["original"] = certified.original.to_json()
    if json:
        print_json(record)
