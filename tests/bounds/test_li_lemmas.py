"""Lemmas D.4, E.8 and F.3 in their valid form: a law on random networks, tight on some, and the report beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from bounds.li_networks import Drawn, draw_cnn, draw_fc, draw_residual, terms_by_definition
from torch import nn

from netpact.algebra import CPDecomposition
from netpact.coding.format import seal
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import as_data, load_data
from netpact.deviations import deviation_bound
from netpact.layers import CPConv2d, CPLinear, Residual
from netpact.measurements.tensors import TensorOptions, tensor_properties
from netpact.methods import CP, Method, Quantize, TruncatedSVD, compress
from netpact.models import build, initialise, parse_model
from netpact.network import trace
from netpact.papers.li.lemmas import LemmaBound, compare_with_tensor_lemmas, state_lemma
from netpact.papers.li.lemmas.activations import compare_activations
from netpact.papers.li.lemmas.comparing import _from_distances

DRAWS: dict[str, Callable[[int], Drawn]] = {"D.4": draw_cnn, "E.8": draw_fc, "F.3": draw_residual}
ROUNDING = 1e-6  # of a run in float32, which the cushions are measured in


@pytest.mark.parametrize("name", DRAWS)
def test_the_lemma_is_a_law_on_random_networks(name: str) -> None:
    """Strides, pooling with and without overlap, biases, skips; the ratios say how loose it is."""
    ratios = []
    for seed in range(25):
        drawn = DRAWS[name](seed)
        found = state_lemma(tensor_properties(drawn.network, drawn.samples), drawn.ranks)
        assert found.name == name
        measured = drawn.measured()
        assert measured <= found.error * (1 + ROUNDING) + 1e-12, seed
        if found.error:
            ratios.append(measured / found.error)
    assert 1e-6 < np.median(ratios) < 0.1, "loose, as a product of norms over layers is"
    assert len(ratios) > 15


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("name", DRAWS)
def test_it_is_what_the_definitions_give(name: str, printed: bool) -> None:
    """t, xi, zeta and rho once more, by loops and fine grids; the proven c_r are at most 1 % above those."""
    for seed in range(4):
        drawn = DRAWS[name](seed)
        found = state_lemma(tensor_properties(drawn.network, drawn.samples), drawn.ranks, as_printed=printed)
        slow = terms_by_definition(drawn, printed=printed)
        for one, other in zip(found.layers, slow.layers, strict=True):
            for part in ("noise", "gain", "signal"):
                exact = getattr(other, part)
                slack = 1e-5 if printed or part == "signal" or name == "E.8" else 0.02
                assert exact * (1 - 1e-5) <= getattr(one, part) <= exact * (1 + slack), (seed, part)


def components(weights: list[float], *factors: list[list[float]], shape: tuple[int, ...]) -> CPDecomposition:
    """Each factor by its columns."""
    return CPDecomposition(torch.tensor(weights), tuple(torch.tensor(rows).T for rows in factors), shape, 0.0)


def tight_convolutions() -> Drawn:
    """Means over constant images, which fill the circle: every component does as much as its c_r = |C_r|_1 allows."""
    mean = [[1 / 3] * 9]
    first, second = (CPConv2d(2, 2, 3, r, padding=1, padding_mode="circular", bias=False) for r in (2, 1))
    axes = [[1.0, 0.0], [0.0, 1.0]]
    first.set_components(components([1.0, 0.8], axes, axes, mean * 2, shape=(2, 2, 3, 3)))
    second.set_components(components([2.0], [[1.0, 0.0]], [[0.0, 1.0]], mean, shape=(2, 2, 3, 3)))
    images = torch.zeros(1, 2, 4, 4)
    images[:, 1] = 1.0
    return Drawn(nn.Sequential(first, nn.ReLU(), second, nn.Flatten()).eval(), images, (1, 1))


def tight_linear() -> Drawn:
    """X = diag(2, 1): the dropped component meets |X|_2 = 2, so that rho is needed and enough."""
    layer = CPLinear(4, 4, 2, bias=False)
    axes = [[1.0, 0.0], [0.0, 1.0]]
    layer.set_components(components([3.0, 1.0], axes, axes, axes[::-1], axes[::-1], shape=(2, 2, 2, 2)))
    return Drawn(nn.Sequential(layer).eval(), torch.tensor([[2.0, 0.0, 0.0, 1.0]]), (1,))


def tight_residual() -> Drawn:
    """The image is what both layers add to, so that t + 1 is reached."""
    axes = [[1.0, 0.0], [0.0, 1.0]]
    first, second = (CPConv2d(2, 2, 1, r, bias=False) for r in (2, 1))
    first.set_components(components([1.0, 0.8], axes, axes, [[1.0]] * 2, shape=(2, 2, 1, 1)))
    second.set_components(components([1.0], axes[1:], axes[1:], [[1.0]], shape=(2, 2, 1, 1)))
    images = torch.zeros(1, 2, 3, 3)
    images[:, 1] = 1.0
    parts = (Residual(first, nn.Sequential()), nn.ReLU(), Residual(second, nn.Sequential()), nn.Flatten())
    return Drawn(nn.Sequential(*parts).eval(), images, (1, 1))


def tight_pooling() -> Drawn:
    """One pixel in four windows: the Lipschitz constant 2 of max pooling 3 x 3 with stride 2."""
    layer = CPConv2d(2, 1, 1, 2, bias=False)
    layer.set_components(components([1.0, 0.9], [[1.0]] * 2, [[1.0, 0.0], [0.0, 1.0]], [[1.0]] * 2, shape=(1, 2, 1, 1)))
    images = torch.full((1, 2, 5, 5), 0.0)
    images[:, 0], images[:, 1, 2, 2] = 0.01, 1.0
    return Drawn(nn.Sequential(layer, nn.ReLU(), nn.MaxPool2d(3, 2), nn.Flatten()).eval(), images, (1,))


TIGHT = {
    "convolutions": (tight_convolutions, 0.98, ("noise", "gain")),  # 1 % is in the proven c_r
    "linear": (tight_linear, 0.9999, ("noise",)),
    "residual": (tight_residual, 0.98, ("noise", "gain")),
    "pooling": (tight_pooling, 0.98, ("noise",)),
}


@pytest.mark.parametrize("name", TIGHT)
def test_no_smaller_constant_will_do(name: str) -> None:
    """On these networks the lemma is reached, so that less of any of its factors makes it false."""
    make, least, parts = TIGHT[name]
    drawn = make()
    found = state_lemma(tensor_properties(drawn.network, drawn.samples), drawn.ranks)
    measured = drawn.measured()
    assert least * found.error <= measured <= found.error * (1 + ROUNDING)
    for part in parts:
        assert weaken(found, part, by=0.95 * least).error < measured, part


def weaken(found: LemmaBound, part: str, *, by: float) -> LemmaBound:
    return replace(found, layers=tuple(replace(one, **{part: by * getattr(one, part)}) for one in found.layers))


def test_a_decomposition_that_is_not_exact_leaves_a_residual() -> None:
    """As printed, xi at full rank is 0, and says that nothing changes. E.8 assumes "perfect recovery"."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 3)).eval()
    data = (torch.rand(10, 3, 6, 6).numpy(), np.arange(10) % 3)
    properties = tensor_properties(network, data, TensorOptions(rank=6))
    report = compare_with_tensor_lemmas(network, [layer.rank for layer in properties.layers], data, properties)
    assert report.printed is not None
    assert report.printed.error == 0.0 < 0.01 < report.relative_error <= report.lemma.error
    exact = tensor_properties(network, data)
    assert state_lemma(exact, [layer.rank for layer in exact.layers]).error < 1e-9


