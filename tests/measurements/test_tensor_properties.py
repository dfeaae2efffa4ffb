"""Layers as tensors: bounds against the layers themselves, samples against a loop over them."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from measurements.measured_nets import KINDS, image_samples
from torch import Tensor, nn

from netpact import PactError, cp_decompose, trace
from netpact.algebra import CPDecomposition
from netpact.datasets import ArraySamples
from netpact.layers import Chain, CPConv2d, CPLinear, HigherOrderCPConv2d, HigherOrderCPLinear, Residual, TuckerConv2d
from netpact.measurements import LayerTensor, TensorOptions, TensorProperties, tensor_properties
from netpact.measurements.tensors.between import gains_between

SIDE = 6
REFUSED = ("stride, groups, in place",)
WAYS = {"exact": TensorOptions(), "rank": TensorOptions(rank=5), "share": TensorOptions(share=0.5)}
LAYERS: dict[str, Any] = {
    "plain": lambda: nn.Conv2d(3, 4, 3, padding=1),
    "stride": lambda: nn.Conv2d(3, 4, 3, stride=2, padding=1),
    "even": lambda: nn.Conv2d(3, 4, (2, 4), padding=2),
    "dilated": lambda: nn.Conv2d(3, 2, 2, dilation=2),
    "circular": lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular"),
    "reflect": lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"),
    "replicate": lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="replicate", stride=2),
    "one tap": lambda: nn.Conv2d(3, 5, 1),
    "cp": lambda: CPConv2d(3, 4, 3, 7, padding=1, stride=2),
    "tucker": lambda: TuckerConv2d(3, 4, 3, (3, 2), padding=1),
}


def images(count: int = 8) -> ArraySamples:
    return image_samples(count, channels=3, side=SIDE)


def headed(layer: nn.Module) -> nn.Module:
    entries = layer(torch.zeros(1, 3, SIDE, SIDE)).numel()
    return nn.Sequential(layer, nn.ReLU(), nn.Flatten(), nn.Linear(entries, 3)).eval()


def as_matrix(layer: nn.Module, shape: tuple[int, ...]) -> Tensor:
    """The linear part of a layer on inputs of this shape, written out."""
    layer = layer.double()
    count = math.prod(shape)
    units = torch.cat([torch.zeros(1, count), torch.eye(count)]).double().reshape(-1, *shape)
    with torch.no_grad():
        rows = layer(units).flatten(1)
    return (rows[1:] - rows[:1]).T


def composed(layer: nn.Module) -> Any:
    return layer.dense() if isinstance(layer, Chain) else layer


def with_weight(layer: nn.Module, weight: Tensor) -> nn.Module:
    dense = composed(layer)
    with torch.no_grad():
        dense.double().weight.copy_(weight.reshape(dense.weight.shape))
    return dense


def first(found: CPDecomposition, j: int) -> Tensor:
    """The sum of the j largest components."""
    return CPDecomposition(found.weights[:j], tuple(f[:, :j] for f in found.factors), found.shape, 0.0).to_dense()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LAYERS)
def test_convolutions_are_within_their_bounds(name: str, way: str) -> None:
    torch.manual_seed(1)
    layer = LAYERS[name]()
    found = tensor_properties(headed(layer), images(), WAYS[way]).layers[0]
    whole, noise, factors = as_matrix(layer, (3, SIDE, SIDE)), found.noise(), found.tensorization()
    assert len(noise) == len(factors) == found.rank + 1
    tightness = []
    for j in range(found.rank + 1):
        kept = as_matrix(with_weight(LAYERS[name](), first(found.components, j)), (3, SIDE, SIDE))
        norms = (float(torch.linalg.matrix_norm(part, ord=2)) for part in (kept, whole - kept))
        for norm, bound in zip(norms, (factors[j], noise[j]), strict=True):
            assert norm <= float(bound) + 1e-12  # the matrices above are rounded themselves
        tightness.append(float(torch.linalg.matrix_norm(whole - kept, ord=2)) / max(1e-12, float(noise[j])))
    assert max(tightness) > 0.2  # no empty bound


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [lambda: nn.Linear(12, 10), lambda: CPLinear(12, 10, 6)], ids=["dense", "cp"])
def test_linear_layers_are_within_their_bounds(make: Any, way: str) -> None:
    torch.manual_seed(2)
    layer = make()
    x = np.random.default_rng(0).standard_normal((40, 12)).astype(np.float32)
    found = tensor_properties(
        nn.Sequential(layer, nn.ReLU(), nn.Linear(10, 3)), (x, np.arange(40) % 3), WAYS[way]
    ).layers[0]
    assert found.kind == "linear"
    assert (found.places, found.sides) == (1, ())
    whole, noise, factors = as_matrix(layer, (12,)), found.noise(), found.tensorization()
    for j in range(found.rank + 1):
        kept = first(found.components, j).reshape(10, 12)
        assert float(torch.linalg.matrix_norm(kept, ord=2)) <= float(factors[j]) + 1e-12
        assert float(torch.linalg.matrix_norm(whole - kept, ord=2)) <= float(noise[j]) + 1e-12
        # What the reshaping factor promises on the samples themselves
        moved = torch.from_numpy(x).double() @ (whole - kept).T
        reach = found.reshaping * float(noise[j]) * torch.from_numpy(x).double().norm(dim=1)
        assert bool((moved.norm(dim=1) <= reach + 1e-9).all())


def test_a_residual_meets_all_of_the_input() -> None:
    """Of diag(3, 1, 1) the first component is kept; X = diag(0, 1, 1) meets what is left with |X|_F, not with |X|_2."""
    layer = nn.Linear(9, 1, bias=False)
    network = nn.Sequential(layer, nn.ReLU(), nn.Linear(1, 3))
    layer.weight.data.copy_(torch.diag(torch.tensor([3.0, 1.0, 1.0])).reshape(1, 9))
    x = np.diag([0.0, 1.0, 1.0]).astype(np.float32).reshape(1, 9)
    found = tensor_properties(network, (np.repeat(x, 3, axis=0), np.arange(3)), TensorOptions(rank=1)).layers[0]
    assert found.residual == pytest.approx(math.sqrt(2), rel=1e-6)
    assert found.reshaping == pytest.approx(math.sqrt(0.5), rel=1e-6)
    moved, size = 2.0, math.sqrt(2)  # |(W - M_1) X| and |X|
    assert moved <= found.reshaping * float(found.noise()[1]) * size * (1 + 1e-6)
    assert moved > found.reshaping * found.residual * size


def test_singular_values_are_not_added_up() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(12, 10)
    found = tensor_properties(nn.Sequential(layer), (np.eye(12, dtype=np.float32), np.arange(12) % 10)).layers[0]
    sizes = torch.linalg.svdvals(layer.weight.detach().double())
    assert found.adding == "largest"
    torch.testing.assert_close(found.tensorization()[1:], sizes[:1].expand(10), rtol=1e-9, atol=0)
    torch.testing.assert_close(found.noise()[:-1], sizes, rtol=1e-9, atol=0)


def orthonormal_layer(rank: int, *, lean: float) -> CPLinear:
    """Of order 4, whose outputs are orthonormal but for `lean`."""
    layer = CPLinear(16, 16, rank, bias=False)
    unit = torch.eye(4)[:, :rank]
    leaning = unit + lean * torch.roll(unit, 1, dims=0)
    weights = torch.arange(rank, 0, -1).double()
    units = (leaning / leaning.norm(dim=0), unit, torch.ones(4, rank) / 2, torch.ones(4, rank) / 2)
    layer.set_components(CPDecomposition(weights.float(), units, (4, 4, 4, 4), 0.0))
    return layer


def test_orthonormal_outputs_add_by_the_root_of_squares() -> None:
    x, y = np.random.default_rng(1).standard_normal((32, 16)).astype(np.float32), np.arange(32) % 16
    one = tensor_properties(nn.Sequential(orthonormal_layer(3, lean=0.0)), (x, y)).layers[0]
    assert one.adding == "root"
    assert float(one.tensorization()[-1]) == pytest.approx(math.sqrt(14), rel=1e-6)
    norm = float(torch.linalg.matrix_norm(orthonormal_layer(3, lean=0.0).dense().weight.detach(), ord=2))
    assert norm == pytest.approx(math.sqrt(14), rel=1e-5)  # the inputs are all alike: nothing less would hold
    other = orthonormal_layer(3, lean=0.3)
    # Second factors are orthonormal still, and with them their products: all that is needed.
    assert tensor_properties(nn.Sequential(other), (x, y)).layers[0].adding == "root"
    other.out_columns.weight.data.fill_(1.0)
    assert tensor_properties(nn.Sequential(other), (x, y)).layers[0].adding == "sum"


def slow_samples(network: nn.Module, names: list[str], samples: ArraySamples) -> tuple[list[list[float]], float]:
    """|X| at each layer and |f|, one sample after the other."""
    rows: list[list[float]] = []
    for x, _ in samples.batches(1):
        seen: dict[str, float] = {}
        handles = [
            network.get_submodule(name).register_forward_pre_hook(
                lambda _, given, name=name, seen=seen: seen.__setitem__(name, float(given[0].double().norm()))
            )
            for name in names
        ]
        with torch.no_grad():
            logits = float(network(torch.from_numpy(x)).double().norm())
        for handle in handles:
            handle.remove()
        rows.append([*(seen[name] for name in names), logits])
    return rows, max(row[-1] for row in rows)


def test_cushions_against_a_loop_over_samples() -> None:
    torch.manual_seed(3)
    network = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        CPConv2d(4, 5, 3, 6, bias=False), nn.ReLU(), nn.Flatten(), nn.Linear(5, 16), nn.ReLU(), CPLinear(16, 3, 4),
    ).eval()  # fmt: skip
    samples = images(300)
    found = tensor_properties(network, samples, TensorOptions(rank=3))
    names = [layer.name for layer in found.layers]
    assert names == ["0", "3", "6", "8"]
    rows, largest = slow_samples(network, names, samples)
    assert found.output_norm == pytest.approx(largest, rel=1e-6)
    assert found.samples == 300
    for place, layer in enumerate(found.layers):
        part = network.get_submodule(layer.name)
        weight = composed(part).weight.double()
        size = math.sqrt(sum(entry**2 for entry in weight.flatten().tolist()))
        assert layer.frobenius == pytest.approx(size, rel=1e-9)
        cushion = min(row[place + 1] / (size * row[place]) for row in rows if row[place])
        assert layer.cushion == pytest.approx(cushion, rel=1e-5)
    assert [layer.places for layer in found.layers] == [36, 9, 1, 1]
    printed = found.as_printed()
    assert printed.layers[0].cushion == pytest.approx(6 * found.layers[0].cushion)
    assert printed.layers[3].cushion == found.layers[3].cushion


def test_reshaping_factor_against_a_loop_over_samples() -> None:
    torch.manual_seed(4)
    network = nn.Sequential(
        nn.Linear(30, 12), nn.ReLU(), CPLinear(12, 6, 3, in_shape=(2, 6)), nn.ReLU(), nn.Linear(6, 3)
    )
    x = np.random.default_rng(2).standard_normal((50, 30)).astype(np.float32)
    found = tensor_properties(network, (x, np.arange(50) % 3), TensorOptions(rank=3)).layers
    inputs = [torch.from_numpy(x), torch.relu(network[0](torch.from_numpy(x)))]
    inputs.append(torch.relu(network[2](inputs[1])))
    inputs = [rows.detach().double() for rows in inputs]
    for layer, rows, sides in zip(found, inputs, [(5, 6), (2, 6), (2, 3)], strict=True):
        flat = max(float(torch.linalg.svdvals(row.reshape(sides))[0] / row.norm()) for row in rows)
        assert flat <= layer.reshaping * (1 + 1e-6)
        assert layer.reshaping == pytest.approx(flat, rel=1e-5)
    assert found[0].reshaping < 1
    exact = tensor_properties(network, (x, np.arange(50) % 3)).layers
    assert [layer.reshaping for layer in exact] == [1.0, found[1].reshaping, 1.0]  # of matrices nothing is reshaped


def test_a_cp_layer_is_measured_like_the_dense_layer_it_stands_for() -> None:
    torch.manual_seed(5)
    made = CPConv2d(3, 4, 3, 2, padding=1)
    own, other = (tensor_properties(headed(layer), images()).layers for layer in (made, made.to_dense()))
    assert own[0].rank == 2
    assert own[0].residual == 0
    assert other[0].rank > 2
    for name in ("frobenius", "places", "skip", "lipschitz"):
        assert getattr(own[0], name) == pytest.approx(getattr(other[0], name), rel=1e-5)
    again = tensor_properties(headed(made.to_dense()), images(), TensorOptions(rank=2)).layers[0]
    torch.testing.assert_close(again.spectrum, own[0].spectrum, rtol=1e-2, atol=1e-3)


def test_layers_of_higher_order_are_measured_whole() -> None:
    """Two cores of a linear layer are no outputs and inputs: nothing is orthonormal, nothing is reshaped."""
    torch.manual_seed(12)
    conv, linear = HigherOrderCPConv2d((1, 3), (2, 2), 3, 5, padding=1), HigherOrderCPLinear((4, 36), (1, 3), 4)
    found = tensor_properties(nn.Sequential(conv, nn.ReLU(), nn.Flatten(), linear), images()).layers
    assert [(one.name, one.kind, one.rank, one.adding, one.reshaping) for one in found] == [
        ("0", "conv2d", 5, "sum", 1.0),
        ("3", "linear", 4, "sum", 1.0),
    ]
    for one, part, shape in ((found[0], conv, (3, SIDE, SIDE)), (found[1], linear, (144,))):
        norm = float(torch.linalg.matrix_norm(as_matrix(part, shape), ord=2))
        assert norm <= float(one.tensorization()[-1]) <= part.norm_bound() * (1 + 1e-9)


def test_what_stands_between_layers() -> None:
    torch.manual_seed(6)
    block = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1))
    network = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.MaxPool2d(3, 1, padding=1), Residual(block, nn.Sequential()), nn.ReLU(),
        nn.AvgPool2d(2), nn.Flatten(), nn.Linear(36, 3),
    ).eval()  # fmt: skip
    found = tensor_properties(network, images()).layers
    assert [layer.skip for layer in found] == [False, True, True, False]
    # 3 x 3 windows at every pixel: an entry is in 9 of them; pooling behind the sum halves what comes around the block.
    assert [layer.lipschitz for layer in found] == pytest.approx([3.0, 1.0, 0.5, 1.0])


class Twice(nn.Module):
    """x + x of a layer's output: two ways to the next one."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x)
        return self.second(torch.relu(h) + h)


