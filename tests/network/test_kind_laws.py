"""Every kind of layer keeps the laws, netpact's own and one added from outside; one that states less does not."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from deviations.worst_cases import LAYERS as TIGHT
from network import kind_laws
from network.kind_laws import CASES, LAWS, Law, Shape, pair, theory_law
from network.layer_samples import DENSE, SCALE, Dense, Scale
from torch import nn

from netpact.bounds.norms import measure_norms
from netpact.coding.format import seal
from netpact.core.errors import PactError
from netpact.deviations import deviation_bound
from netpact.measurements import MeasureOptions, measure
from netpact.measurements.structure import find_structure
from netpact.methods import Quantize, compress
from netpact.network import trace
from netpact.network.kinds import KINDS, LayerDistance, LayerKind, LayerSize, table
from netpact.network.layer_table import describe_layers
from netpact.pacts.certification import certify


@pytest.fixture(autouse=True, scope="module")
def _kinds_from_outside() -> Iterator[None]:
    KINDS.add(SCALE)
    KINDS.add(DENSE)
    yield
    del KINDS._rows["scale"], KINDS._rows["dense"]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", CASES)
def test_every_kind_keeps_every_law(name: str, law: Law) -> None:
    layer, other, shape = pair(name)
    law(KINDS.of(layer), layer, other, shape)


def test_the_norm_of_batch_norm_holds_its_own_rounding() -> None:
    """In exact fractions: lower^2 (variance + eps) <= weight^2 <= upper^2 (variance + eps)."""
    norm, generator = nn.BatchNorm1d(1).double().eval(), torch.Generator().manual_seed(0)
    for _ in range(300):
        weight, variance = (float(number) for number in torch.rand(2, generator=generator, dtype=torch.float64))
        with torch.no_grad():
            norm.weight.fill_(weight)
            norm.get_buffer("running_var").fill_(variance)
        lower, upper = (Fraction(end or 0.0) for end in KINDS.of(norm).norm(norm, None))
        squared = Fraction(weight) ** 2 / (Fraction(variance) + Fraction(norm.eps))
        assert lower**2 <= squared <= upper**2


def test_there_is_a_case_for_every_type() -> None:
    assert {type(layer) for _, layer in CASES.values()} == set(table.LAYER_KINDS)
    assert table.LAYER_KINDS[nn.BatchNorm1d] == table.LAYER_KINDS[nn.BatchNorm2d] == "batch_norm"


def _sized(field: str, factor: float) -> Callable[[LayerKind], LayerKind]:
    def weaken(kind: LayerKind) -> LayerKind:
        def size(layer: Any) -> LayerSize:
            known = kind.size(layer)
            return replace(known, **{field: factor * getattr(known, field)})

        return replace(kind, size=size)

    return weaken


def _nearer(field: str) -> Callable[[LayerKind], LayerKind]:
    def weaken(kind: LayerKind) -> LayerKind:
        def distance(one: Any, two: Any) -> LayerDistance:
            known = kind.distance(one, two)
            return replace(known, **{field: 0.9 * getattr(known, field)})

        return replace(kind, distance=distance)

    return weaken


def _scaled_norm(*, lower: float, upper: float) -> Callable[[LayerKind], LayerKind]:
    def weaken(kind: LayerKind) -> LayerKind:
        def norm(layer: Any, shape: Shape | None) -> tuple[float | None, float | None]:
            found = kind.norm(layer, shape)
            return None if found[0] is None else lower * found[0], None if found[1] is None else upper * found[1]

        return replace(kind, norm=norm)

    return weaken


WEAKER: dict[str, tuple[Law, Callable[[LayerKind], LayerKind]]] = {
    "upper norm": (kind_laws.norm_law, _scaled_norm(lower=1.0, upper=0.9)),
    "lower norm": (kind_laws.norm_law, _scaled_norm(lower=1.1, upper=1.2)),
    "gain": (kind_laws.size_law, _sized("gain", 0.9)),
    "roughness": (kind_laws.size_law, _sized("roughness", 0.5)),
    "offset": (kind_laws.size_law, _sized("offset", 0.9)),
    "terms": (kind_laws.size_law, _sized("terms", 0.05)),
    "roundings": (kind_laws.rounding_law, _sized("terms", 0.0)),
    "weights": (kind_laws.distance_law, _nearer("weights")),
    "shift": (kind_laws.distance_law, _nearer("shift")),
    "difference": (kind_laws.difference_law, lambda kind: replace(kind, difference=lambda one, two: one)),
    "shifts": (kind_laws.shift_law, lambda kind: replace(kind, shifts=lambda layer: False)),
    "axes": (kind_laws.axes_law, lambda kind: replace(kind, types=dict.fromkeys(kind.types, ()))),
}


@pytest.mark.parametrize(
    ("name", "weaker"),
    [(name, weaker) for name in TIGHT for weaker in WEAKER if (name, weaker) != ("Shift", "weights")],  # it has none
)
def test_a_kind_that_states_less_breaks_a_law(name: str, weaker: str) -> None:
    """On layers for which the constants are tight."""
    (worst, make), (law, weaken) = TIGHT[name], WEAKER[weaker]
    layer, other = make().double(), make().double()
    with torch.no_grad():
        for key, parameter in other.named_parameters():
            parameter.add_(0.05 if key == "bias" else 0.05 * torch.sign(parameter))
    kind = KINDS.of(layer)
    law(kind, layer, other, worst.shape)
    with pytest.raises(AssertionError):
        law(weaken(kind), layer, other, worst.shape)


@pytest.mark.parametrize(
    ("name", "axes"), [("Linear", None), ("Conv2d", None), ("BatchNorm1d", 1), ("BatchNorm2d", 3), ("ChannelAffine", 3)]
)
def test_a_wrong_host_of_batch_norm_breaks_a_law(name: str, axes: int | None) -> None:
    worst, make = TIGHT[name]
    layer = make().double()
    with pytest.raises(AssertionError):
        kind_laws.folding_law(replace(KINDS.of(layer), norm_axes=axes), layer, None, worst.shape)


@pytest.mark.parametrize("part", ["run", "axis", "cover"])
@pytest.mark.parametrize("name", ["linear on many", "conv", "strided and dilated"])
def test_a_wrong_view_of_a_weight_layer_breaks_a_law(name: str, part: str) -> None:
    layer, _, shape = pair(name)
    kind = KINDS.of(layer)
    assert kind.measured is not None
    wrong: dict[str, Any] = {
        "run": lambda layer, weight, inputs: 1.1 * kind.measured.run(layer, weight, inputs),
        "axis": 2,
        "cover": lambda layer: kind.measured.cover(layer) - 1,
    }
    if part == "axis" and name == "linear on many":
        wrong["axis"] = 1
    theory_law(kind, layer, None, shape)
    with pytest.raises((AssertionError, RuntimeError)):
        theory_law(replace(kind, measured=replace(kind.measured, **{part: wrong[part]})), layer, None, shape)


def test_a_kind_added_from_outside_is_known_everywhere() -> None:
    """Traced, counted, measured, compared, compressed and certified: the record is all that was written."""
    module = nn.Sequential(nn.Flatten(), Scale(), Dense(16, 6), nn.ReLU(), nn.Linear(6, 3)).eval()
    data = np.random.default_rng(0).random((30, 1, 4, 4), dtype=np.float32), np.arange(30) % 3
    network = trace(module, data)
    assert [layer.kind for layer in network.layers] == ["scale", "dense", "linear"]
    rows = describe_layers(module, data).rows
    assert (rows[0].kind, rows[0].parameters, rows[0].spectral_lower, rows[0].spectral_upper) == ("scale", 1, 2.5, 2.5)
    assert (rows[1].kind, rows[1].parameters, rows[1].flops) == ("dense", 96, 192)
    dense: Any = measure(network, data, MeasureOptions(samples=4)).to_json()["layers"][0]  # type: ignore[index]
    assert (dense["kind"], dense["units"]) == ("dense", 6)
    assert dense["frobenius"]["value"] == pytest.approx(96**0.5)
    assert 0 < dense["arora_layer_cushion"]["value"] <= 1
    norms = measure_norms(find_structure(network, torch.from_numpy(data[0])).layers[0])
    assert (norms.outputs, norms.l1_inf, norms.l2_l1) == (6, 16.0, 24.0)
    other = copy.deepcopy(module)
    with torch.no_grad():
        other[1].weight.add_(0.25)  # type: ignore[operator]
    found = deviation_bound(network, other, data)
    assert found.layers[0].change == pytest.approx(0.25)
    assert bool((found.measured <= found.bounds).all())
    pact = certify(seal(compress(network, Quantize(bits=6))), data, model=module)
    assert pact.certificate is not None


def test_what_is_not_in_the_table_is_refused_by_name() -> None:
    with pytest.raises(PactError, match=r"'GRU' is not known; allowed: BatchNorm1d, .*, Dense, Linear, Scale"):
        KINDS.of(nn.GRU(2, 2))

    class Mine(nn.Linear):
        """A subclass may compute something else."""

    with pytest.raises(PactError, match="'Mine' is not known"):
        KINDS.of(Mine(2, 2))
