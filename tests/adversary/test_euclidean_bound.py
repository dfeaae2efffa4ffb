"""The rounding bound in the Euclidean norm: can any machine, or any error within its input's length, leave it?

The adversary chooses the worst direction for each operation (copies, overlapping windows, broadcast sums), the order of
every sum, and networks in which a constant that is a little too small would show: norms of layers, copies of entries,
numbers of roundings. Each bound is also nearly attained somewhere, so that a weaker one turns red.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from network.rounding_nets import NETS, make_inputs, make_net
from network.test_rounding_rules import CALLS, KERNEL
from torch import Tensor, nn
from torch.nn import functional

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples
from netpact.network import ToleranceRun, count_errors
from netpact.network.rounding.counting import Logits
from netpact.network.rounding.tolerance import Lengths, Spread, make_spread, rounding, value_of

Call = Callable[[Tensor], Tensor]


def follow(
    call: Call, x: Tensor, length: float, *, alone: bool = True, norms: dict[object, object] | None = None
) -> Spread:
    """The call on numbers of which nothing is known but how far each row may be off."""
    lengths = Lengths(alone=alone, norms={} if norms is None else norms)
    with torch.no_grad(), rounding("float64", lengths=lengths):
        start = make_spread(x.double().clone(), None, lengths_of_rows(x, length))
        found = call(start)
    assert isinstance(found, Spread)
    return found


def lengths_of_rows(x: Tensor, length: float) -> Tensor:
    """Every row has another one, so that a row that is taken for another shows."""
    return length * (1 + 9 * torch.arange(len(x), dtype=torch.float64))


def worst_change(call: Call, x: Tensor, length: float, steps: int = 30) -> Tensor:
    """What an error of that length in each row does to each row at most, by power iteration from several starts."""
    before = call(x.clone())
    best = torch.zeros(len(before), dtype=torch.float64)
    for seed in range(3):
        shift = torch.randn(x.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        for _ in range(steps):
            size = rows(shift).norm(dim=1).clamp(min=1e-300)
            shift = (
                (shift * (lengths_of_rows(x, length) * (1 - 1e-9) / size).view(-1, *(1,) * (x.dim() - 1)))
                .detach()
                .requires_grad_()
            )
            change = call(x + shift) - before
            best = torch.maximum(best, rows(change.detach()).norm(dim=1))
            if not change.requires_grad:
                break
            (shift,) = torch.autograd.grad(change.square().sum(), shift)
    return best


def rows(x: Tensor) -> Tensor:
    return x.reshape(len(x), -1)


MORE_CALLS: dict[str, list[tuple[tuple[int, ...], Call]]] = {
    "channels of images as rows": [((4, 4, 4, 4), lambda x: x.transpose(0, 1))],
    "rows that are halves": [((4, 6), lambda x: x.reshape(8, 3)[:4])],
    "rows mixed": [((4, 6), lambda x: x.flatten().roll(3).view(4, 6))],
    "one row for all": [((4, 6), lambda x: x + x[:1])],
    "wide sums": [((3, 2, 4, 4), lambda x: x + x.mean(dim=(2, 3), keepdim=True))],
    "a row and a vector": [((3, 3), lambda x: x + x[:, 0])],
    "reflected": [((3, 2, 4, 4), lambda x: functional.pad(x, (2, 2, 1, 1), mode="reflect"))],
    "replicated": [((3, 2, 4, 4), lambda x: functional.pad(x, (3, 0, 0, 2), mode="replicate"))],
    "wide padding": [((3, 2, 4, 4), lambda x: functional.conv2d(x, KERNEL.to(x.dtype), None, 1, 3))],
    "same padding": [((3, 2, 4, 4), lambda x: functional.conv2d(x, KERNEL.to(x.dtype), padding="same", dilation=2))],
    "dilated": [((3, 2, 6, 6), lambda x: functional.conv2d(x, KERNEL.to(x.dtype), None, 2, 2, 2))],
    "one image": [((2, 6, 6), lambda x: functional.conv2d(x, KERNEL.to(x.dtype)))],
    "three axes": [((3, 4, 5), lambda x: functional.linear(x, torch.arange(10.0, dtype=x.dtype).view(2, 5)))],
    "one vector": [((5,), lambda x: functional.linear(x, torch.arange(10.0, dtype=x.dtype).view(2, 5)))],
    "overlapping largest": [((2, 1, 5, 5), lambda x: functional.max_pool2d(x, 3, 1))],
    "overlapping means": [((2, 1, 5, 5), lambda x: functional.avg_pool2d(x, 3, 1, 1))],
    "rows stacked": [((2, 3), lambda x: torch.stack([x, x.flip(1)], dim=0))],
    "rows joined": [((2, 3), lambda x: torch.cat([x[1:], x[:1]]))],
    "over rows": [((4, 6), lambda x: x.mean(dim=0)), ((4, 4), lambda x: x.amax(dim=0))],
    "copies along the rows": [((2, 3), lambda x: x.repeat(3, 1)), ((1, 3), lambda x: x.expand(4, -1))],
}


@pytest.mark.parametrize("name", [*CALLS, *MORE_CALLS])
def test_no_error_within_the_length_leaves_the_length(name: str) -> None:
    for index, (shape, call) in enumerate({**CALLS, **MORE_CALLS}[name]):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(index), dtype=torch.float64)
        for length in (1e-3, 10.0):
            for alone in (False, True):
                found = follow(call, x, length, alone=alone)
                bound = found.length
                assert bound is not None
                assert bool((worst_change(call, x, length, steps=8) <= bound).all()), (name, length)


# Where the constant is the best possible: an error that nearly needs it exists.
TIGHT: dict[str, tuple[tuple[int, ...], Call, float]] = {
    "linear": (*CALLS["linear"][0], 0.999),
    "conv2d": ((1, 2, 32, 32), lambda x: functional.conv2d(x, KERNEL.to(x.dtype), None, 1, 1), 0.9),
    "stride": ((1, 2, 48, 48), lambda x: functional.conv2d(x, KERNEL.to(x.dtype), None, 2), 0.9),
    "groups": ((1, 2, 32, 32), lambda x: functional.conv2d(x, KERNEL[:2, :1].to(x.dtype), None, 1, 1, 1, 2), 0.9),
    "batch_norm": (*CALLS["batch_norm"][0], 0.999),
    "expand": (*CALLS["expand"][0], 0.5),
    "repeat": (*CALLS["repeat"][0], 0.999),
    "interpolate": (*CALLS["interpolate"][1], 0.999),
    "reflected": (*MORE_CALLS["reflected"][0], 0.999),
    "replicated": (*MORE_CALLS["replicated"][0], 0.999),
    "circular": (*CALLS["pad"][1], 0.999),
    "sums": (*MORE_CALLS["wide sums"][0], 0.99),
    "twice": ((2, 6), lambda x: x + x, 0.999),
    "joined": ((2, 6), lambda x: torch.cat([x, x, 2 * x], dim=1), 0.999),
    "stacked": ((2, 6), lambda x: torch.stack([x, x.flip(1)], dim=1), 0.999),
    "mean": (*CALLS["mean"][0], 0.999),
    "sum": (*CALLS["sum"][0], 0.999),
    "overlapping means": (*MORE_CALLS["overlapping means"][0], 0.99),
    "times": ((2, 6), lambda x: -2.7 * x, 0.999),
    "leaky": ((2, 6), lambda x: functional.leaky_relu(x, -1.7), 0.5),
    "relu": ((2, 6), lambda x: functional.relu(x + 9), 0.999),
}


@pytest.mark.parametrize("name", TIGHT)
def test_the_length_is_nearly_attained(name: str) -> None:
    shape, call, least = TIGHT[name]
    x = torch.randn(shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    bound = follow(call, x, 1e-3).length
    assert bound is not None
    assert float((worst_change(call, x, 1e-3) / bound).max()) > least


def test_an_entry_in_many_windows_is_the_largest_of_all() -> None:
    """3 x 3 with stride 1: nine windows see the entry in the middle."""
    x = torch.zeros(1, 1, 5, 5, dtype=torch.float64)
    bound = follow(lambda image: functional.max_pool2d(image, 3, 1), x, 1.0).length
    x[0, 0, 2, 2] = 1.0
    attained = float(functional.max_pool2d(x, 3, 1).norm())
    assert attained == 3.0
    assert bound is not None
    assert 3.0 <= float(bound) < 3.0001


def norm_behind_a_layer(between: Call) -> tuple[nn.Module, Call]:
    torch.manual_seed(0)
    layer, norm = nn.Conv2d(2, 3, 3, padding=1, bias=False).double(), nn.BatchNorm2d(3).double().eval()
    with torch.no_grad():
        layer.weight[0] *= 100
        norm.weight.copy_(torch.tensor([0.01, 1.0, 2.0]))
    return layer.requires_grad_(False), lambda x: norm.requires_grad_(False)(between(layer(x)))


def test_batch_norm_behind_a_layer_has_the_norm_of_both() -> None:
    """The channel with the large weights is the one that is scaled down: the product of both norms is far too much."""
    x = torch.randn(1, 2, 16, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    _, call = norm_behind_a_layer(lambda y: y)
    bound = follow(call, x, 1e-3).length
    assert bound is not None
    assert 0.8 < float(worst_change(call, x, 1e-3) / bound) <= 1


@pytest.mark.parametrize(
    "between",
    [
        lambda y: functional.relu_(y),
        lambda y: (functional.relu_(y.view(1, 3, -1)), y)[1],
        lambda y: functional.hardtanh(y, 1, 2, inplace=True),
        lambda y: y.roll(1, dims=1),
        lambda y: 3 * y,
    ],
)
def test_what_was_changed_between_layer_and_norm_is_not_taken_for_the_layer(between: Call) -> None:
    x = torch.randn(1, 2, 8, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    _, call = norm_behind_a_layer(between)
    bound = follow(call, x, 1.0).length
    assert bound is not None
    assert float(worst_change(lambda y: call(y.clone()), x, 1.0)) <= float(bound)


class Raised(nn.Module):
    """Between layer and norm a view is cut off below at a large number, in place: the layer's outputs become large."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.norm = nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3)
        self.norm.weight.data.uniform_(0.3, 0.7)
        self.requires_grad_(False).eval()

    def forward(self, x: Tensor) -> Tensor:
        y = self.layer(x)
        functional.hardtanh(y.view(len(y), -1), 2**20 + 1, 2**21, inplace=True)
        return self.norm(y).flatten(1)


