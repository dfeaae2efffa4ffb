from __future__ import annotations

from typing import Annotated

import typer

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.options import DataName, Json, OwnModel, PactFile, Threads, set_threads
from netpact.cli.originals import BaseData, BaseFile, OriginalWeights, UnlabelledFile


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
    threads: Threads = 0,
    json: Json = False,
) -> None:
    """Count the errors of what is in the file on the training data, and add the certificate to the file.

    With --original and --unlabelled a second statement is added, about the network before compression. Each of the two
    holds separately with probability 1 - delta.

    Example: netpact certify mlp.pact --data digits
    """
    from netpact.certification import certify as state
    from netpact.cli.models import own_model
    from netpact.cli.originals import open_base_options, open_original
    from netpact.datasets import load_data
    from netpact.format import Pact

    set_threads(threads)
    pact = Pact.read(file)
    asked = open_original(original, unlabelled, model=model)
    source, make = load_data(data), own_model(model)
    ground, ground_data = open_base_options(base, base_data)
    with progress_bar("counting errors") as bar:
        certified = state(
            pact, source, delta=delta, form=form, model=make, base=ground, base_data=ground_data, progress=bar
        )
    if asked is not None:
        from netpact.originals import certify_original

        with progress_bar("counting disagreements") as bar:
            statement = certify_original(
                pact, asked[0], source, asked[1], delta=delta, model=make, base=ground, progress=bar
            )
        certified = certified.with_original(statement)
    certified.write(file)
    assert certified.certificate is not None
    people.print(certified.certificate.sentence(), soft_wrap=True)
    record = certified.certificate.to_json()
    if asked is not None and certified.original is not None:
        people.print(certified.original.sentence(), soft_wrap=True)
        record["original"] = certified.original.to_json()
    if json:
        print_json(record)
