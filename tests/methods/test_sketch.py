"""Sketch: the file decodes to the rounded network, the shorter of two forms is taken, and which one that is."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from methods.conformance import MethodConformance

import netpact
from netpact.coding import ShortFloat
from netpact.coding.format import Pact, seal
from netpact.coding.forms import CodedTensor, Sketched, Uniform
from netpact.core.seed import Seed
from netpact.datasets import Data
from netpact.methods import Method, Sketch, compress, sketch_sizes
from netpact.methods.sketch_fitting import fit_sketch
from netpact.models import build, parse_model
from netpact.network import Network, trace


class TestConformance(MethodConformance):
    sizes: ClassVar[list[Method]] = [Sketch(keep=0.02), Sketch(keep=0.1), Sketch(keep=0.1, prefer="sketch")]
    bad: ClassVar[list[dict[str, Any]]] = [
        {"keep": 0},
        {"keep": 1.5},
        {"bits": 1},
        {"bits": 17},
        {"bits": 4.0},
        {"prefer": "sketches"},
    ]


@pytest.fixture(scope="module")
def mlp(digits: Data) -> Network:
    model = build(parse_model("mlp:48", input_shape=digits.input_shape, classes=10), seed=Seed(0))
    return trace(model, digits)


def test_both_ways_decode_to_the_same_weights(mlp: Network) -> None:
    shorter, sketched = (compress(mlp, Sketch(keep=0.03, prefer=prefer)) for prefer in ("shorter", "sketch"))
    forms = {name: type(tensor.form) for name, tensor in sketched.tensors.items()}
    assert forms["fc1.weight"] is forms["fc2.weight"] is Sketched
    first, second = (Pact.from_bytes(seal(one).to_bytes()).to_module() for one in (shorter, sketched))
    for own, other in zip(first.parameters(), second.parameters(), strict=True):
        assert np.array_equal(own.numpy(), other.numpy())
    kept = [int(np.count_nonzero(p.numpy())) for p in first.parameters() if p.dim() == 2]
    assert kept == [round(0.03 * 48 * 64), round(0.03 * 48 * 10)]


def test_direct_coding_is_shorter(mlp: Network) -> None:
    """A sketch that decodes has at least the entropy of the matrix, which direct coding is near."""
    sizes = sketch_sizes(mlp, Sketch(keep=0.03))
    assert [one.tensor for one in sizes.tensors] == ["fc1.weight", "fc2.weight"]
    first = sizes.tensors[0]
    assert first.numbers > 3 * first.nonzeros
    assert 1.3 < first.ratio < 6
    assert all(isinstance(tensor.form, Uniform) for tensor in compress(mlp, Sketch(keep=0.03)).tensors.values())
    assert len(seal(compress(mlp, Sketch(keep=0.03, prefer="sketch"))).message) > len(
        seal(compress(mlp, Sketch(keep=0.03))).message
    )
    assert sizes.to_json()["method"] == repr(Sketch(keep=0.03))
    assert netpact.SketchSizes is type(sizes)


def test_a_sketch_that_does_not_decode_to_the_tensor_is_never_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decoder that finds another matrix with the same sketch: the search goes on to a larger one."""
    symbols = np.zeros(60 * 50, dtype=np.int64)
    symbols[::101] = 3
    direct = CodedTensor(Uniform(ShortFloat(-3, 0)), symbols, (60, 50))
    honest = fit_sketch(direct, layer=0)
    import netpact.methods.sketch_fitting as fitting

    decode, tries = fitting.decode_sketch, []

    def lie(values: Any, sketcher: Any, *, rounds: int) -> Any:
        found = decode(values, sketcher, rounds=rounds)
        tries.append(sketcher.size)
        return found._replace(matrix=found.matrix + 1) if len(tries) < 4 and found.matrix is not None else found

    monkeypatch.setattr(fitting, "decode_sketch", lie)
    later = fit_sketch(direct, layer=0)
    assert honest is not None
    assert later is not None
    assert len(later.symbols) > len(honest.symbols)
    assert np.array_equal(later.weights(), direct.weights())


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (40, 1), (1, 90), (8, 4, 3, 3), (70, 33)])
def test_every_shape_has_a_sketch_that_decodes(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    symbols = np.where(random.random(int(np.prod(shape))) < 0.04, random.integers(-7, 8, int(np.prod(shape))), 0)
    symbols[0] = 5
    found = fit_sketch(CodedTensor(Uniform(ShortFloat(-3, 0)), symbols.astype(np.int64), shape), layer=2)
    assert found is not None
    assert np.array_equal(found.weights().ravel() * 8, symbols)


def test_a_tensor_without_gaps_is_its_own_sketch() -> None:
    direct = CodedTensor(Uniform(ShortFloat(-3, 0)), np.arange(1, 40 * 35 + 1), (40, 35))
    found = fit_sketch(direct, layer=0)
    assert found is not None
    assert np.array_equal(found.symbols, direct.symbols)
    assert fit_sketch(CodedTensor(direct.form, np.zeros(1400, dtype=np.int64), (40, 35)), layer=0) is None
