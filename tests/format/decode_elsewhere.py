"""Decode .pact files in a process of its own, under the named settings; print weights' hash and logits of each.

Run: python decode_elsewhere.py SETTING FILE...
"""

from __future__ import annotations

import decimal
import json
import locale
import random
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from format.format_examples import formula_input, module_for, weights_sha256

from netpact.coding.format import Pact
from netpact.datasets.catalogue import data_folders


def change_all_defaults() -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    torch.set_grad_enabled(False)
    torch.set_num_threads(2)
    torch.manual_seed(99)
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("medium")
    torch.set_flush_denormal(True)
    np.seterr(all="raise")
    np.random.seed(99)
    random.seed(99)
    decimal.setcontext(decimal.Context(prec=3, rounding=decimal.ROUND_UP))
    sys.setrecursionlimit(400)
    for name in ("de_DE.UTF-8", "tr_TR.UTF-8", "C.UTF-8"):
        try:
            locale.setlocale(locale.LC_ALL, name)
            return
        except locale.Error:
            continue


SETTINGS: dict[str, Callable[[], None]] = {
    "one thread": lambda: torch.set_num_threads(1),
    "all defaults changed": change_all_defaults,
}


def note_opened_files() -> list[str]:
    """The list grows by every file that Python opens from now on, by whatever library."""
    opened: list[str] = []

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            opened.append(str(arguments[0]))

    sys.addaudithook(note)
    return opened


def main(setting: str, *files: str) -> None:
    modules = {file: module_for(Path(file).stem) for file in files}  # the user's module is made as usual
    SETTINGS[setting]()
    opened = note_opened_files()
    found = {file: Pact.read(file).to_module(module) for file, module in modules.items()}
    decoding = [name for name in opened if not name.endswith((".py", ".pyc"))]
    hashes = {file: weights_sha256(module) for file, module in found.items()}
    logits = {
        file: module.double()(formula_input(Pact.read(file).architecture.input_shape)).tolist()
        for file, module in found.items()
    }
    data = [str(path) for folder in data_folders() for path in folder.glob("*")]
    sys.stdout.write(json.dumps({"opened": decoding, "weights": hashes, "logits": logits, "data": data}))


if __name__ == "__main__":
    main(*sys.argv[1:])
