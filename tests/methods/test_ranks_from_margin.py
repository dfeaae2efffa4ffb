"""Ranks from a margin: a case by hand, all ranks tried, and what is promised of the outputs."""

from __future__ import annotations

import copy
import itertools
import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from netpact import PactError, load_data
from netpact.algebra import CPDecomposition
from netpact.datasets import ArraySamples
from netpact.layers import Chain, CPConv2d, CPLinear, Residual
from netpact.measurements import LayerTensor, TensorOptions, TensorProperties, TensorProvenance, tensor_properties
from netpact.methods.ranks_from_margin import find_ranks

TOLD = TensorProvenance("0", "made up", "made up", "sha256:", 0, False, "exact")


def layer(name: str, spectrum: list[float], **numbers: Any) -> LayerTensor:
    """A linear layer with these lambda; zeta 1, |M|_F 1, rho 1, no residual unless said."""
    rank = len(spectrum)
    found = CPDecomposition(torch.tensor(spectrum, dtype=torch.float64), (torch.eye(8)[:, :rank],) * 4, (8,) * 4, 0.0)
    told: dict[str, Any] = {
        "kind": "linear",
        "residual": 0.0,
        "frobenius": 1.0,
        "cushion": 1.0,
        "reshaping": 1.0,
        "places": 1,
        "skip": False,
    }
    return LayerTensor(name, components=found, gains=torch.ones(rank, dtype=torch.float64), **(told | numbers))


def network(*layers: LayerTensor, output_norm: float = 1.0) -> TensorProperties:
    return TensorProperties(layers, output_norm, 1, TOLD)


def kept(properties: TensorProperties, **wanted: Any) -> tuple[int, ...]:
    return tuple(found.rank for found in find_ranks(properties, **wanted).layers)


def test_by_hand() -> None:
    """Three layers, eps = 0.65, so that each may take eps / n = 0.21667.

    last    xi_j = 3, 1, 0 (lambda 5, 2, 1) of zeta |M|_F = 0.5 * 10 = 5: 1/5 = 0.2 is within it, 3/5 is not: 2, t = 7
    middle  xi_j = 1.4, .4, .1, 0 (lambda 2, 1, .3, .1), of 1 * 4 = 4, and then * 7/5: .14 is, .49 is not: 2, t = 3
    first   xi_j = 2.2, .7, .2, 0 (lambda 1.6, 1.5, .5, .2): of 3 and then * 3/4 * 7/5 = 1.05: .07 is, .245 is not: 3
    """
    first = layer("first", [1.6, 1.5, 0.5, 0.2], cushion=3.0)
    middle = layer("middle", [2.0, 1.0, 0.3, 0.1], frobenius=4.0)
    last = layer("last", [5.0, 2.0, 1.0], cushion=0.5, frobenius=10.0)
    found = find_ranks(network(first, middle, last), eps=0.65)
    assert found.ranks == {"first": 3, "middle": 2, "last": 2}
    assert [part.used for part in found.layers] == pytest.approx([0.07 * 3 / 0.65, 0.14 * 3 / 0.65, 0.2 * 3 / 0.65])
    assert [part.parameters for part in found.layers] == [3 * 33, 2 * 33, 2 * 33]
    assert "first keeps 3 of 4 components" in str(found)


def test_by_hand_with_reshaping_pooling_and_a_skip() -> None:
    """Two layers, eps = 0.4: each may take 0.2.

    last   rho 0.5, zeta |M|_F = 2: 0.5 * .8 / 2 = 0.2 is not within it by a hair, so lambda .79: .1975 is: 1, t = 3
    first  L = 2 behind it, and the last has a skip, so 3 + 1 behind: 2 * xi * (4 / 2) = 4 xi: .03 is, .06 is not
    """
    last = layer("last", [3.0, 0.79], reshaping=0.5, cushion=2.0, skip=True)
    first = layer("first", [1.0, 0.07, 0.03], lipschitz=2.0)
    assert kept(network(first, last), eps=0.4) == (2, 1)
    assert kept(network(first, layer("last", [3.0, 0.81], reshaping=0.5, cushion=2.0, skip=True)), eps=0.4) == (2, 2)
    assert kept(network(layer("first", [1.0, 0.07, 0.06], lipschitz=2.0), last), eps=0.4) == (3, 1)
    assert kept(network(layer("first", [1.0, 0.07, 0.06]), last), eps=0.4) == (2, 1)  # without what enlarges it


