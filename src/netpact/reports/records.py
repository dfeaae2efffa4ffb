"""docs/records.md from records/index.json: every number comes from a file that can be verified."""

from __future__ import annotations

import json
from pathlib import Path

from netpact.errors import PactError
from netpact.files import read_bytes
from netpact.reports.text import percent, percent_up

KEYS = (
    "file",
    "setting",
    "data",
    "prior",
    "command",
    "bound",
    "message_bytes",
    "seed",
    "minutes",
    "errors",
    "samples",
    "test_error",
    "published",
    "source",
)

_HEAD = """# Records

Certified bounds on the test error of the files in `records/`: delta = 0.05, full training sets, real bytes.
Each row holds separately with probability 95 %. Check a file with `netpact verify records/FILE --data NAME`.

A certificate assumes that its decoder was fixed before the sample was drawn. For the fixed stem this is not quite so on
MNIST: its form (filters, square root, straightening) was chosen by trying about fifty variants on MNIST's training set.
Counting that choice would take six bits more, about 0.01 points. On the other data sets it was not tuned.

This page is made from `records/index.json` by `make records-page`.

| setting | bound | published | bytes | train error | test error | minutes | file |
|---|---|---|---|---|---|---|---|
"""


def read_index(folder: str | Path) -> list[dict[str, object]]:
    """The entries of records/index.json; a missing or unknown key is named."""
    path = Path(folder) / "index.json"
    entries = json.loads(read_bytes(path))
    for entry in entries:
        if set(entry) != set(KEYS):
            raise PactError(f"keys differ from {', '.join(KEYS)}: {', '.join(entry)}", where=f"{path}, {entry['file']}")
    return list(entries)


def render_records(entries: list[dict[str, object]]) -> str:
    rows, commands = "", ""
    for entry in entries:
        published = f"{entry['published']} ({entry['source']})" if entry["published"] else "none known"
        cells = (
            entry["setting"],
            f"**{percent_up(_number(entry, 'bound'))}**",
            published,
            entry["message_bytes"],
            percent(_number(entry, "errors") / _number(entry, "samples")),
            percent(_number(entry, "test_error")),
            entry["minutes"],
            f"`{entry['file']}`",
        )
        rows += f"| {' | '.join(str(cell) for cell in cells)} |\n"
        commands += f"- {entry['setting']}: `{entry['command']}`\n"
    return f"{_HEAD}{rows}\nMade by, on two CPU cores that other work shared:\n\n{commands}"


def _number(entry: dict[str, object], key: str) -> float:
    value = entry[key]
    if not isinstance(value, (int, float)):
        raise PactError(f"a number is needed, got {value!r}", where=f"{entry['file']}, {key}")
    return float(value)
