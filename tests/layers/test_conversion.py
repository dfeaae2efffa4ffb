"""to_cp and to_tucker: which layers are turned, to which rank, and that the network stays what it was otherwise."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import prune

import netpact
from netpact.algebra import ALSOptions
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.layers import CPConv2d, CPLinear, TuckerConv2d, parameters_of_rank, rank_for_share, to_cp, to_tucker
from netpact.layers.ranks import cp_modes, largest_rank, tucker_ranks_for_share

FAST = ALSOptions(sweeps=5, starts=1)
untyped: Any = to_cp


def small() -> nn.Sequential:
    torch.manual_seed(0)
    parts = (nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Conv2d(6, 8, 1), nn.Conv2d(8, 8, 3, groups=2), nn.Flatten())
    return nn.Sequential(*parts, nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, 10)).eval()


def kinds(model: nn.Module) -> dict[str, str]:
    return {name: type(part).__name__ for name, part in model.named_children()}


def test_the_rank_is_the_largest_within_the_share() -> None:
    layers = (nn.Conv2d(7, 12, (3, 2)), nn.Conv2d(64, 64, 3), nn.Linear(60, 84), nn.Linear(64, 10))
    for layer in layers:
        for share in (1.0, 0.5, 0.125):
            rank = rank_for_share(layer, share)
            assert parameters_of_rank(layer, rank) <= share * layer.weight.numel()
            assert parameters_of_rank(layer, rank + 1) > share * layer.weight.numel()
    assert rank_for_share(layers[0], 1e-9) == 1
    assert rank_for_share(nn.Conv2d(256, 256, 3), 0.125) == 141
    with torch.device("meta"):
        assert rank_for_share(nn.Conv2d(64, 64, 3), 1) == 269


@pytest.mark.parametrize("percent", [1, 7, 29, 57, 58, 113])
def test_a_share_is_the_decimal_number_that_was_written(percent: int) -> None:
    modes = (200, 200)  # 40,000 against 400: the rank is the percentage
    assert largest_rank(modes, percent / 100) == percent == largest_rank(modes, Fraction(percent, 100))


def test_a_cp_layer_has_the_parameters_that_were_counted() -> None:
    for layer in (CPConv2d(5, 7, 3, 4, bias=False), CPLinear(12, 10, 4, in_shape=(2, 6), bias=False)):
        assert parameters_of_rank(layer, 4) == sum(p.numel() for p in layer.parameters())
    dense = nn.Linear(60, 84)
    made = CPLinear.from_dense(dense, 3, options=FAST)
    assert cp_modes(dense) == made.modes
    assert sum(p.numel() for p in made.parameters()) == parameters_of_rank(dense, 3) + 84


def test_layers_for_which_it_makes_sense_are_turned() -> None:
    model = small()
    made = to_cp(model, options=FAST)
    assert {name: kind for name, kind in kinds(made).items() if kind.startswith("CP")} == {
        "0": "CPConv2d",
        "5": "CPLinear",
    }
    assert kinds(model)["0"] == "Conv2d"
    assert not made.training
    convolutions = to_cp(model, linear=False, options=FAST)
    assert (kinds(convolutions)["0"], kinds(convolutions)["5"]) == ("CPConv2d", "Linear")
    everything = to_cp(model, skip=(), rank=2, options=FAST)
    assert {kinds(everything)[name] for name in ("0", "2", "5", "7")} == {"CPConv2d", "CPLinear"}
    assert kinds(everything)["3"] == "Conv2d"
    assert {p.rank for p in everything.modules() if isinstance(p, (CPConv2d, CPLinear))} == {2}
    kept = to_cp(model, skip=("0",), options=FAST)
    assert kinds(kept)["0"] == "Conv2d"
    assert kinds(kept)["7"] == "CPLinear"
    named = to_cp(model, ranks={"7": 5}, options=FAST)
    assert [part.rank for part in named.modules() if isinstance(part, CPLinear)] == [5]
    assert kinds(named)["0"] == "Conv2d"


def test_equal_parameters_are_the_default() -> None:
    model = small()
    made = to_cp(model, start="random")
    for name in ("0", "5"):
        dense, turned = model.get_submodule(name), made.get_submodule(name)
        assert isinstance(dense, (nn.Conv2d, nn.Linear))
        assert isinstance(turned, (CPConv2d, CPLinear))
        assert turned.rank == rank_for_share(dense, 1)
    half = to_cp(model, ratio=0.5, start="random")
    assert half.get_submodule("5").rank == rank_for_share(nn.Linear(128, 32), 0.5)


def test_at_full_rank_the_network_computes_the_same() -> None:
    model = small()
    x = torch.randn(4, 1, 8, 8)
    made = to_cp(model, ranks={"0": 9, "5": 256}, options=ALSOptions(sweeps=300, starts=1))
    torch.testing.assert_close(made(x), model(x), rtol=0, atol=2e-3)
    tucker = to_tucker(model, ranks={"0": (6, 1)})
    assert kinds(tucker)["0"] == "TuckerConv2d"
    torch.testing.assert_close(tucker(x), model(x))


def test_from_the_seed_alone_and_not_from_the_global_stream() -> None:
    model, state = small(), torch.get_rng_state()
    first, again = (to_cp(model, start="random", seed=Seed(3)) for _ in range(2))
    other = to_cp(model, start="random", seed=Seed(4))
    assert torch.equal(torch.get_rng_state(), state)
    for name, value in first.state_dict().items():
        assert torch.equal(value, again.state_dict()[name])
    assert not torch.equal(first.state_dict()["0.depthwise.weight"], other.state_dict()["0.depthwise.weight"])
    assert torch.equal(first.state_dict()["7.weight"], model.state_dict()["7.weight"])


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = self.again = nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.again(self.first(x))
        return y


def test_a_layer_at_two_places_stays_one() -> None:
    made = to_cp(Twice(), rank=4, options=FAST)
    assert made.first is made.again
    assert isinstance(made.first, CPConv2d)
    assert made(torch.zeros(1, 3, 5, 5)).shape == (1, 3, 5, 5)


def test_a_tied_weight_is_refused() -> None:
    model = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 4))
    model[1].weight = model[0].weight
    with pytest.raises(PactError, match="0: it has a parameter in common with 1"):
        to_cp(model)
    assert kinds(to_cp(model, skip=("0", "1"), options=FAST))["2"] == "CPLinear"


def test_a_layer_with_hooks_is_refused_and_one_that_computes_its_weight_stays() -> None:
    model = small()
    model[0].register_forward_hook(lambda *_: None)
    with pytest.raises(PactError, match="0: it has hooks"):
        to_cp(model)
    masked = nn.Conv2d(4, 4, 3)
    prune.l1_unstructured(masked, "weight", 0.5)
    normed = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Conv2d(3, 4, 3)), masked, nn.Conv2d(4, 4, 3))
    with torch.no_grad():
        normed(torch.zeros(1, 3, 9, 9))
    assert [isinstance(part, CPConv2d) for part in to_cp(normed, options=FAST).children()] == [False, False, True]


def test_a_network_that_is_one_layer_becomes_another() -> None:
    made = to_cp(nn.Conv2d(3, 4, 3), rank=2, options=FAST)
    assert isinstance(made, CPConv2d)


@pytest.mark.parametrize("name", ["mlp:48-32", "resnet:8-4-1"])
def test_named_architectures_are_turned_and_traced(name: str) -> None:
    data = netpact.load_data("digits", limit=20)
    model = netpact.build(netpact.parse_model(name, input_shape=(1, 8, 8), classes=10))
    made = to_cp(SimpleNamespace(module=model), ratio=0.5, options=FAST)
    assert not hasattr(made, "netpact_architecture")
    dense, turned = netpact.trace(model, data), netpact.trace(made, data)
    assert len(turned.layers) > len(dense.layers)
    assert turned.parameters < dense.parameters


def test_progress_goes_up_to_its_end() -> None:
    seen: list[tuple[int, int]] = []
    to_cp(small(), options=FAST, progress=lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1]
    assert len({total for _, total in seen}) == 1


def test_tucker_ranks_are_the_largest_within_the_share() -> None:
    for layer in (nn.Conv2d(12, 20, 3), nn.Conv2d(1, 64, 3), nn.Conv2d(64, 64, 3)):
        for share in (5.0, 1.0, 0.5, 0.1):
            wide, narrow = tucker_ranks_for_share(layer, share)
            made = TuckerConv2d.like(layer, (wide, narrow))
            count = sum(p.numel() for p in made.parameters()) - layer.out_channels
            assert count <= share * layer.weight.numel() or (wide, narrow) == (1, 1)
            assert wide <= 9 * narrow
            assert narrow <= 9 * wide
    assert tucker_ranks_for_share(nn.Conv2d(64, 64, 3), 0.5) == (38, 38)  # 2 * 64 * 38 + 9 * 38^2 = 17,860 <= 18,432
    turned = to_tucker(small(), ratio=0.9)
    assert kinds(turned)["0"] == "TuckerConv2d"
    assert kinds(turned)["2"] == "Conv2d"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"rank": 0}, "layer 0, rank: must be an integer >= 1, got 0"),
        ({"rank": 2.0}, "rank: must be an integer"),
        ({"rank": 2, "ratio": 0.5}, "give one of rank, ranks and ratio"),
        ({"ranks": {"nope": 3}}, "'nope' is not known; allowed: 0, 2, 5, 7"),
        ({"ranks": {"3": 3}}, "'3' is not known"),
        ({"ranks": 3}, "must be a dict of ranks by layer names"),
        ({"ranks": {}}, "no layer is left"),
        ({"ratio": 0}, "must be a finite number > 0, got 0"),
        ({"ratio": float("nan")}, "must be a finite number"),
        ({"skip": "0"}, "must be a tuple of layer names, got '0'"),
        ({"skip": ("x",)}, "'x' is not known"),
        ({"skip": ("0", "2", "5", "7")}, "no layer is left"),
        ({"start": "svd"}, "'svd' is not known; allowed: decompose, random"),
        ({"options": {"sweeps": 3}}, "must be an ALSOptions"),
        ({"seed": 3}, "must be a Seed"),
        ({"linear": 1}, "must be True or False"),
    ],
)
def test_wrong_options_are_told(options: dict[str, Any], told: str) -> None:
    with pytest.raises(PactError, match=told):
        untyped(small(), **options)


def test_wrong_models_are_told() -> None:
    for model in (None, "weights.safetensors", nn.Linear, 3):
        with pytest.raises(PactError, match=r"must be a torch.nn.Module, got"):
            untyped(model)
    broken = small()
    with torch.no_grad():
        next(broken[5].parameters())[0, 0] = torch.nan
    with pytest.raises(PactError, match=r"layer 5, .*NaN"):
        to_cp(broken, options=FAST)
    with pytest.raises(PactError, match=r"layer 5, .*this one is linear"):
        to_tucker(small(), ranks={"5": (2, 2)})
