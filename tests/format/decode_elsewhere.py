"""Decode the golden files in a process of its own, under the named settings; print the hash of every network's weights.

Run: python decode_elsewhere.py FOLDER SETTING
"""

from __future__ import annotations

import json
import locale
import random
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from format.format_examples import GOLDEN, module_for, weights_sha256

from netpact.format import Pact


def change_all_defaults() -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    torch.set_grad_enabled(False)
    torch.set_num_threads(2)
    torch.manual_seed(99)
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("medium")
    np.seterr(all="raise")
    np.random.seed(99)
    random.seed(99)
    sys.setrecursionlimit(400)
    for name in ("de_DE.UTF-8", "tr_TR.UTF-8", "C.UTF-8"):
        try:
            locale.setlocale(locale.LC_ALL, name)
            return
        except locale.Error:
            continue


SETTINGS = {
    "one thread": lambda: torch.set_num_threads(1),
    "two threads": lambda: torch.set_num_threads(2),
    "all defaults changed": change_all_defaults,
}


def main(folder: str, setting: str) -> None:
    modules = {name: module_for(name) for name in GOLDEN}  # the user's module is made as usual
    SETTINGS[setting]()
    found = {name: Pact.read(f"{folder}/{name}.pact").to_module(module) for name, module in modules.items()}
    sys.stdout.write(json.dumps({name: weights_sha256(module) for name, module in found.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