def test_printed_forms_by_hand() -> None:
    """(87) for two linear layers, eps = 0.4: rho xi t_2 <= 0.2 |A_1|_F zeta_1 zeta_2, the last layer's |A|_F missing.

    last   lambda 3, .1, |A|_F = 10: .1 <= .2 * 10 zeta: 1, t = 3
    first  lambda 1, .4, .2: with |A_2|_F it would be  xi * 3 <= .2 * 10: 1; without  xi * 3 <= .2: all
    """
    first, last = layer("first", [1.0, 0.4, 0.2]), layer("last", [3.0, 0.1], frobenius=10.0)
    assert kept(network(first, last), eps=0.4) == (1, 1)
    found = find_ranks(network(first, last), eps=0.4, as_printed=True)
    assert (found.printed, tuple(part.rank for part in found.layers)) == (True, (3, 1))
    # (86) has the 1 more for every layer as soon as there is a skip anywhere, (85) and (86) all |M|_F.
    conv = {"kind": "conv2d", "sides": (1, 1), "printed": torch.ones(3, dtype=torch.float64)}
    middle = layer("middle", [1.0, 0.1], kind="linear")
    for skip, ranks in ((False, (2, 1, 1)), (True, (3, 2, 1))):
        three = network(layer("first", [1.0, 0.5, 0.13], skip=skip, **conv), middle, layer("last", [1.0, 0.1]))
        assert kept(three, eps=0.4, as_printed=True) == ranks
    with pytest.raises(PactError, match="own definitions"):
        find_ranks(network(first, last).as_printed(), eps=0.4)


def random_properties(seed: int) -> TensorProperties:
    random = np.random.default_rng(seed)
    layers = []
    for place in range(random.integers(1, 4)):
        spectrum = sorted(random.exponential(size=random.integers(1, 5)).tolist(), reverse=True)
        layers.append(
            layer(
                str(place),
                spectrum,
                cushion=float(random.uniform(0.2, 2)),
                frobenius=float(random.uniform(1, 5)),
                reshaping=float(random.uniform(0.3, 1)),
                residual=float(random.choice([0.0, 0.01])),
                skip=bool(random.integers(2)),
                lipschitz=float(random.uniform(0.5, 2)),
            )
        )
    return network(*layers, output_norm=float(random.uniform(1, 3)))


def holds(layers: tuple[LayerTensor, ...], ranks: tuple[int, ...], share: float) -> bool:
    """The condition of every layer, multiplied out."""
    for k, own in enumerate(layers):
        left = own.lipschitz * own.reshaping * float(own.noise()[ranks[k]])
        for other, rank in zip(layers[k + 1 :], ranks[k + 1 :], strict=True):
            left *= other.lipschitz * float(other.tensorization()[rank]) + other.skip
        if left > share * math.prod(other.cushion * other.frobenius for other in layers[k:]):
            return False
    return True


def test_no_smaller_ranks_meet_the_condition() -> None:
    """Against all ranks: whatever meets the condition of every layer has no smaller rank in any of them."""
    compared = 0
    for seed in range(150):
        properties = random_properties(seed)
        eps = float(np.random.default_rng([seed, 1]).choice([0.1, 0.5, 2.0, 8.0]))
        found = find_ranks(properties, eps=eps)
        every = itertools.product(*(range(1, one.rank + 1) for one in properties.layers))
        good = [ranks for ranks in every if holds(properties.layers, ranks, eps / len(properties.layers))]
        if any(part.whole for part in found.layers):
            assert not good
            continue
        chosen = tuple(part.rank for part in found.layers)
        assert chosen in good
        assert all(one <= other for ranks in good for one, other in zip(chosen, ranks, strict=True))
        compared += len(good)
    assert compared > 300


def test_ranks_fall_as_eps_grows() -> None:
    for seed in range(40):
        properties = random_properties(seed)
        runs = [kept(properties, eps=eps) for eps in (0.01, 0.1, 1.0, 10.0, 100.0, 1e4)]
        assert all(one >= other for row in itertools.pairwise(runs) for one, other in zip(*row, strict=True))
        assert runs[-1] == (1,) * len(properties.layers)


def test_a_margin_is_a_share_of_twice_the_largest_output() -> None:
    properties = random_properties(3)
    assert find_ranks(properties, margin=0.7).eps == pytest.approx(0.7 / (2 * properties.output_norm))