def test_two_ways_to_the_next_layer_add_up() -> None:
    x = np.eye(4, dtype=np.float32)
    assert tensor_properties(Twice(), (x, np.arange(4) % 3)).layers[0].lipschitz == pytest.approx(2.0)


def test_batch_norm_that_cannot_be_folded_stands_between() -> None:
    torch.manual_seed(7)
    network = nn.Sequential(
        nn.BatchNorm2d(3), nn.ReLU(), nn.Conv2d(3, 4, 3), nn.ReLU(), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(64, 3)
    )
    norm: Any = network[4]
    norm.weight.data.copy_(torch.tensor([0.5, -7.0, 1.0, 2.0]))
    found = tensor_properties(network.eval(), images())
    assert [layer.name for layer in found.layers] == ["2", "6"]
    assert found.provenance.folded
    assert found.layers[0].lipschitz == pytest.approx(7.0, rel=1e-4)


@pytest.mark.parametrize("name", [name for name in KINDS if name not in REFUSED])
def test_differences_reach_the_logits_as_promised(name: str) -> None:
    """A change behind one layer, in networks with skips and poolings of all kinds, against the product of the gains."""
    torch.manual_seed(8)
    network = KINDS[name]().eval()
    samples = image_samples()
    found = tensor_properties(network, samples)
    x = torch.from_numpy(np.concatenate([inputs for inputs, _ in samples.batches()]))
    clean = network(x)
    generator = torch.Generator().manual_seed(0)
    for place, layer in enumerate(found.layers):
        reach = layer.lipschitz
        for later in found.layers[place + 1 :]:
            reach *= later.lipschitz * float(later.tensorization()[-1]) + later.skip
        sizes: list[Tensor] = []

        def shake(_: Any, __: Any, made: Tensor, sizes: list[Tensor] = sizes) -> Tensor:
            change = torch.randn(made.shape, generator=generator)
            sizes.append(change.flatten(1).norm(dim=1))
            return made + change

        handle = network.get_submodule(layer.name).register_forward_hook(shake)
        moved = (network(x) - clean).norm(dim=1)
        handle.remove()
        assert bool((moved <= reach * sizes[0] * (1 + 1e-5)).all())