@pytest.mark.parametrize("alone", [False, True])
def test_outputs_that_are_made_large_in_place_are_large(alone: bool) -> None:
    module, inputs = Raised(), np.random.default_rng(0).random((2, 2, 4, 4)).astype(np.float32)
    with torch.no_grad():
        logits = ToleranceRun(module, "float32")._follow(torch.from_numpy(inputs), Lengths(alone=alone))
        found = module(torch.from_numpy(inputs)).double()
    assert bool(((found - logits.values).abs() <= logits.spread).all())


def parallel_sum(terms: int) -> tuple[np.ndarray, np.ndarray, np.float32]:
    """Weights and inputs (1, t, t, ...) with t^2 = u: each sum 1 + u is rounded to 1, from left to right.

    The vectors are parallel, so that the product of their norms is the sum of the magnitudes.
    """
    line = np.full(terms, 2.0**-12, dtype=np.float32)
    line[0] = 1.0
    total = np.float32(0)
    for product in line * line:
        total = np.float32(total + product)
    return line, line[None], total


def quick(module: nn.Module, inputs: np.ndarray, arithmetic: str = "float32") -> Logits:
    """Lengths alone, and nothing entry by entry."""
    run = ToleranceRun(module, arithmetic)
    with torch.no_grad():
        return run._follow(torch.from_numpy(inputs), Lengths(alone=True))