def test_a_layer_stays_as_it_is_where_the_residual_is_too_large() -> None:
    """Its norm, for the layers before it, is that of the layer itself: t_R + residual = 2.5 + 0.5."""
    last = layer("last", [2.0, 0.5], residual=0.5)
    found = find_ranks(network(layer("first", [1.0, 0.06]), last), eps=0.4)
    assert found.ranks == {"first": 1}
    assert [part.whole for part in found.layers] == [False, True]
    assert "last stays as it is" in str(found)
    assert kept(network(layer("first", [1.0, 0.07]), last), eps=0.4) == (2, 2)  # .07 * 3 > .2 >= .07 * 2.5


def test_without_a_cushion_only_what_loses_nothing_is_allowed() -> None:
    dead = layer("dead", [1.0, 0.5], cushion=0.0)
    assert kept(network(layer("first", [1.0, 1e-9]), dead, layer("last", [1.0, 0.1])), eps=1.0) == (2, 2, 1)


def test_errors_say_what_is_allowed() -> None:
    properties = random_properties(0)
    for wanted in ({}, {"eps": 0.1, "margin": 0.1}):
        with pytest.raises(PactError, match="either eps or margin"):
            find_ranks(properties, **wanted)  # type: ignore[arg-type]
    for name in ("eps", "margin"):
        with pytest.raises(PactError, match=name):
            find_ranks(properties, **{name: 0.0})  # type: ignore[arg-type]
    with pytest.raises(PactError, match="TensorProperties"):
        find_ranks("properties", eps=0.1)  # type: ignore[arg-type]
    with pytest.raises(PactError, match="all outputs are 0"):
        find_ranks(network(layer("one", [1.0]), output_norm=0.0), margin=0.1)


# What is promised of the outputs


def project(module: nn.Module, properties: TensorProperties, ranks: dict[str, int]) -> nn.Module:
    """Every layer with its largest components alone (Algorithms 5 and 6), as one dense layer in float64."""
    made = nn.ModuleDict({"network": module}).double().eval()
    for name, rank in ranks.items():
        found = properties.layer(name).components
        parts = tuple(factor[:, :rank] for factor in found.factors)
        weight = CPDecomposition(found.weights[:rank], parts, found.shape, 0.0).to_dense()
        parent, _, child = f"network.{name}".rpartition(".")
        part: Any = made.get_submodule(f"network.{name}")
        dense = part.dense() if isinstance(part, Chain) else part
        with torch.no_grad():
            dense.weight.copy_(weight.reshape(dense.weight.shape))
        setattr(made.get_submodule(parent), child, dense)
    return made["network"]


def coherent_linear(count: int, *, skip: bool) -> nn.Module:
    """All components of a layer look one way, and so do the samples: the lemma's inequalities are equalities."""
    layers = []
    for place in range(count):
        made = CPLinear(16, 16, 40, bias=False)
        weights = torch.linspace(1.0, 0.05, 40, dtype=torch.float64) / (5 + place)
        made.set_components(CPDecomposition(weights, (torch.full((4, 40), 0.5),) * 4, (4,) * 4, 0.0))
        layers.append(Residual(made, nn.Sequential()) if skip else made)
    return nn.Sequential(*layers)


def coherent_conv(count: int) -> nn.Module:
    layers: list[nn.Module] = []
    for place in range(count):
        made = CPConv2d(2, 2, 3, 40, padding=1, padding_mode="circular", bias=False)
        weights = torch.linspace(1.0, 0.05, 40, dtype=torch.float64) / (5 + place)
        factors = (torch.full((2, 40), math.sqrt(0.5)),) * 2 + (torch.full((9, 40), 1 / 3),)
        made.set_components(CPDecomposition(weights, factors, (2, 2, 3, 3), 0.0))
        layers.append(made)
    return nn.Sequential(*layers, nn.Flatten())


COHERENT: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: coherent_linear(3, skip=False), (16,)),
    "skips": (lambda: coherent_linear(3, skip=True), (16,)),
    "circular convolutions": (lambda: coherent_conv(3), (2, 4, 4)),
}


def relative_errors(one: nn.Module, other: nn.Module, samples: ArraySamples) -> np.ndarray[Any, Any]:
    x = torch.from_numpy(np.concatenate([inputs for inputs, _ in samples.batches()])).double()
    with torch.no_grad():
        clean = one.double()(x)
        return ((clean - other(x)).norm(dim=1) / clean.norm(dim=1)).numpy()