@pytest.mark.parametrize("name", DRAWS)
def test_every_layer_of_the_report_is_within_the_lemma(name: str) -> None:
    drawn = DRAWS[name](3)
    report = compare_with_tensor_lemmas(drawn.network, drawn.ranks, drawn.samples)
    for measured, error in zip(report.measured, report.lemma.errors, strict=True):
        assert measured <= error * (1 + ROUNDING) + 1e-9
    assert report.relative_error == pytest.approx(drawn.measured(), rel=1e-4)
    assert report.relative_error <= report.relative_deviation <= report.lemma.error
    assert all(report.premises)
    text = str(report)
    assert f"Lemma {name}" in text
    assert max(map(len, text.splitlines())) <= 80
    assert ("violated here" in text) == (report.relative_error > report.printed.error)  # type: ignore[union-attr]
    assert json.loads(json.dumps(report.to_json()))["lemma"]["lemma"] == name


def test_ranks_by_name_leave_the_other_layers_whole() -> None:
    drawn = draw_cnn(5)
    properties = tensor_properties(drawn.network, drawn.samples)
    first = properties.layers[0]
    report = compare_with_tensor_lemmas(drawn.network, {first.name: first.rank - 1}, drawn.samples, properties)
    assert [layer.rank for layer in report.lemma.layers] == [
        first.rank - 1,
        *(one.rank for one in properties.layers[1:]),
    ]
    assert report.lemma.shares[0] == pytest.approx(report.lemma.error)