@pytest.mark.parametrize("conv", [False, True])
def test_the_rounding_of_a_layer_is_nearly_attained(conv: bool) -> None:
    weight, inputs, machine = parallel_sum(200)
    layer = nn.Conv2d(200, 1, 1, bias=False) if conv else nn.Linear(200, 1, bias=False)
    layer.weight.data.copy_(torch.from_numpy(weight).view(layer.weight.shape))
    module = nn.Sequential(nn.Unflatten(1, (200, 1, 1)), layer, nn.Flatten()) if conv else layer
    logits = quick(module, inputs)
    assert 0.9 < abs(float(machine) - float(logits.values)) / float(logits.spread) <= 1


@pytest.mark.parametrize("conv", [False, True])
def test_the_rounding_of_a_bias_counts_in_every_place(conv: bool) -> None:
    """1 + 1.5 * 2^-25 is 1 in float32, in 256 places at once."""
    weight, bias = torch.full((1, 1), 1.5 * 2.0**-25, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    x = torch.ones((1, 1, 16, 16) if conv else (1, 256, 1), dtype=torch.float64)
    with torch.no_grad(), rounding("float32", lengths=Lengths(alone=True)):
        start = make_spread(x, None, torch.zeros(1, dtype=torch.float64))
        found = (
            functional.conv2d(start, weight[..., None, None], bias) if conv else functional.linear(start, weight, bias)
        )
    assert isinstance(found, Spread)
    assert found.length is not None
    lost = float((value_of(found) - 1).norm())
    assert 0.3 < lost / float(found.length) <= 1


class Wild(nn.Module):
    """Strides, groups, skips, norms, pools, joins; weights of very different sizes."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.first = nn.Conv2d(3, 8, 3, stride=1 + seed % 2, padding=1)
        self.grouped = nn.Conv2d(8, 8, 3, padding=1, groups=4, bias=False)
        self.norm, self.last = nn.BatchNorm2d(8), nn.BatchNorm2d(16)
        self.wide = nn.Conv2d(8, 16, 2 + seed % 3, padding=seed % 2, padding_mode="reflect" if seed % 3 else "zeros")
        self.head = nn.Linear(32, 4)
        sizes = 10.0 ** torch.linspace(-2, 2, 8)[torch.randperm(8)]
        with torch.no_grad():
            for parameter in self.first.parameters():
                parameter.mul_(sizes.view(-1, *(1,) * (parameter.dim() - 1)))
            for norm in (self.norm, self.last):
                assert norm.running_var is not None
                assert norm.running_mean is not None
                nn.init.uniform_(norm.weight, -2, 2)
                norm.running_var.copy_(10.0 ** torch.empty(norm.num_features).uniform_(-5, 2))
                nn.init.normal_(norm.running_mean)
        self.requires_grad_(False).eval()

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.first(x))
        x = x + self.norm(self.grouped(x))
        x = torch.cat([functional.max_pool2d(x, 3, 1, 1), functional.avg_pool2d(x, 3, 1, 1)], dim=1)
        left, right = x.chunk(2, dim=1)
        x = self.last(self.wide(left - right))
        return self.head(torch.cat([x.mean(dim=(2, 3)), x.amax(dim=(2, 3))], dim=1))


def in_another_order(module: Wild, seed: int) -> Wild:
    """The same network with its four groups of channels in another order, and with them the terms of every sum."""
    groups = torch.randperm(4, generator=torch.Generator().manual_seed(seed))
    order = (2 * groups[:, None] + torch.arange(2)).flatten()
    found = copy.deepcopy(module)
    for part in (found.first, found.grouped, found.norm):
        for tensor in (*part.parameters(), *part.buffers()):
            if tensor.dim():
                tensor.data = tensor.data[order]
    found.wide.weight.data = module.wide.weight[:, order]
    return found


@pytest.mark.parametrize("arithmetic", ["float32", "float64"])
def test_runs_in_many_orders_lie_within_the_lengths(arithmetic: str) -> None:
    dtype, ratios = getattr(torch, arithmetic), []
    for seed in range(8):
        module = Wild(seed)
        inputs = np.random.default_rng(seed).standard_normal((5, 3, 9, 9)).astype(np.float32)
        logits = quick(module, inputs, arithmetic)
        assert bool(torch.isfinite(logits.spread).all())
        x = torch.from_numpy(inputs).to(dtype)
        for turn in range(4):
            other = in_another_order(module, turn).to(dtype)
            found = torch.cat([other(part) for part in x.split(1 + turn)]).double()
            ratios.append(float(((found - logits.values).abs() / logits.spread).max()))
    assert max(ratios) <= 1
    assert 1e-7 < np.median(ratios) < 1, np.median(ratios)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e6])
@pytest.mark.parametrize("name", NETS)
@torch.no_grad()
def test_every_operation_in_a_network(name: str, scale: float) -> None:
    module, inputs = make_net(name), make_inputs(name, scale=scale)
    logits = quick(module, inputs)
    for size in (1, 16):
        found = torch.cat([module(part.clone()) for part in torch.from_numpy(inputs).split(size)]).double()
        within = (found - logits.values).abs() <= logits.spread
        assert bool((within | torch.isinf(logits.spread)).all())


def test_a_near_tie_that_another_order_flips_is_an_error() -> None:
    """Class 0 wins by half of the bound in real numbers, and loses from left to right in float32."""
    weight, inputs, machine = parallel_sum(200)
    layer = nn.Linear(200, 2)
    exact = float((weight.astype(np.float64) ** 2).sum())
    rival = np.float32((exact + float(machine)) / 2)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(np.stack([weight, np.zeros_like(weight)])))
        layer.bias.copy_(torch.tensor([0.0, float(rival)]))
    assert float(machine) < float(rival) < exact
    samples = ArraySamples(inputs, np.array([0]), "one", 2)
    assert count_errors(layer, samples, arithmetic="float32").near_ties == 1
    assert count_errors(layer, samples, arithmetic="float64").errors == 0


def test_deep_networks_keep_a_bound_in_float64() -> None:
    """Thirty layers whose rows have an absolute sum of 5.6 and an operator norm of 1: 5.6^30 against 1."""
    torch.manual_seed(0)
    layers = [nn.utils.parametrizations.orthogonal(nn.Linear(32, 32, bias=False)) for _ in range(30)]
    module = nn.Sequential(*(layer for part in layers for layer in (part, nn.ReLU())), nn.Linear(32, 3))
    for layer in layers:
        nn.utils.parametrize.remove_parametrizations(layer, "weight")
    inputs = np.random.default_rng(0).random((4, 32)).astype(np.float32)
    assert float(quick(module, inputs, "float64").spread.max()) < 1e-11
    with torch.no_grad(), rounding("float64"):
        by_entries = module.double()(make_spread(torch.from_numpy(inputs).double(), torch.zeros(4, 32).double()))
    assert float(by_entries.spread.min()) > 1e-3


def test_units_that_are_surely_off_have_no_spread() -> None:
    x = torch.tensor([[-1.0, -1e-3, 0.0, 2.0]], dtype=torch.float64)
    with rounding("float64", lengths=Lengths(alone=False)):
        found = functional.relu(make_spread(x, torch.full((1, 4), 1e-2).double(), torch.tensor([0.02]).double()))
    assert isinstance(found, Spread)
    spreads = found.spread.flatten().tolist()
    assert spreads[0] == 0
    assert spreads[1] == pytest.approx(9e-3)
    assert spreads[2] == spreads[3] == pytest.approx(1e-2)


def test_weights_that_are_computed_anew_are_never_taken_for_others() -> None:
    """Norms are known by the tensor that they belong to; one that is made in every run has no name of its own."""

    class Doubling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight, self.turn = nn.Parameter(torch.eye(2)), 0

        def forward(self, x: Tensor) -> Tensor:
            for step in range(6):
                x = functional.linear(x, self.weight * 2.0**step)
            return x

    module, inputs = Doubling(), np.ones((2, 2), dtype=np.float32)
    logits = ToleranceRun(module, "float32")(inputs)
    assert float(logits.spread.min()) >= 2.0**15 * 2.0**-24
    assert value_of(logits.values).flatten().tolist() == [2.0**15] * 4


def test_a_norm_of_changed_weights_is_computed_again() -> None:
    weight = torch.eye(3, dtype=torch.float64)
    norms: dict[object, object] = {}
    found = []
    for _ in range(2):
        length = follow(lambda x: functional.linear(x, weight), torch.ones(1, 3), 1.0, norms=norms).length
        assert length is not None
        found.append(float(length))
        weight.mul_(5)
    assert found[0] < 1.01
    assert found[1] > 4.99


def test_a_network_that_counts_on_its_company_is_refused_by_the_quick_way_too() -> None:
    class Company(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x - x.mean(dim=0, keepdim=True)

    inputs = np.random.default_rng(0).random((6, 3)).astype(np.float32)
    with pytest.raises(PactError, match="depend on the other samples"):
        ToleranceRun(Company(), "float32").decide(inputs)
