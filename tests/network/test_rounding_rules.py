"""Each rule by itself: what an operation does to inputs within their spread stays within the spread it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from network.rounding_nets import run_with_spread
from network.sample_calls import CALLS as MORE_CALLS
from torch import Tensor, nn
from torch.nn import functional

from netpact.core.errors import PactError
from netpact.layers import Preprocess
from netpact.network.rounding import rules as rounding_rules
from netpact.network.rounding.tolerance import make_spread, rounding, spread_of, value_of

WEIGHT, BIAS = torch.randn(3, 6, generator=torch.Generator().manual_seed(0)), torch.tensor([0.5, -2, 1])
KERNEL = torch.randn(3, 2, 2, 2, generator=torch.Generator().manual_seed(1))
MEAN, VARIANCE = torch.tensor([0.3, -1.5]), torch.tensor([0.02, 4.0])

Call = Callable[[Tensor], Tensor]
VECTOR, IMAGE = (4, 6), (3, 2, 4, 4)
LINE, SOLID = (3, 2, 5), (3, 2, 3, 4, 3)


def typed(constant: Tensor, like: Tensor) -> Tensor:
    return constant.to(like.dtype)


CALLS: dict[str, list[tuple[tuple[int, ...], Call]]] = {
    "linear": [(VECTOR, lambda x: functional.linear(x, typed(WEIGHT, x), typed(BIAS, x)))],
    "conv2d": [
        (IMAGE, lambda x: functional.conv2d(x, typed(KERNEL, x), typed(BIAS, x), stride=2, padding=1)),
        (IMAGE, lambda x: functional.conv2d(x, typed(KERNEL[:2, :1], x), None, 1, 0, 1, 2)),
    ],
    "conv1d": [(LINE, lambda x: functional.conv1d(x, typed(KERNEL[:, :, 0], x), typed(BIAS, x), 2, 1))],
    "conv3d": [(SOLID, lambda x: functional.conv3d(x, typed(KERNEL[..., None], x), typed(BIAS, x), padding=1))],
    "conv_transpose1d": [
        (LINE, lambda x: functional.conv_transpose1d(x, typed(KERNEL[:2, :, 0], x), stride=2)),
        (LINE, lambda x: functional.conv_transpose1d(x, typed(KERNEL[:2, :, 0], x), None, 1, 0, 0, 2)),
    ],
    "conv_transpose2d": [
        (IMAGE, lambda x: functional.conv_transpose2d(x, typed(KERNEL[:2], x), typed(BIAS[:2], x), 2, 1, 1)),
        (IMAGE, lambda x: functional.conv_transpose2d(x, typed(KERNEL[:2], x), groups=2, dilation=2)),
    ],
    "conv_transpose3d": [(SOLID, lambda x: functional.conv_transpose3d(x, typed(KERNEL[:2, ..., None], x)))],
    "avg_pool3d": [(SOLID, lambda x: functional.avg_pool3d(x, 2, 1))],
    "adaptive_avg_pool1d": [(LINE, lambda x: functional.adaptive_avg_pool1d(x, 3))],
    "adaptive_avg_pool3d": [(SOLID, lambda x: functional.adaptive_avg_pool3d(x, (2, 1, 2)))],
    "avg_pool2d": [
        (IMAGE, lambda x: functional.avg_pool2d(x, 3, 1, 1)),
        (IMAGE, lambda x: functional.avg_pool2d(x, 2, divisor_override=-3)),
    ],
    "adaptive_avg_pool2d": [(IMAGE, lambda x: functional.adaptive_avg_pool2d(x, 3))],
    "mean": [(IMAGE, lambda x: x.mean(dim=(2, 3))), (IMAGE, lambda x: x.permute(1, 2, 3, 0).mean(2, keepdim=True))],
    "avg_pool1d": [(IMAGE[:3], lambda x: functional.avg_pool1d(x, 3, 1, 1))],
    "sum": [(IMAGE, lambda x: x.sum(dim=(1, 3))), (IMAGE, lambda x: torch.sum(x, 1, keepdim=True))],
    "amax": [(IMAGE, lambda x: x.amax(dim=(2, 3))), (IMAGE, lambda x: torch.amax(x, 1, keepdim=True))],
    "amin": [(IMAGE, lambda x: x.amin(dim=(2, 3)))],
    "add": [(VECTOR, lambda x: torch.add(x, x.flatten(1))), (VECTOR, lambda x: torch.add(x, typed(WEIGHT[:1], x)))],
    "add_": [(VECTOR, lambda x: x.clone().add_(x))],
    "__add__": [(VECTOR, lambda x: x + 0.1), (VECTOR, lambda x: x.__add__(x))],
    "__radd__": [(VECTOR, lambda x: 0.1 + x)],
    "__iadd__": [(VECTOR, lambda x: x.clone().__iadd__(x))],
    "relu": [(VECTOR, lambda x: functional.relu(x)), (VECTOR, lambda x: functional.relu(x.clone(), inplace=True))],
    "relu_": [(VECTOR, lambda x: functional.relu_(x.clone())), (VECTOR, lambda x: x.clone().relu_())],
    "relu6": [(VECTOR, lambda x: functional.relu6(x))],
    "abs": [(VECTOR, abs), (VECTOR, torch.abs)],
    "neg": [(VECTOR, lambda x: -x), (VECTOR, torch.neg)],
    "clamp": [
        (VECTOR, lambda x: x.clamp(-0.1, 0.7)),
        (VECTOR, lambda x: torch.clamp(x, max=0.3)),
        (VECTOR, lambda x: x.clamp(min=0)),
    ],
    "clip": [(VECTOR, lambda x: x.clip(0.1, 2))],
    "clamp_min": [(VECTOR, lambda x: x.clamp_min(0.1))],
    "clamp_max": [(VECTOR, lambda x: x.clamp_max(0.1))],
    "mul": [(VECTOR, lambda x: x * 0.1), (VECTOR, lambda x: torch.mul(x, -3))],
    "mul_": [(VECTOR, lambda x: x.clone().mul_(0.3))],
    "__mul__": [(VECTOR, lambda x: x.__mul__(1e-30))],
    "__rmul__": [(VECTOR, lambda x: -2.7 * x)],
    "__imul__": [(VECTOR, lambda x: x.clone().__imul__(1e4))],
    "div": [(VECTOR, lambda x: x / 3), (VECTOR, lambda x: torch.div(x, -0.7))],
    "div_": [(VECTOR, lambda x: x.clone().div_(7))],
    "__truediv__": [(VECTOR, lambda x: x.__truediv__(0.3))],
    "__itruediv__": [(VECTOR, lambda x: x.clone().__itruediv__(0.3))],
    "sub": [(VECTOR, lambda x: x - x.flip(1)), (VECTOR, lambda x: torch.sub(x, 0.1))],
    "sub_": [(VECTOR, lambda x: x.clone().sub_(x))],
    "__sub__": [(VECTOR, lambda x: x.__sub__(0.1))],
    "__isub__": [(VECTOR, lambda x: x.clone().__isub__(0.1))],
    "rsub": [(VECTOR, lambda x: torch.rsub(x, 0.1))],
    "__rsub__": [(VECTOR, lambda x: 0.1 - x)],
    "hardtanh": [
        (VECTOR, lambda x: functional.hardtanh(x, -1, 2)),
        (VECTOR, lambda x: functional.hardtanh(x, -0.1, 0.7)),
        (VECTOR, lambda x: nn.ReLU6(inplace=True)(x.clone())),
    ],
    "leaky_relu": [
        (VECTOR, lambda x: functional.leaky_relu(x, 0.3)),
        (VECTOR, lambda x: nn.LeakyReLU(0.7, inplace=True)(x.clone())),
        (VECTOR, lambda x: functional.leaky_relu(x, -1.7)),
    ],
    "tanh": [(VECTOR, lambda x: torch.tanh(x))],
    "sigmoid": [(VECTOR, lambda x: torch.sigmoid(x))],
    "silu": [(VECTOR, nn.SiLU()), (VECTOR, lambda x: nn.SiLU(inplace=True)(x.clone()))],
    "gelu": [(VECTOR, nn.GELU()), (VECTOR, nn.GELU(approximate="tanh"))],
    "elu": [(VECTOR, nn.ELU()), (VECTOR, nn.ELU(2.3)), (VECTOR, lambda x: nn.ELU(0.2, inplace=True)(x.clone()))],
    "softplus": [(VECTOR, nn.Softplus()), (VECTOR, nn.Softplus(0.3, 4)), (VECTOR, nn.Softplus(8, 0))],
    "hardsigmoid": [(VECTOR, nn.Hardsigmoid()), (VECTOR, lambda x: nn.Hardsigmoid(inplace=True)(x.clone()))],
    "hardswish": [(VECTOR, nn.Hardswish()), (VECTOR, lambda x: nn.Hardswish(inplace=True)(x.clone()))],
    "batch_norm": [
        (
            IMAGE,
            lambda x: functional.batch_norm(
                x, typed(MEAN, x), typed(VARIANCE, x), typed(BIAS[:2], x), typed(BIAS[1:], x), eps=1e-5
            ),
        ),
        (IMAGE, lambda x: functional.batch_norm(x, typed(MEAN, x), typed(VARIANCE, x))),
    ],
    "flatten": [(IMAGE, lambda x: x.flatten(1))],
    "view": [(IMAGE, lambda x: x.view(3, -1))],
    "reshape": [(IMAGE, lambda x: x.reshape(x.shape[0], -1))],
    "permute": [(IMAGE, lambda x: x.permute(0, 2, 3, 1))],
    "transpose": [(IMAGE, lambda x: x.transpose(1, 2))],
    "squeeze": [(IMAGE, lambda x: x.unsqueeze(1).squeeze(1))],
    "unsqueeze": [(IMAGE, lambda x: x.unsqueeze(1))],
    "contiguous": [(IMAGE, lambda x: x.permute(0, 2, 3, 1).contiguous())],
    "clone": [(IMAGE, lambda x: x.clone())],
    "detach": [(IMAGE, lambda x: x.detach())],
    "pad": [
        (IMAGE, lambda x: functional.pad(x, (1, 2, 0, 1))),
        (IMAGE, lambda x: functional.pad(x, (1, 1, 1, 1), mode="circular")),
    ],
    "cat": [(IMAGE, lambda x: torch.cat([x, torch.ones_like(value_of(x)), x], dim=1))],
    "chunk": [(IMAGE, lambda x: x.chunk(2, dim=1)[1])],
    "split": [(IMAGE, lambda x: x.split(1, dim=1)[1])],
    "__getitem__": [(IMAGE, lambda x: x[:, :, 1:, ::2])],
    "max_pool2d": [(IMAGE, lambda x: functional.max_pool2d(x, 3, 2, 1))],
    "max_pool1d": [(IMAGE[:3], lambda x: functional.max_pool1d(x, 3, 1, 1))],
    "max_pool3d": [(SOLID, lambda x: functional.max_pool3d(x, 2, 1))],
    "adaptive_max_pool1d": [(LINE, lambda x: functional.adaptive_max_pool1d(x, 3))],
    "adaptive_max_pool3d": [(SOLID, lambda x: functional.adaptive_max_pool3d(x, 2))],
    "adaptive_max_pool2d": [(IMAGE, lambda x: functional.adaptive_max_pool2d(x, (3, 1)))],
    "unflatten": [(IMAGE, nn.Unflatten(1, (2, 1)))],
    "swapaxes": [(IMAGE, lambda x: x.swapaxes(1, 3))],
    "movedim": [(IMAGE, lambda x: torch.movedim(x, 1, 3))],
    "expand": [(IMAGE, lambda x: x[:, :1].expand(-1, 5, -1, -1))],
    "repeat": [(IMAGE, lambda x: x.repeat(1, 3, 1, 2))],
    "roll": [(IMAGE, lambda x: x.roll(1, dims=2))],
    "flip": [(IMAGE, lambda x: x.flip(1, 3))],
    "interpolate": [(IMAGE, nn.Upsample(scale_factor=2)), (IMAGE, nn.UpsamplingNearest2d(scale_factor=4))],
    "preprocess": [
        (IMAGE, Preprocess(size=8, mean=(0.4, -0.2), std=(0.3, 2.0))),
        (IMAGE, Preprocess(size=(3, 7), mean=(0.4, 0.1), std=(0.3, 0.2))),
        (IMAGE, Preprocess(mean=(0.5,), std=(0.25,))),
        ((3, 1, 4, 4), Preprocess(size=(2, 5), mean=(0.4, 0.1, 0.0), std=(0.3, 0.2, 1.0))),
    ],
    "unbind": [(IMAGE, lambda x: x.unbind(1)[1])],
    "narrow": [(IMAGE, lambda x: x.narrow(2, 1, 2))],
    "select": [(IMAGE, lambda x: x.select(1, 1))],
    "pixel_shuffle": [((3, 4, 2, 2), nn.PixelShuffle(2))],
    "pixel_unshuffle": [(IMAGE, nn.PixelUnshuffle(2))],
    "channel_shuffle": [((3, 4, 2, 2), nn.ChannelShuffle(2))],
    "stack": [(IMAGE, lambda x: torch.stack([x, x.flip(1)], dim=1))],
    "dropout": [(IMAGE, lambda x: functional.dropout(x, 0.5, training=False))],
    "dropout1d": [(LINE, lambda x: functional.dropout1d(x, 0.5, training=False))],
    "dropout3d": [(SOLID, lambda x: functional.dropout3d(x, 0.5, training=False))],
    "alpha_dropout": [(IMAGE, lambda x: functional.alpha_dropout(x, 0.5, training=False))],
    "feature_alpha_dropout": [(IMAGE, lambda x: functional.feature_alpha_dropout(x, 0.5, training=False))],
    "dropout2d": [(IMAGE, lambda x: functional.dropout2d(x, 0.5, training=False))],
}


for _name, _calls in MORE_CALLS.items():
    CALLS[_name] = [*CALLS.get(_name, []), *_calls]


def test_every_rule_is_searched() -> None:
    # The stems take nothing but whole samples, and have tests of their own.
    assert {*CALLS, "orient", "contour", "sobel"} == {*rounding_rules._RULES, *rounding_rules._SAME_FOR_BOTH}


def used_names(call: Call, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    seen = set()
    apply = rounding_rules.apply_rule

    def note(func: Callable[..., object], *rest: Any) -> object:
        seen.add(func.__name__)
        return apply(func, *rest)

    monkeypatch.setattr(rounding_rules, "apply_rule", note)
    x = torch.ones(shape, dtype=torch.float64)
    with rounding("float32"):
        call(make_spread(x, torch.zeros_like(x)))
    return seen


@pytest.mark.parametrize("name", CALLS)
def test_the_search_reaches_the_rule(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Which of its names torch gives an operator written as a sign differs between versions.
    written = name.strip("_").removeprefix("true")
    as_sign = {written, written[1:], f"{written[1:]}_", f"{written.removeprefix('itrue')}_"}
    names = {name} | (as_sign if name.startswith("__") else set())
    assert any(names & used_names(call, shape, monkeypatch) for shape, call in CALLS[name])


@pytest.mark.parametrize("name", CALLS)
@torch.no_grad()
def test_inputs_within_their_spread_give_outputs_within_theirs(name: str) -> None:
    """Float32 results of float32 inputs that differ by up to the spread, and float64 results of the same inputs."""
    generator = torch.Generator().manual_seed(len(name))
    for shape, call in CALLS[name]:
        for magnitude in (1e-3, 1.0, 100.0):
            x = torch.randn(shape, generator=generator, dtype=torch.float64) * magnitude
            x.flatten()[::3] *= 1e-4  # near the corners of ReLU and its like
            spread = torch.rand(shape, generator=generator, dtype=torch.float64) * magnitude * 1e-3
            with rounding("float32"):
                result = call(make_spread(x.clone(), spread.clone()))
            allowed = spread_of(result)
            for _ in range(20):
                sign = torch.randint(-1, 2, shape, generator=generator)
                other = (x + sign * spread * (1 - 1e-6)).float()
                # Rounding the input to float32 moves it too; what counts is that it stays within the spread.
                other = torch.where((other.double() - x).abs() <= spread, other, x.float())
                inside = (other.double() - x).abs() <= spread
                other = torch.where(inside, other.double(), x)
                for machine in (call(other.clone()), call(other.float().clone()) if bool(inside.all()) else None):
                    if machine is not None:
                        assert bool(((machine.double() - value_of(result)).abs() <= allowed).all())


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + 0.1,
        lambda x: 0.1 - x - x - x,
        lambda x: x.clamp(max=-0.1),
        lambda x: x.clamp_min(0.1),
        lambda x: functional.hardtanh(x, 0.1, 0.7),
        lambda x: (x - 1) * 0.1,
        lambda x: (x - 1) / 0.7,
        lambda x: functional.leaky_relu(x - 1, 0.1),
        lambda x: functional.elu(x - 9, 0.1),
    ],
)
def test_a_number_in_the_program_is_rounded_too(call: Call) -> None:
    """0.1 is another number in float32, and -0.1 + 0.1 leaves nothing but that difference."""
    x = torch.tensor([[-0.1, 0.0]], dtype=torch.float32)
    with rounding("float32"):
        result = call(make_spread(x.double(), torch.zeros(1, 2, dtype=torch.float64)))
    apart = (call(x).double() - value_of(result)).abs()
    assert bool((apart > 0).any())
    assert bool((apart <= spread_of(result)).all())


def test_a_mean_counts_all_its_terms() -> None:
    """The first axis may be anything after a permutation: the number of terms is not read off it."""
    x = make_spread(torch.ones(1000, 1, dtype=torch.float64), torch.zeros(1000, 1, dtype=torch.float64))
    with rounding("float32"):
        assert float(spread_of(x.mean(0))) >= 1000 * 2.0**-24


REFUSED: dict[str, Call] = {
    "mul by inf": lambda x: x * float("inf"),
    "div by 0": lambda x: x / 0,
    "div by 1e-40": lambda x: x / 1e-40,
    "div with rounding_mode floor": lambda x: torch.div(x, 2, rounding_mode="floor"),
    "max": lambda x: x.max(dim=1, keepdim=True)[0],
    "clamp by a tensor of constants": lambda x: x.clamp(min=torch.zeros(4, dtype=x.dtype)),
    "hardtanh in place": lambda x: nn.Hardtanh(-0.1, 0.1, inplace=True)(x),
    "interpolate in this form": lambda x: functional.interpolate(x[:, None], scale_factor=3),
    "max_pool1d_with_indices": lambda x: functional.max_pool1d(x[:, None], 2, return_indices=True)[0],
    "elu with alpha -1.0": lambda x: functional.elu(x, -1.0),
    "softplus with beta -2": lambda x: functional.softplus(x, -2),
    "softplus with threshold 90": lambda x: functional.softplus(x, 1, 90),
    "softmax with dtype": lambda x: x + functional.softmax(x, dim=1, dtype=torch.float32),
    "pow to the power 1.5": lambda x: x.abs() ** 1.5,
    "pow by a tensor that depends on the input": lambda x: x.abs() ** functional.relu(x),
    "rms_norm without eps": lambda x: functional.rms_norm(x, (4,)),
    "layer_norm over the samples' axis": lambda x: functional.layer_norm(x, tuple(x.shape)),
    "layer_norm with eps 0.0": lambda x: functional.layer_norm(x, (4,), eps=0.0),
    "einsum of other than two tensors": lambda x: torch.einsum("bi,bi,bi->b", x, x, x)[:, None] + x,
    "einsum with a letter twice": lambda x: torch.einsum("bii,bj->bj", x[:, :, None] * x[:, None], x),
    "long to integers": lambda x: (x + 0.5).long() + x,
    "gt": lambda x: x * (x > 0.5).to(x.dtype),
    "hardshrink": lambda x: functional.hardshrink(x),
    "T": lambda x: functional.relu(x) + functional.relu(x).T.T,
    "data": lambda x: x + x.data,
    "view in this form": lambda x: x.view(torch.int64).view(torch.float64),
    "dropout in this form": lambda x: functional.dropout(x, 0.5, training=True),
    "pad in this form": lambda x: functional.pad(x, (1, 1), value=2.0),
    "linear by a tensor that depends on the input": lambda x: functional.linear(x, functional.relu(x)),
    "mean with dtype": lambda x: x + x.mean(1, keepdim=True, dtype=torch.float32),
    "add with alpha": lambda x: torch.add(x, x, alpha=2),
    "leaky_relu by inf": lambda x: functional.leaky_relu(x, float("inf")),
    "batch_norm in training mode": lambda x: functional.batch_norm(x.repeat(2, 1), None, None, training=True),
    "numpy": lambda x: torch.from_numpy(x.numpy()),
}


class Calls(nn.Module):
    def __init__(self, call: Call) -> None:
        super().__init__()
        self.call = call

    def forward(self, x: Tensor) -> Tensor:
        return self.call(x)


@pytest.mark.parametrize("name", REFUSED)
def test_operations_without_a_rule_are_named(name: str) -> None:
    with pytest.raises(PactError) as raised:
        run_with_spread(Calls(REFUSED[name]), np.eye(4, dtype=np.float32))
    assert f"no rounding bound is known for the operation {name}" in str(raised.value)
    assert "as-run" in raised.value.hint


def test_entries_picked_by_a_tensor_keep_their_own_spread() -> None:
    """A tensor of places is the same for values and spreads, also where it is a buffer of the network."""
    spread = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
    with rounding("float32"):
        x = make_spread(torch.zeros(1, 3, dtype=torch.float64), spread)
        assert torch.equal(spread_of(x[:, torch.tensor([2, 1])]), torch.tensor([[3.0, 2.0]], dtype=torch.float64))
        assert torch.equal(spread_of(x.index_select(1, torch.tensor([1]))), spread[:, 1:2])


def test_names_for_people_are_those_that_can_be_called() -> None:
    listed = rounding_rules.supported_operations()
    assert listed == sorted(listed)
    assert "__add__" not in listed
    assert "relu_" not in listed


class Listed(list[Tensor]):
    """A list of a kind of its own, which torch takes as well."""


def test_tensors_in_a_list_of_another_kind_keep_their_spread() -> None:
    x = make_spread(torch.ones(2, 3, dtype=torch.float64), torch.full((2, 3), 0.25, dtype=torch.float64))
    with rounding("float32"):
        joined = torch.cat(Listed([x, x]), dim=1)
    assert torch.equal(spread_of(joined), torch.full((2, 6), 0.25, dtype=torch.float64))
