"""Layers in CP and Tucker form compute what the one dense layer does that they stand for, forwards and backwards."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest
import torch
from layers.factored_samples import CP, IMAGE, SAMPLES, compose, make, run_dense
from torch import nn

from netpact import load_data, trace
from netpact.algebra import ALSOptions
from netpact.core.errors import PactError
from netpact.layers import (
    ChannelAffine,
    CPConv2d,
    CPLinear,
    HigherOrderCPConv2d,
    HigherOrderCPLinear,
    TuckerConv2d,
    to_cp,
)
from netpact.training import TrainOptions, train

CLOSE: Any = {"rtol": 1e-11, "atol": 1e-11}


@pytest.mark.parametrize("name", SAMPLES)
def test_composes_to_one_dense_layer(name: str) -> None:
    layer, x = make(name)
    torch.testing.assert_close(layer(x), layer.to_dense()(x), **CLOSE)
    torch.testing.assert_close(layer.dense().weight, compose(layer), **CLOSE)
    torch.testing.assert_close(layer(x), run_dense(layer, compose(layer), x), **CLOSE)
    if name in CP:
        torch.testing.assert_close(layer.composed(), compose(layer), **CLOSE)
        weight = layer.dense().weight
        assert torch.equal(layer.weight_of(layer.tensor_of(weight)), weight)


@pytest.mark.parametrize("name", SAMPLES)
def test_gradients_are_those_through_the_dense_weight(name: str) -> None:
    layer, x = make(name)
    x.requires_grad_()
    factored, dense = layer(x), run_dense(layer, compose(layer), x)
    direction = torch.randn(factored.shape, dtype=torch.float64)
    wanted = [x, *layer.parameters()]
    by_chain = torch.autograd.grad((factored * direction).sum(), wanted)
    by_weight = torch.autograd.grad((dense * direction).sum(), wanted)
    for one, other in zip(by_chain, by_weight, strict=True):
        assert bool(one.any())
        torch.testing.assert_close(one, other, **CLOSE)


def test_of_full_rank_is_the_dense_layer() -> None:
    torch.manual_seed(0)
    conv, linear = nn.Conv2d(6, 8, 3, padding=1).double(), nn.Linear(12, 10).double()
    x, y = torch.randn(IMAGE, dtype=torch.float64), torch.randn(3, 12, dtype=torch.float64)
    torch.testing.assert_close(CPConv2d.from_dense(conv, 48)(x), conv(x), rtol=0, atol=1e-4)
    torch.testing.assert_close(TuckerConv2d.from_dense(conv, (8, 6))(x), conv(x))
    torch.testing.assert_close(CPLinear.from_dense(linear, 30)(y), linear(y), rtol=0, atol=1e-4)
    for shapes in ({"in_shape": (3, 4), "out_shape": (2, 5)}, {}):
        higher = HigherOrderCPLinear.from_dense(linear, 40, **shapes)  # type: ignore[arg-type]
        torch.testing.assert_close(higher(y), linear(y), rtol=0, atol=1e-4)
    moved = HigherOrderCPConv2d.from_dense(conv, 108, in_shape=(2, 3), out_shape=(4, 2))
    torch.testing.assert_close(moved(x), conv(x), rtol=0, atol=1e-4)


def test_more_starts_are_never_worse_and_any_start_is_better_than_a_random_layer() -> None:
    for seed in range(3):
        torch.manual_seed(seed)
        conv, linear = nn.Conv2d(8, 10, 3), nn.Linear(24, 30)
        kinds: list[tuple[Any, Any, int]] = [
            (CPConv2d, conv, 9),
            (CPLinear, linear, 7),
            (HigherOrderCPLinear, linear, 7),
        ]
        for kind, layer, rank in kinds:
            errors = [
                torch.dist(
                    kind.from_dense(layer, rank, options=ALSOptions(sweeps=20, starts=n)).to_dense().weight,
                    layer.weight,
                )
                for n in (1, 2, 4)
            ]
            assert errors[2] <= errors[1] + 1e-5
            assert errors[1] <= errors[0] + 1e-5
            fresh = kind.like(layer, rank)
            fresh.reset_parameters()
            assert errors[0] < layer.weight.norm() < torch.dist(fresh.to_dense().weight, layer.weight)


def test_large_layers_are_decomposed_from_one_start_and_linear_ones_with_orthogonal_sweeps_first() -> None:
    small, large = CPConv2d(64, 64, 3, 2), CPConv2d(128, 128, 3, 2, device="meta")
    assert small.default_options() == ALSOptions()
    assert large.default_options() == ALSOptions(sweeps=60, starts=1)
    assert CPLinear(64, 64, 2).default_options() == ALSOptions(orthogonal_sweeps=3)
    torch.manual_seed(0)
    for kind, dense in ((CPConv2d, nn.Conv2d(4, 6, 3)), (CPLinear, nn.Linear(12, 10))):
        make: Any = kind
        given = make.from_dense(dense, 3, options=make.like(dense, 3).default_options())
        assert torch.equal(make.from_dense(dense, 3).to_dense().weight, given.to_dense().weight)


@pytest.mark.parametrize("name", CP)
def test_the_spectrum_is_positive_sorted_and_of_unit_factors(name: str) -> None:
    layer, _ = make(name)
    found = layer.components()
    assert found.rank == layer.rank
    assert bool((found.weights > 0).all())
    assert bool((found.weights.diff() <= 0).all())
    assert torch.equal(found.weights, layer.spectrum())
    for factor in found.factors:
        torch.testing.assert_close(factor.norm(dim=0), torch.ones(layer.rank, dtype=torch.float64))
    torch.testing.assert_close(layer.weight_of(found.to_dense()), compose(layer), **CLOSE)
    lengths = [factor.detach().norm(dim=0) for factor in layer.factors()]
    torch.testing.assert_close(found.weights, torch.stack(lengths).prod(dim=0).sort(descending=True).values)


@pytest.mark.parametrize("name", CP)
def test_normalised_in_place_and_still_the_same_function(name: str) -> None:
    layer, x = make(name)
    with torch.no_grad():
        layer.set_factors([factor * torch.tensor([1, 0, *[3] * (layer.rank - 2)]) for factor in layer.factors()])
    before, spectrum, held = layer(x), layer.spectrum(), list(layer.parameters())
    assert len(spectrum) == layer.rank - 1  # one component is 0
    assert layer.normalize_() is layer
    torch.testing.assert_close(layer(x), before, **CLOSE)
    assert all(one is other for one, other in zip(held, layer.parameters(), strict=True))
    for part, factor in zip(layer._parts(), layer.factors(), strict=True):
        lengths = factor.detach().norm(dim=0)
        wanted = torch.cat([spectrum, torch.zeros(1)]) if part is layer._last() else torch.ones(layer.rank)
        torch.testing.assert_close(lengths, wanted.double())
    torch.testing.assert_close(layer.spectrum(), spectrum)


@pytest.mark.parametrize("name", CP)
def test_truncated_to_the_largest_components(name: str) -> None:
    layer, _ = make(name)
    found = layer.components()
    kept = layer.truncate(2)
    assert kept.rank == 2
    assert type(kept) is type(layer)
    torch.testing.assert_close(kept.spectrum(), found.weights[:2])
    tensor = sum(
        found.weights[r] * compose_outer([factor[:, r] for factor in found.factors]).reshape(layer.shape)
        for r in (0, 1)
    )
    torch.testing.assert_close(kept.dense().weight, layer.weight_of(tensor), **CLOSE)
    assert set(kept.factors()[0].flatten().tolist()) <= set(layer.factors()[0].flatten().tolist())
    torch.testing.assert_close(layer.truncate(layer.rank).dense().weight, layer.dense().weight, **CLOSE)
    assert (kept.bias is None) == (layer.bias is None)
    if layer.bias is not None:
        assert torch.equal(kept.bias, layer.bias)
        assert kept.bias is not layer.bias
    for rank in (0, layer.rank + 1, 1.0):
        with pytest.raises(PactError, match=f"rank: must be an integer from 1 to {layer.rank}"):
            layer.truncate(rank)


def compose_outer(vectors: list[torch.Tensor]) -> torch.Tensor:
    made = vectors[0]
    for vector in vectors[1:]:
        made = made[..., None] * vector
    return made


@pytest.mark.parametrize("name", SAMPLES)
def test_first_weights_have_the_variance_of_torch(name: str) -> None:
    layer, _ = make(name)
    dense = layer.to_dense()
    weights, biases = [], []
    for seed in range(300):
        layer.reset_parameters(torch.Generator().manual_seed(seed))
        weights.append(layer.dense().weight.detach().flatten())
        biases.append(layer.bias.detach().clone() if layer.bias is not None else torch.zeros(0))
    expected = 1 / (3 * dense.weight[0].numel())
    assert float(torch.stack(weights).square().mean()) / expected == pytest.approx(1, rel=0.1)
    if layer.bias is not None:
        assert float(torch.stack(biases).square().mean()) / expected == pytest.approx(1, rel=0.1)
        assert float(torch.stack(biases).abs().max()) <= 1 / dense.weight[0].numel() ** 0.5


def test_the_same_first_weights_by_the_global_seed() -> None:
    for name in SAMPLES:
        (one, _), (other, _) = make(name), make(name)
        assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("name", SAMPLES)
def test_state_dicts_are_strict(name: str) -> None:
    layer, x = make(name)
    stored = io.BytesIO()
    torch.save(layer.state_dict(), stored)
    stored.seek(0)
    other = SAMPLES[name].make(dtype=torch.float64)
    assert not torch.equal(other(x), layer(x))
    other.load_state_dict(torch.load(stored, weights_only=True), strict=True)
    assert torch.equal(other(x), layer(x))
    if name in CP:
        with pytest.raises(RuntimeError, match="size mismatch"):
            layer.truncate(layer.rank - 1).load_state_dict(layer.state_dict())


@pytest.mark.parametrize("name", SAMPLES)
def test_copies_precisions_layouts_and_modes(name: str) -> None:
    layer, x = make(name)
    twin = copy.deepcopy(layer)
    with torch.no_grad():
        next(layer.parameters()).zero_()
    assert not torch.equal(twin(x), layer(x))
    layer = copy.deepcopy(twin).float().eval()
    assert not layer.training
    assert not layer.to_dense().training
    assert layer(x.float()).dtype == torch.float32 == layer.to_dense().weight.dtype
    torch.testing.assert_close(layer(x.float()).double(), twin(x), rtol=1e-4, atol=1e-4)
    if x.dim() == 4:
        moved = copy.deepcopy(twin).to(memory_format=torch.channels_last)
        torch.testing.assert_close(moved(x.to(memory_format=torch.channels_last)), twin(x), **CLOSE)
        torch.testing.assert_close(moved.dense().weight, twin.dense().weight, **CLOSE)


def test_attributes_are_named_as_those_of_dense_layers() -> None:
    names = ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "padding_mode", "groups")
    conv = nn.Conv2d(6, 8, (3, 2), stride=(2, 1), padding=(1, 0), dilation=2, padding_mode="circular")
    tucker = TuckerConv2d.from_dense(conv, (3, 2))
    for made in (CPConv2d.like(conv, 3), tucker, HigherOrderCPConv2d.like(conv, 2), tucker.to_dense()):
        assert {name: getattr(made, name) for name in names} == {name: getattr(conv, name) for name in names}
        assert made.bias is not None
        assert torch.equal(made.bias, conv.bias)  # type: ignore[arg-type]
    assert CPConv2d.like(conv, 3).training
    assert not CPConv2d.like(conv.eval(), 3).training
    linear = nn.Linear(12, 10, bias=False)
    for chain in (CPLinear.like(linear, 3), HigherOrderCPLinear.like(linear, 2)):
        assert (chain.in_features, chain.out_features, chain.bias) == (12, 10, None)


def test_networks_of_them_are_traced() -> None:
    layers = (CPConv2d(1, 4, 3, 3), nn.ReLU(), nn.Flatten(), CPLinear(4 * 36, 10, 3))
    network = trace(nn.Sequential(*layers), load_data("digits"))
    assert [layer.kind for layer in network.layers] == ["conv2d"] * 7 + ["shift"]
    higher = nn.Sequential(nn.Flatten(), HigherOrderCPLinear((4, 4, 4), (2, 1, 5), 3))
    assert [layer.kind for layer in trace(higher, load_data("digits")).layers] == ["conv2d"] * 3 + ["shift"]
    moved = nn.Sequential(HigherOrderCPConv2d((1, 1), (2, 2), 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10))
    kinds = [layer.kind for layer in trace(moved, load_data("digits")).layers]
    assert kinds == ["conv2d"] * 3 + ["shift", "linear"]


def test_a_small_cp_network_learns_the_digits_from_scratch() -> None:
    torch.manual_seed(0)
    dense = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.Flatten())
    model = to_cp(nn.Sequential(*dense, nn.Linear(256, 32), nn.ReLU(), nn.Linear(32, 10)), start="random", ratio=0.5)
    data = load_data("digits")
    trained = train(model, data.train, TrainOptions(epochs=8, learning_rate=0.01), test=data.test)
    error = trained.history[-1].test_error
    assert error is not None
    assert error <= 0.05


WRONG: list[tuple[Any, str]] = [
    (lambda: CPConv2d(3, 4, 3, 0), "rank: must be an integer >= 1, got 0"),
    (lambda: CPConv2d(3, 4, 3, True), "rank: must be an integer"),
    (lambda: CPConv2d(0, 4, 3, 2), "in_channels: must be an integer >= 1"),
    (lambda: CPConv2d(3, -1, 3, 2), "out_channels: must be an integer >= 1"),
    (lambda: CPConv2d(3, 4, 0, 2), "kernel_size: must be an integer >= 1"),
    (lambda: CPConv2d(3, 4, (3, 3, 3), 2), r"kernel_size: must be an integer >= 1 or two of them, got \(3, 3, 3\)"),
    (lambda: CPConv2d(3, 4, "3", 2), "kernel_size: must be"),
    (lambda: CPConv2d(3, 4, 3, 2, groups=2), "'groups' is not known; allowed: stride, padding"),
    (lambda: CPConv2d(3, 4, 3, 2, stride=0), "stride: must be an integer >= 1"),
    (lambda: CPConv2d(3, 4, 3, 2, padding_mode="mirror"), "padding_mode: 'mirror' is not known"),
    (lambda: CPConv2d(3, 4, 3, 2, bias=1), "bias: must be True or False"),
    (lambda: TuckerConv2d(3, 4, 3, 2), "ranks: must be two integers"),  # type: ignore[arg-type]
    (lambda: TuckerConv2d(3, 4, 3, (2, 0)), "ranks: must be an integer >= 1"),
    (lambda: CPLinear(0, 4, 3), "in_features: must be an integer >= 1"),
    (lambda: CPLinear(12, 4.0, 3), "out_features: must be an integer >= 1"),  # type: ignore[arg-type]
    (lambda: CPLinear(12, 4, 0), "rank: must be an integer >= 1"),
    (lambda: CPLinear(12, 4, 3, in_shape=(5, 2)), r"in_shape: must be 2 factors of 12, got \(5, 2\)"),
    (lambda: CPLinear(12, 4, 3, out_shape=(2, 2, 1)), "out_shape: must be 2 factors of 4"),  # type: ignore[arg-type]
    (lambda: CPLinear(12, 4, 3, in_shape=(-3, -4)), "in_shape: must be an integer >= 1, got -3"),
    (lambda: HigherOrderCPLinear((12,), (4,), 3), "in_shape: must be two or more integers >= 1"),
    (lambda: HigherOrderCPLinear((3, 4), (2, 2, 1), 3), "both shapes must have as many sizes"),
    (lambda: HigherOrderCPLinear((3, 4), (2, 0), 3), "out_shape: must be an integer >= 1"),
    (lambda: HigherOrderCPConv2d((3, 4), "ab", 3, 3), "out_shape: must be two or more"),  # type: ignore[arg-type]
    (lambda: CPConv2d.from_dense(nn.Conv2d(4, 4, 3, groups=2), 3), r"needs an nn.Conv2d without groups, got Conv2d\("),
    (lambda: CPConv2d.from_dense(nn.Linear(4, 4), 3), "needs an nn.Conv2d without groups, got Linear"),  # type: ignore[arg-type]
    (lambda: CPConv2d.from_dense(CPConv2d(4, 4, 3, 3), 2), "factored already: truncate"),  # type: ignore[arg-type]
    (lambda: CPLinear.from_dense(CPLinear(4, 4, 3), 2), "factored already: truncate"),  # type: ignore[arg-type]
    (lambda: CPLinear.from_dense(nn.Conv2d(4, 4, 3), 2), "needs an nn.Linear, got Conv2d"),  # type: ignore[arg-type]
    (lambda: HigherOrderCPConv2d.from_dense(ChannelAffine(4), 2), "needs an nn.Conv2d"),  # type: ignore[arg-type]
    (lambda: CPConv2d.from_dense(nn.Conv2d(4, 4, 3), 0), "rank: must be an integer >= 1"),
    (lambda: CPLinear.from_dense(nn.Linear(12, 4), 3, in_shape=(7, 1)), "in_shape: must be 2 factors of 12"),
    (lambda: HigherOrderCPLinear.from_dense(nn.Linear(12, 4), 3, in_shape=(7, 1)), "in_shape: must be factors of 12"),
    (lambda: TuckerConv2d.from_dense(nn.Conv2d(4, 4, 3), (5, 2)), r"ranks\[0\]: must be an integer from 1 to 4, got 5"),
    (lambda: CPConv2d.from_dense(spoiled(nn.Conv2d(4, 4, 3), torch.nan), 3), "NaN or infinity"),
    (lambda: CPLinear.from_dense(spoiled(nn.Linear(4, 4), torch.inf), 3), "NaN or infinity"),
    (lambda: TuckerConv2d.from_dense(spoiled(nn.Conv2d(4, 4, 3), torch.inf), (2, 2)), "NaN or infinity"),
    (lambda: CPConv2d(4, 4, 3, 3).set_components(CPConv2d(4, 4, 3, 4).components()), "has rank 3, the decomposition 4"),
    (lambda: CPConv2d(4, 4, 3, 4).set_components(CPConv2d(4, 5, 3, 4).components()), r"factors of \(4, 4, 9\) rows"),
]


def spoiled(layer: Any, value: float) -> Any:
    with torch.no_grad():
        layer.weight[0, 0] = value
    return layer


@pytest.mark.parametrize(("call", "told"), WRONG, ids=[str(number) for number in range(len(WRONG))])
def test_wrong_arguments_are_told(call: Any, told: str) -> None:
    with pytest.raises(PactError, match=told):
        call()
