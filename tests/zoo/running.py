"""Networks of the zoo from file and data alone, in a process of its own: python -m zoo.running FOLDER

The folder has NAME.pact and NAME.npz for each; what is printed is one line of JSON.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

from torch import nn
from zoo.networks import ZOO

from netpact import Pact, load_data, verify


def run(folder: Path) -> dict[str, bool]:
    found = {}
    for place, name in enumerate(ZOO):
        if (folder / f"{place}.pact").is_file():
            pact = Pact.read(folder / f"{place}.pact")
            found[name] = bool(verify(pact, load_data(folder / f"{place}.npz"), model=partial(_fresh, name)).agreed)
    return found


def _fresh(name: str) -> nn.Module:
    """Other weights than those that were compressed: they come from the file."""
    return ZOO[name].make()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(Path(sys.argv[1]))))