FILES: dict[str, tuple[bool, Method]] = {
    "low rank": (False, TruncatedSVD(rank=2)),
    "rounded, with biases": (True, Quantize(bits=3)),
    "components": (True, CP(ranks={"0": 6, "3": 5})),
}


@pytest.mark.parametrize("name", FILES)
def test_a_compressed_network_enters_by_its_distances(name: str) -> None:
    """Whatever was done to factors and biases."""
    bias, method = FILES[name]
    torch.manual_seed(1)
    head = nn.Linear(8 * 16, 3, bias=bias)
    network = nn.Sequential(nn.Conv2d(2, 8, 3, bias=bias), nn.ReLU(), nn.Flatten(), head).eval()
    data = (torch.rand(10, 2, 6, 6).numpy() + 0.1, np.arange(10) % 3)
    pact = seal(compress(trace(network, data), method))
    report = compare_with_tensor_lemmas(network, pact, data)
    assert report.printed is None
    assert 0 < report.relative_error <= report.lemma.error < np.inf
    for measured, error in zip(report.measured, report.lemma.errors, strict=True):
        assert measured <= error
    assert not report.failing
    assert "-" in str(report)


def test_a_change_of_a_bias_is_added() -> None:
    """Layers of zeros but for their biases: 1 becomes 1.25 at 9 places, which is all that there is."""
    network, other = (nn.Sequential(nn.Conv2d(1, 1, 1), nn.ReLU(), nn.Flatten()).eval() for _ in range(2))
    with torch.no_grad():
        for module, value in ((network, 1.0), (other, 1.25)):
            module[0].weight.fill_(0.5)  # type: ignore[operator]
            module[0].bias.fill_(value)  # type: ignore[operator]
    data = (np.zeros((4, 1, 3, 3), dtype=np.float32) + 1e-6, np.arange(4))
    deviation = deviation_bound(network, other, as_data(data, classes=9))
    properties = tensor_properties(network, as_data(data, classes=9))
    seen = compare_activations(network, other, ["0"], as_data(data, classes=9).train)
    found = _from_distances(properties, deviation, seen)
    assert seen.places == (9,)
    assert seen.errors[0] == pytest.approx(0.25, rel=1e-4)
    assert 0.25 * (1 - 1e-4) <= found.error <= 0.25 * (1 + 1e-3)


@pytest.mark.parametrize("method", [CP(threshold=0.1), CP(share=0.6)])
def test_batch_norm_is_folded_in_both(method: CP) -> None:
    """The file of the second has it folded already."""
    data = load_data("digits", limit=60)
    network = build(parse_model("cp-vgg:11-2-100-1", input_shape=data.input_shape, classes=data.classes))
    initialise(network, Seed(3))
    report = compare_with_tensor_lemmas(network, compress(trace(network, data), method), data)
    assert len(report.measured) == 9
    assert 0 < report.relative_error <= report.lemma.error


def test_wrong_ranks_and_properties_are_named() -> None:
    drawn, other = draw_cnn(5), draw_fc(1)
    properties = tensor_properties(drawn.network, drawn.samples)
    tried = [
        ([1, 2], properties, "ranks: must be one for each of 4 layers, got 2"),
        ([1, 2, 3, 99], properties, "ranks, 8: must be an integer from 0 to 12"),
        ({"nine": 1}, properties, "'nine' is not known"),
        (drawn.ranks, properties.as_printed(), "as printed"),
        (drawn.ranks, tensor_properties(other.network, other.samples), "of another network"),
        (3.5, properties, "one for each layer or by name"),
    ]
    for ranks, known, text in tried:
        with pytest.raises(PactError, match=text):
            compare_with_tensor_lemmas(drawn.network, ranks, drawn.samples, known)  # type: ignore[arg-type]
    with pytest.raises(PactError, match="must be one rank for each of 4 layers"):
        state_lemma(properties, [1])