def test_record_survives_json_but_for_the_factors() -> None:
    torch.manual_seed(9)
    found = tensor_properties(headed(nn.Conv2d(3, 4, 3)), images(), TensorOptions(samples=5))
    text = json.dumps(found.to_json())
    again = TensorProperties.from_json(text)
    assert json.dumps(again.to_json()) == text
    assert found.samples == 5
    torch.testing.assert_close(again.layers[0].noise(), found.layers[0].noise())
    torch.testing.assert_close(again.as_printed().layers[0].noise(), found.as_printed().layers[0].noise())
    assert again.layers[0].components.parameters == found.layers[0].components.parameters
    assert "rank" in str(found.display_rows())


def test_errors_say_what_is_allowed() -> None:
    with pytest.raises(PactError, match="one of rank, share and error"):
        TensorOptions(rank=2, error=0.1)
    with pytest.raises(PactError, match="rank"):
        TensorOptions(rank=0)
    with pytest.raises(PactError, match="share"):
        TensorOptions(share=0.0)
    with pytest.raises(PactError, match="groups"):
        tensor_properties(headed(nn.Conv2d(3, 6, 3, groups=3)), images())
    with pytest.raises(PactError, match="TensorOptions"):
        tensor_properties(headed(nn.Conv2d(3, 6, 3)), images(), 5)  # type: ignore[arg-type]
    shared = nn.Linear(3, 3)
    with pytest.raises(PactError, match="more than once"):
        tensor_properties(nn.Sequential(shared, nn.ReLU(), shared), (np.eye(3, dtype=np.float32), np.arange(3)))


