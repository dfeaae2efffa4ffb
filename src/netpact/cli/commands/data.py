from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from netpact.cli.completion import complete_data
from netpact.cli.console import people, print_json
from netpact.cli.data_warnings import print_problems
from netpact.cli.options import Json
from netpact.core.errors import printable


def data(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME|PLACE", help="As in --data.", show_default=False, autocompletion=complete_data),
    ],
    json: Json = False,
) -> None:
    """Load data and describe them: counts, input shape, classes, range, fingerprints, exact copies, likely mistakes.

    A NAME (digits, mnist, fashion_mnist, cifar10, cifar100, svhn) is searched in $NETPACT_DATA, then in the cache
    folder (~/.cache/netpact), then on OpenML. A PLACE is

    - FILE.npz with x_train, y_train and maybe x_test, y_test; or a folder with x_train.npy and so on

    - a folder of images: FOLDER/train/CLASS/*.png and FOLDER/test/CLASS/*.png, or FOLDER/CLASS/*.png

    - FILE.csv, or a folder with train.csv and test.csv

    - a folder that Hugging Face's datasets library has saved

    Options follow after colons: size=32 and colours=grey|rgb for images, label=NAME and columns=A,B for tables,
    standardise=MEAN/STD for constants that were fixed before the data, sorted.

    Example: netpact data digits

    Example: netpact data photos:size=32:standardise=0.5/0.5
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
    for key in ("input_shape", "classes", "standardised", "train_inputs_in_test"):
        if record[key] is not None:
            listing.add_row(key.replace("_", " "), str(record[key]))
    for part in ("train", "test"):
        content = record[part]
        if isinstance(content, dict):
            shown = content | {"class_counts": _class_counts(content["class_counts"], source.class_names)}
            for key in ("count", "range", "duplicates", "class_counts", "fingerprint"):
                listing.add_row(f"{part} {key.replace('_', ' ')}", Text(printable(str(shown[key]))))
    people.print(listing)


def _class_counts(counts: list[int], names: tuple[str, ...]) -> str:
    if not names:
        return str(counts)
    return ", ".join(f"{name}: {count:,}" for name, count in zip(names, counts, strict=True))
