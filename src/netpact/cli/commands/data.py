from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from netpact.cli.console import people, print_json
from netpact.cli.data_warnings import print_problems
from netpact.cli.options import Json
from netpact.core.errors import printable


def data(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE.npz", help="As in --data.", show_default=False)],
    json: Json = False,
) -> None:
    """Load a data set and describe it: counts, input shape, classes, fingerprints, exact copies, likely mistakes.

    Searched in $NETPACT_DATA, then in the cache folder (~/.cache/netpact), then on OpenML.

    Example: netpact data digits
    """
    from netpact.datasets import check_data, describe, load_data
    from netpact.datasets.problems import copies_in

    source = load_data(name)
    record = describe(source)
    problems = [*check_data(source), *copies_in(record)]
    print_problems(problems)
    if json:
        print_json({**record, "problems": [problem.to_json() for problem in problems]})
        return
    title = Text(printable(f"{record['name']} (from {record['source']})"))
    listing = Table(title=title, title_justify="left", show_header=False)
    listing.add_column()
    listing.add_column(overflow="fold")
    for key in ("input_shape", "classes", "train_inputs_in_test"):
        listing.add_row(key.replace("_", " "), str(record[key]))
    for part in ("train", "test"):
        content = record[part]
        if isinstance(content, dict):
            for key in ("count", "duplicates", "class_counts", "fingerprint"):
                listing.add_row(f"{part} {key.replace('_', ' ')}", str(content[key]))
    people.print(listing)