def test_error_asks_for_the_smallest_rank_that_reaches_it() -> None:
    torch.manual_seed(10)
    layer = CPConv2d(3, 8, 3, 4).to_dense()
    found = tensor_properties(headed(layer), images(), TensorOptions(error=0.05)).layers[0]
    assert found.components.relative_error <= 0.05
    below = cp_decompose(layer.weight.detach(), found.rank - 1, merge_spatial=True)
    assert below.relative_error > 0.05
    assert found.residual < 0.05 * 3 * found.frobenius


def test_low_rankness_counts_components_above_a_share_of_the_largest() -> None:
    torch.manual_seed(11)
    found = tensor_properties(headed(nn.Conv2d(3, 4, 3)), images()).layers[0]
    spectrum = found.spectrum.tolist()
    assert found.low_rankness() == sum(value > 0.2 * spectrum[0] for value in spectrum) / len(spectrum)
    assert found.low_rankness(0.0) == 1.0


def test_progress_ends_at_its_total() -> None:
    seen: list[tuple[int, int]] = []
    tensor_properties(headed(nn.Conv2d(3, 4, 3)), images(), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (10, 10)


def test_gains_refuse_what_has_no_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    network = trace(nn.Sequential(nn.Linear(4, 3), nn.Tanh()), (np.eye(4, dtype=np.float32), np.arange(4) % 3))
    monkeypatch.setattr(network.module[1], "forward", torch.sinh)  # type: ignore[index]
    with pytest.raises(PactError, match="sinh"):
        gains_between(network, {"0": (3,)})


def test_a_layer_record_refuses_impossible_numbers() -> None:
    found = tensor_properties(headed(nn.Conv2d(3, 4, 3)), images()).layers[0]
    with pytest.raises(PactError, match="gains"):
        LayerTensor("x", "conv2d", found.components, found.gains[1:], 0.0, 1.0, 1.0, 1.0, 4, False)
    with pytest.raises(PactError, match="reshaping"):
        LayerTensor("x", "linear", found.components, found.gains, 0.0, 1.0, 1.0, 0.0, 4, False)
