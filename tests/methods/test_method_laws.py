"""The laws of all methods, for each of them."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

from methods.conformance import MethodConformance, compress_once

import netpact
from netpact.coding.format import seal
from netpact.datasets import Data
from netpact.methods import Method, Quantize, TernarySearch
from netpact.network import Network

_FRESH = """
import hashlib, sys, torch
from methods.conformance import few
from methods.digit_networks import train_linear
from netpact.datasets import load_data
from netpact.coding.format import seal
from netpact.methods import *
torch.set_num_threads(1)
data = load_data("digits")
network = train_linear(data)
for method in METHODS_HERE:
    print(hashlib.sha256(seal(compress(network, method, samples=few(data))).message).hexdigest())
"""

_BAD_QUANTIZE: list[dict[str, Any]] = [
    {"bits": 1},
    {"bits": 17},
    {"bits": 4.0},
    {"bits": True},
    {"bits": "4"},
    {"grid": "even"},
    {"grid": "codebook", "bits": 9},
    {"grid": "ternary", "bits": 3},
    {"shared": 1},
    {"density": 0.0},
    {"density": 1.5},
    {"density": float("nan")},
    {"density": True},
    {"density": "half"},
]


class TestUniform(MethodConformance):
    sizes: ClassVar[list[Method]] = [Quantize(bits=bits) for bits in (2, 4, 8, 16)]
    bad: ClassVar[list[dict[str, Any]]] = _BAD_QUANTIZE


class TestUniformShared(MethodConformance):
    sizes: ClassVar[list[Method]] = [Quantize(bits=bits, shared=True) for bits in (3, 6, 10)]
    bad: ClassVar[list[dict[str, Any]]] = _BAD_QUANTIZE


class TestCodebook(MethodConformance):
    sizes: ClassVar[list[Method]] = [Quantize(bits=bits, grid="codebook") for bits in (1, 3, 5)]
    bad: ClassVar[list[dict[str, Any]]] = _BAD_QUANTIZE


class TestCodebookShared(MethodConformance):
    sizes: ClassVar[list[Method]] = [Quantize(bits=bits, grid="codebook", shared=True) for bits in (1, 2, 4)]
    bad: ClassVar[list[dict[str, Any]]] = _BAD_QUANTIZE


class TestTernary(MethodConformance):
    sizes: ClassVar[list[Method]] = [Quantize(grid="ternary", density=density) for density in (0.02, 0.1, 0.4)]
    bad: ClassVar[list[dict[str, Any]]] = _BAD_QUANTIZE


class TestTernaryShared(MethodConformance):
    sizes: ClassVar[list[Method]] = [Quantize(grid="ternary", density=d, shared=True) for d in (0.02, 0.1, 0.4)]
    bad: ClassVar[list[dict[str, Any]]] = _BAD_QUANTIZE


class TestTernarySearch(MethodConformance):
    sizes: ClassVar[list[Method]] = [
        TernarySearch(steps=60, restarts=1, bit_price=price, body_bits=bits)
        for price, bits in ((6.0, 3), (0.5, 4), (0.01, 6))
    ]
    bad: ClassVar[list[dict[str, Any]]] = [
        {"steps": 0},
        {"steps": 2.0},
        {"steps": True},
        {"restarts": 0},
        {"seed": -1},
        {"bit_price": 0.0},
        {"bit_price": float("nan")},
        {"bit_price": float("inf")},
        {"bit_price": True},
        {"body_bits": 1},
        {"body_bits": 40},
    ]


def test_a_fresh_process_gives_the_same_bytes(linear: Network, digits: Data) -> None:
    """One process for all methods: starting it costs more than the work."""
    methods = [law.sizes[0] for law in MethodConformance.__subclasses__() if law.linear]
    here = [seal(compress_once(linear, method, digits)).message for method in methods]
    tests, source = Path(__file__).parents[1], Path(netpact.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", _FRESH.replace("METHODS_HERE", repr(methods))],
        env={"PYTHONPATH": f"{source}:{tests}", "PYTHONHASHSEED": "77", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [hashlib.sha256(message).hexdigest() for message in here], done.stderr
