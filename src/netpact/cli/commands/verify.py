from __future__ import annotations

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.options import DataName, Json, OwnModel, PactFile, Threads, set_threads


def verify(file: PactFile, data: DataName, model: OwnModel = "", threads: Threads = 0, json: Json = False) -> int:
    """Check a file's certificate from the file and the data alone: decode, recount, recompute, compare.

    Exit code 0: agreed. 1: refused, with the reasons. Example: netpact verify mlp.pact --data digits --json
    """
    from netpact.cli.models import own_model
    from netpact.datasets import load_data
    from netpact.format import Pact
    from netpact.verification import verify as check

    set_threads(threads)
    pact = Pact.read(file)
    with progress_bar("verifying") as bar:
        verdict = check(pact, load_data(data), model=own_model(model), progress=bar)
    people.print(str(verdict), style="green" if verdict.agreed else "red", soft_wrap=True, markup=False)
    if json:
        print_json(verdict.to_json())
    return 0 if verdict.agreed else 1
