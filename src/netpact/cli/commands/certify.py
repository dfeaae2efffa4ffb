from __future__ import annotations

from typing import Annotated

import typer

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.options import DataName, Json, OwnModel, PactFile, Threads, set_threads


def certify(
    file: PactFile,
    data: DataName,
    delta: Annotated[
        float, typer.Option(help="The bound holds with probability 1 - delta; choose it before training.")
    ] = 0.05,
    form: Annotated[str, typer.Option(help="exact, kl or hoeffding")] = "exact",
    model: OwnModel = "",
    threads: Threads = 0,
    json: Json = False,
) -> None:
    """Count the errors of what is in the file on the training data, and add the certificate to the file.

    Example: netpact certify mlp.pact --data digits
    """
    from netpact.certification import certify as state
    from netpact.cli.models import own_model
    from netpact.datasets import load_data
    from netpact.format import Pact

    set_threads(threads)
    pact = Pact.read(file)
    with progress_bar("counting errors") as bar:
        certified = state(pact, load_data(data), delta=delta, form=form, model=own_model(model), progress=bar)
    certified.write(file)
    assert certified.certificate is not None
    people.print(certified.certificate.sentence(), soft_wrap=True)
    if json:
        print_json(certified.certificate.to_json())
