"""Methods by name, and what compress refuses."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from netpact.coding.format import Compressed
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.methods import Method, Quantize, TernarySearch, compress, make_method, parse_settings
from netpact.network import Network


def test_text_becomes_a_method() -> None:
    assert make_method("quantize", {}) == Quantize()
    assert make_method("quantize", {"bits": "3", "shared": "yes"}) == Quantize(bits=3, shared=True)
    assert make_method("quantize", {"grid": "ternary", "density": "0.1"}) == Quantize(grid="ternary", density=0.1)
    assert make_method("ternary-search", {"steps": "9", "bit_price": "0.5"}) == TernarySearch(steps=9, bit_price=0.5)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("prune", {}, r"method: 'prune' is not known; allowed: .*\bquantize, "),
        ("quantize", {"bit": "3"}, r"option of quantize: 'bit' is not known; allowed: bits, grid, shared, density"),
        ("quantize", {"bits": "many"}, r"bits: must be an integer from 2 to 16, got 'many'"),
        ("quantize", {"bits": "3.5"}, r"bits: must be an integer from 2 to 16, got 3.5"),
        ("quantize", {"shared": "maybe"}, r"shared: must be True or False, got 'maybe'"),
        ("ternary-search", {"steps": "1e3"}, r"steps: must be an integer >= 1, got 1000.0"),
    ],
)
def test_unknown_names_and_values_are_refused_with_a_list(name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(PactError, match=message):
        make_method(name, options)


def test_settings() -> None:
    assert parse_settings([]) == {}
    assert parse_settings(["bits=3", "grid=a=b"]) == {"bits": "3", "grid": "a=b"}
    for bad in ("bits", "=3", "bits="):
        with pytest.raises(PactError, match=rf"--set: '{bad}' is not of the form option=value"):
            parse_settings([bad])
    with pytest.raises(PactError, match="bits is given twice"):
        parse_settings(["bits=3", "bits=4"])


def test_bad_arguments_of_compress(linear: Network, digits: Data) -> None:
    wrong: Any = linear.module
    with pytest.raises(PactError, match=r"traced network.*got Sequential.*trace"):
        compress(wrong, Quantize())
    method: Any = "quantize"
    with pytest.raises(PactError, match="method: must be a compression method, got str"):
        compress(linear, method)
    with pytest.raises(PactError, match="arithmetic: 'bfloat16' is not known; allowed: float32, float64"):
        compress(linear, Quantize(), arithmetic="bfloat16")
    samples: Any = digits.classes
    with pytest.raises(PactError, match="samples cannot be made from int"):
        compress(linear, TernarySearch(steps=1), samples=samples)


def test_what_made_it_is_kept(linear: Network) -> None:
    compressed = compress(linear, Quantize(bits=3), arithmetic="float64")
    assert compressed.method == repr(Quantize(bits=3))
    assert compressed.arithmetic == "float64"


class Forgetful:
    name: ClassVar[str] = "forgetful"

    def compress(self, network: Network, samples: object, progress: object) -> Compressed:
        whole = Quantize().compress(network)
        return Compressed(whole.architecture, dict(list(whole.tensors.items())[:-1]))


def test_a_method_that_leaves_a_tensor_out_is_caught(linear: Network) -> None:
    method = Forgetful()
    assert isinstance(method, Method)
    with pytest.raises(AssertionError, match="forgetful did not code every tensor"):
        compress(linear, method)