@pytest.mark.parametrize("name", COHERENT)
def test_the_promise_is_nearly_reached_at_worst(name: str) -> None:
    make, shape = COHERENT[name]
    entries = math.prod(shape)
    samples = ArraySamples(np.ones((entries, *shape), np.float32), np.arange(entries), "ones", entries)
    properties = tensor_properties(make(), samples)
    ratios = []
    for eps in (0.1, 0.2, 0.3):
        found = find_ranks(properties, eps=eps)
        assert all(part.rank < part.components for part in found.layers)
        errors = relative_errors(make(), project(make(), properties, found.ranks), samples)
        ratios.append(float(errors.max()) / eps)
    assert max(ratios) <= 1
    # Ranks are whole numbers, so not all of eps is used: a constant smaller by a fifth would promise too much.
    assert max(ratios) > 0.8, ratios


def random_network(kind: str) -> nn.Module:
    body = nn.Sequential(nn.Conv2d(6, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1))
    parts: dict[str, list[nn.Module]] = {
        "cnn": [
            nn.Conv2d(2, 6, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32, 5),
        ],
        "fully connected": [
            nn.Flatten(),
            nn.Linear(128, 24),
            nn.ReLU(),
            nn.Linear(24, 16),
            nn.ReLU(),
            nn.Linear(16, 5),
        ],
        "residual": [
            nn.Conv2d(2, 6, 3, padding=1),
            nn.ReLU(),
            Residual(body, nn.Sequential()),
            nn.ReLU(),
            nn.AvgPool2d(4),
            nn.Flatten(),
            nn.Linear(24, 5),
        ],
        "cp": [CPConv2d(2, 6, 3, 9, padding=1), nn.ReLU(), CPConv2d(6, 4, 3, 12), nn.Flatten(), CPLinear(144, 5, 30)],
    }
    return nn.Sequential(*parts[kind])


@pytest.mark.parametrize("options", [TensorOptions(), TensorOptions(share=1.0)], ids=str)
@pytest.mark.parametrize("kind", ["cnn", "fully connected", "residual", "cp"])
def test_outputs_of_random_networks_stay_within_eps(kind: str, options: TensorOptions) -> None:
    ratios, dropped = [], 0
    x = np.random.default_rng(5).standard_normal((20, 2, 8, 8)).astype(np.float32)
    samples = ArraySamples(x, np.arange(20) % 5, "noise", 5)
    for seed in range(4):
        torch.manual_seed(seed)
        module = random_network(kind).eval()
        properties = tensor_properties(module, samples, options)
        for eps in (0.3, 3.0, 30.0, 300.0, 3000.0):
            found = find_ranks(properties, eps=eps)
            if all(part.rank == part.components for part in found.layers):
                continue
            dropped += 1
            errors = relative_errors(module, project(copy.deepcopy(module), properties, found.ranks), samples)
            assert errors.max() <= eps
            ratios.append(errors.max() / eps)
    assert dropped >= 3
    assert statistics.median(ratios) > 1e-5, "a promise without content"


def test_decisions_of_a_trained_network_are_kept_beyond_the_margin() -> None:
    data = load_data("digits")
    torch.manual_seed(0)
    made = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
    x = torch.from_numpy(np.concatenate([inputs for inputs, _ in data.train.batches()]))
    y = torch.from_numpy(np.concatenate([labels for _, labels in data.train.batches()]))
    step = torch.optim.Adam(made.parameters(), lr=0.01)
    for _ in range(60):
        step.zero_grad()
        nn.functional.cross_entropy(made(x), y).backward()
        step.step()
    properties = tensor_properties(made, data)
    logits = made(x).detach().double()
    margins = logits.gather(1, y[:, None]).flatten() - logits.scatter(1, y[:, None], -math.inf).amax(dim=1)
    changed = []
    for share in (0.5, 1.0, 4.0, 16.0, 64.0):
        gamma = share * 2 * properties.output_norm
        found = find_ranks(properties, margin=gamma)
        other = project(copy.deepcopy(made), properties, found.ranks)(x.double()).detach()
        assert bool(((other - logits).norm(dim=1) <= gamma / 2).all())
        right = other.argmax(dim=1) == y
        assert bool(right[margins > gamma].all())
        changed.append(int((~right).sum()))
    assert changed[-1] > changed[0]  # something was dropped
