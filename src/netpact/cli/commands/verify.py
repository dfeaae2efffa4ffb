from __future__ import annotations

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.options import DataName, Json, OwnModel, PactFile, Threads, set_threads
from netpact.cli.originals import BaseData, BaseFile, OriginalWeights, UnlabelledFile


def verify(
    file: PactFile,
    data: DataName,
    model: OwnModel = "",
    base: BaseFile = None,
    base_data: BaseData = "",
    original: OriginalWeights = None,
    unlabelled: UnlabelledFile = None,
    threads: Threads = 0,
    json: Json = False,
) -> int:
    """Check a file's certificate from the file and the data alone: decode, recount, recompute, compare.

    With --original and --unlabelled the statement about the network before compression is checked as well.

    Exit code 0: agreed. 1: refused, with the reasons. Example: netpact verify mlp.pact --data digits --json
    """
    from netpact.cli.models import own_model
    from netpact.cli.originals import open_base_options, open_original
    from netpact.datasets import load_data
    from netpact.format import Pact
    from netpact.verification import verify as check

    set_threads(threads)
    pact = Pact.read(file)
    asked = open_original(original, unlabelled, model=model)
    source, make = load_data(data), own_model(model)
    ground, ground_data = open_base_options(base, base_data)
    with progress_bar("verifying") as bar:
        verdict = check(pact, source, model=make, base=ground, base_data=ground_data, progress=bar)
    people.print(str(verdict), style="green" if verdict.agreed else "red", soft_wrap=True, markup=False)
    record, agreed = verdict.to_json(), verdict.agreed
    if asked is not None:
        from netpact.originals import verify_original

        with progress_bar("verifying the original's statement") as bar:
            second = verify_original(pact, asked[0], source, asked[1], model=make, base=ground, progress=bar)
        people.print(str(second), style="green" if second.agreed else "red", soft_wrap=True, markup=False)
        record["original"], agreed = second.to_json(), agreed and second.agreed
    elif pact.original is not None:
        people.print("not checked: the statement about the original network (give --original and --unlabelled)")
    if json:
        print_json(record)
    return 0 if agreed else 1
