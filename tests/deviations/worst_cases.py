"""Networks and changes for which the calculus is tight: one for every operation that has a rule.

The first layer's bias is the whole activation, so that it and its change can be chosen: h and v. What follows is one
operation, and v points where it enlarges most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from netpact.deviations import LayerBounds, Walker, compare
from netpact.layers import ChannelAffine, Shift

Call = Callable[[Any], Any]
STEP = 1e-2


@dataclass(frozen=True)
class Worst:
    """shape of one sample; h everywhere; v = 1 at these places, everywhere if there are none."""

    shape: tuple[int, ...]
    call: Call
    h: float = 0.0
    at: tuple[tuple[int, ...], ...] = ()

    def direction(self) -> Tensor:
        v = torch.zeros(self.shape) if self.at else torch.ones(self.shape)
        for place in self.at:
            v[place] = 1.0
        return v


class Chosen(nn.Module):
    def __init__(self, case: Worst, *, step: float) -> None:
        super().__init__()
        self.case = case
        self.first = nn.Linear(1, math.prod(case.shape))
        with torch.no_grad():
            self.first.weight.zero_()
            self.first.bias.copy_((case.h + step * case.direction()).flatten())

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.case.call(self.first(x).view(x.shape[0], *self.case.shape))
        return found.reshape(x.shape[0], -1)


def measure(
    run: nn.Module, other: nn.Module, x: Tensor, layers: Mapping[str, LayerBounds] | None = None
) -> tuple[float, float]:
    """How far two networks are apart on one sample, and how far the calculus lets them be."""
    parts, others = dict(run.named_modules()), dict(other.named_modules())
    if layers is None:
        layers = {
            name: compare(run=part, other=others[name])
            for name, part in parts.items()
            if any(True for _ in part.parameters(recurse=False))
        }
    walker = Walker(run, layers, arithmetic="float32", other_arithmetic="float32")
    with torch.no_grad():
        apart = other.double()(x.double()) - run.double()(x.double())
    return float(torch.linalg.vector_norm(apart)), float(walker(x.numpy().astype(np.float32)).bound)


def pair(case: Worst) -> tuple[nn.Module, nn.Module, Tensor]:
    return Chosen(case, step=0.0).eval(), Chosen(case, step=STEP).eval(), torch.zeros(1, 1)


def look(query: Tensor, keys: Tensor, values: Tensor | None = None) -> Tensor:
    return functional.scaled_dot_product_attention(query, keys, keys if values is None else values)


FLAT, MAPS, SOLID = (4,), (2, 4, 4), (2, 2, 4, 2)
CORNER = ((0, 0, 0),)
HALF = STEP / 2
FIRST = torch.tensor([True, False, False, False])

WORST: dict[str, Worst] = {
    # moves: as long behind them as before, or longer by the copies
    "flatten": Worst(MAPS, lambda x: x.flatten(1)),
    "unflatten": Worst(MAPS, lambda x: x.unflatten(1, (1, 2))),
    "view": Worst(MAPS, lambda x: x),
    "reshape": Worst(MAPS, lambda x: x.reshape(1, 4, 8)),
    "permute": Worst(MAPS, lambda x: x.permute(0, 2, 3, 1)),
    "transpose": Worst(MAPS, lambda x: x.transpose(1, 2)),
    "swapaxes": Worst(MAPS, lambda x: x.swapaxes(1, 2)),
    "movedim": Worst(MAPS, lambda x: x.movedim(1, 2)),
    "squeeze": Worst((1, 4), lambda x: x.squeeze(1)),
    "unsqueeze": Worst(FLAT, lambda x: x.unsqueeze(1)),
    "contiguous": Worst(MAPS, lambda x: x.contiguous()),
    "clone": Worst(MAPS, lambda x: x.clone()),
    "detach": Worst(MAPS, lambda x: x.detach()),
    "dropout": Worst(MAPS, nn.Dropout().eval()),
    "dropout1d": Worst((2, 4), nn.Dropout1d().eval()),
    "dropout2d": Worst(MAPS, nn.Dropout2d().eval()),
    "dropout3d": Worst(SOLID, nn.Dropout3d().eval()),
    "alpha_dropout": Worst(MAPS, nn.AlphaDropout().eval()),
    "feature_alpha_dropout": Worst(MAPS, nn.FeatureAlphaDropout().eval()),
    "pad": Worst(MAPS, lambda x: functional.pad(x, (1, 1, 1, 1), mode="replicate"), at=CORNER),
    "expand": Worst((1, 4), lambda x: x.expand(-1, 5, -1)),
    "repeat": Worst(FLAT, lambda x: x.repeat(1, 3)),
    "roll": Worst(MAPS, lambda x: x.roll(1, dims=1)),
    "flip": Worst(MAPS, lambda x: x.flip(1)),
    "interpolate": Worst(MAPS, lambda x: functional.interpolate(x, scale_factor=2)),
    "chunk": Worst((2, 4), lambda x: x.chunk(2, dim=1)[0], at=((0, 1),)),
    "split": Worst((2, 4), lambda x: x.split(1, dim=1)[0], at=((0, 1),)),
    "unbind": Worst((2, 4), lambda x: x.unbind(1)[0], at=((0, 1),)),
    "narrow": Worst((2, 4), lambda x: x.narrow(1, 0, 1), at=((0, 1),)),
    "select": Worst((2, 4), lambda x: x.select(1, 0), at=((0, 1),)),
    "__getitem__": Worst((2, 4), lambda x: x[:, :, [0, 1, 1, 1]], at=((0, 1),)),
    "tile": Worst(FLAT, lambda x: x.tile(1, 3)),
    "swapdims": Worst(MAPS, lambda x: x.swapdims(1, 2)),
    "index_select": Worst((2, 4), lambda x: x.index_select(2, torch.tensor([0, 1, 1, 1])), at=((0, 1),)),
    "tril": Worst((2, 2), lambda x: x.tril(), at=((1, 0),)),
    "triu": Worst((2, 2), lambda x: x.triu(), at=((0, 1),)),
    "pixel_shuffle": Worst((4, 2, 2), lambda x: functional.pixel_shuffle(x, 2)),
    "pixel_unshuffle": Worst(MAPS, lambda x: functional.pixel_unshuffle(x, 2)),
    "channel_shuffle": Worst((4, 2, 2), lambda x: functional.channel_shuffle(x, 2)),
    # joins and sums
    "cat": Worst(FLAT, lambda x: torch.cat([x, x, x], dim=1)),
    "stack": Worst(FLAT, lambda x: torch.stack([x, x, x], dim=1)),
    "add": Worst((2, 4), lambda x: x + x),
    "add_": Worst(FLAT, lambda x: x.clone().add_(x)),
    "sub": Worst(FLAT, lambda x: x - (-x)),
    "sub_": Worst(FLAT, lambda x: x.clone().sub_(-x)),
    "rsub": Worst(FLAT, lambda x: torch.rsub(x, 1.0)),
    # means, sums, the largest of some
    "avg_pool1d": Worst((2, 6), lambda x: functional.avg_pool1d(x, 2)),
    "avg_pool2d": Worst(MAPS, lambda x: functional.avg_pool2d(x, 2)),
    "avg_pool3d": Worst(SOLID, lambda x: functional.avg_pool3d(x, 2)),
    "adaptive_avg_pool1d": Worst((2, 6), lambda x: functional.adaptive_avg_pool1d(x, 3)),
    "adaptive_avg_pool3d": Worst(SOLID, lambda x: functional.adaptive_avg_pool3d(x, 1)),
    "adaptive_avg_pool2d": Worst(MAPS, lambda x: functional.adaptive_avg_pool2d(x, 2)),
    "mean": Worst(MAPS, lambda x: x.mean(dim=(2, 3))),
    "sum": Worst(MAPS, lambda x: x.sum(dim=(2, 3))),
    "max_pool1d": Worst((1, 5), lambda x: functional.max_pool1d(x, 3, 2), at=((0, 2),)),
    "max_pool2d": Worst((1, 5, 5), lambda x: functional.max_pool2d(x, 3, 2), at=((0, 2, 2),)),
    "max_pool3d": Worst((1, 3, 3, 5), lambda x: functional.max_pool3d(x, 3, 2), at=((0, 1, 1, 2),)),
    "adaptive_max_pool1d": Worst((1, 5), lambda x: functional.adaptive_max_pool1d(x, 3), at=((0, 1),)),
    "adaptive_max_pool3d": Worst(
        (1, 5, 2, 2), lambda x: functional.adaptive_max_pool3d(x, (3, 1, 1)), at=((0, 1, 0, 0),)
    ),
    "adaptive_max_pool2d": Worst((1, 5, 5), lambda x: functional.adaptive_max_pool2d(x, 3), at=((0, 1, 1),)),
    "amax": Worst((2, 4), lambda x: x.amax(dim=2), at=((0, 1), (1, 3))),
    "amin": Worst((2, 2), lambda x: (-x).amin(dim=2), at=((0, 1), (1, 0))),
    # what depends on the sample
    "matmul": Worst((1, 1), lambda x: x @ x, h=2.0),
    "bmm": Worst((1, 1), lambda x: torch.bmm(x, x), h=2.0),
    "einsum": Worst((1, 1), lambda x: torch.einsum("bij,bjk->bik", x, x), h=2.0),
    "reciprocal": Worst((1,), torch.reciprocal, h=-4.0),
    "softmax": Worst((1,), lambda x: torch.cat([x, -x], dim=1).softmax(1), h=-HALF),
    "log_softmax": Worst((1,), lambda x: torch.cat([x, -x], dim=1).log_softmax(1), h=20.0),
    "scaled_dot_product_attention": Worst(
        (1, 1), lambda x: look(x, torch.cat([1 + 0 * x, -1 + 0 * x], dim=1)), h=-HALF
    ),
    "layer_norm": Worst((1,), lambda x: functional.layer_norm(torch.cat([x, -x], dim=1), (2,), eps=1.0)),
    "rms_norm": Worst((1,), lambda x: functional.rms_norm(torch.cat([x, x], dim=1), (2,), eps=1.0)),
    "group_norm": Worst((1,), lambda x: functional.group_norm(torch.cat([x, -x], dim=1), 1, eps=1.0)),
    "instance_norm": Worst((1,), lambda x: functional.instance_norm(torch.cat([x, -x], dim=1)[:, None], eps=1.0)),
    "exp": Worst((1,), torch.exp),
    "log": Worst((1,), torch.log, h=2.0),
    "sqrt": Worst((1,), torch.sqrt, h=2.0),
    "rsqrt": Worst((1,), torch.rsqrt, h=4.0),
    "square": Worst((1,), torch.square, h=2.0),
    "pow": Worst((1,), lambda x: x**3, h=4.0),
    "masked_fill": Worst(FLAT, lambda x: x.masked_fill(FIRST, 1.0), at=((1,),)),
    "masked_fill_": Worst(FLAT, lambda x: x.clone().masked_fill_(FIRST, 1.0), at=((1,),)),
    "where": Worst(FLAT, lambda x: torch.where(torch.tensor([True, False, True, False]), x, 0.5), at=((2,),)),
    # functions of every entry, where they are steepest
    "relu": Worst(FLAT, functional.relu),
    "relu_": Worst(FLAT, lambda x: functional.relu_(x.clone())),
    "relu6": Worst(FLAT, functional.relu6, h=1.0),
    "hardtanh": Worst(FLAT, lambda x: functional.hardtanh(x, -0.3, 0.3)),
    "clamp": Worst(FLAT, lambda x: x.clamp(-1, 1)),
    "clip": Worst(FLAT, lambda x: x.clip(-1, 1)),
    "clamp_min": Worst(FLAT, lambda x: x.clamp_min(0)),
    "clamp_max": Worst(FLAT, lambda x: x.clamp_max(2)),
    "abs": Worst(FLAT, torch.abs),
    "neg": Worst(FLAT, torch.neg),
    "mul": Worst(FLAT, lambda x: x * -3.0),
    "mul_": Worst(FLAT, lambda x: x.clone().mul_(0.3)),
    "div": Worst(FLAT, lambda x: x / -3.0),
    "div_": Worst(FLAT, lambda x: x.clone().div_(0.3)),
    "leaky_relu": Worst(FLAT, lambda x: functional.leaky_relu(x, 1.6), h=-1.0),
    "tanh": Worst(FLAT, torch.tanh, h=-HALF),
    "sigmoid": Worst(FLAT, torch.sigmoid, h=-HALF),
    "silu": Worst(FLAT, functional.silu, h=2.3993573 - HALF),
    "gelu": Worst(FLAT, functional.gelu, h=math.sqrt(2) - HALF),
    "elu": Worst(FLAT, lambda x: functional.elu(x, 1.7), h=-STEP),
    "softplus": Worst(FLAT, lambda x: functional.softplus(x, 2.0, 18.0), h=8.0),
    "hardsigmoid": Worst(FLAT, functional.hardsigmoid),
    "mish": Worst(FLAT, functional.mish, h=1.4905712 - HALF),
    "softsign": Worst(FLAT, functional.softsign, h=-HALF),
    "selu": Worst(FLAT, functional.selu, h=-STEP),
    "erf": Worst(FLAT, torch.erf, h=-HALF),
    "sin": Worst(FLAT, torch.sin, h=-HALF),
    "cos": Worst(FLAT, torch.cos, h=math.pi / 2 - HALF),
    "hardswish": Worst(FLAT, functional.hardswish, h=3.0 - STEP),
}


class Layered(nn.Module):
    """The chosen activation, and one layer that is the same in both networks."""

    def __init__(self, case: Worst, layer: nn.Module, *, step: float) -> None:
        super().__init__()
        self.chosen, self.layer = Chosen(case, step=step), layer

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.layer(self.chosen(x).view(x.shape[0], *self.chosen.case.shape))
        return found.flatten(1)


def _filled(layer: Any, weight: Tensor | None = None) -> Any:
    with torch.no_grad():
        if weight is not None:
            layer.weight.copy_(weight)
        layer.bias.copy_(torch.arange(len(layer.bias)) * 0.1)
    return layer.eval()


# Each kind of layer with the change of its input that it enlarges most, and the places where that is.
LAYERS: dict[str, tuple[Worst, Callable[[], Any]]] = {
    "Linear": (Worst((2,), lambda x: x, at=((1,),)), lambda: _filled(nn.Linear(2, 3), torch.eye(3, 2) * 2.0)),
    "Conv2d": (Worst((1, 6, 6), lambda x: x), lambda: _filled(nn.Conv2d(1, 2, 1), torch.full((2, 1, 1, 1), 0.7))),
    "Conv1d": (Worst((1, 6), lambda x: x), lambda: _filled(nn.Conv1d(1, 2, 1), torch.full((2, 1, 1), 0.7))),
    "Conv3d": (Worst((1, 2, 3, 2), lambda x: x), lambda: _filled(nn.Conv3d(1, 2, 1), torch.full((2, 1, 1, 1, 1), 0.7))),
    "ConvTranspose1d": (
        Worst((2, 3), lambda x: x),
        lambda: _filled(nn.ConvTranspose1d(2, 2, 1), torch.full((2, 2, 1), 0.7)),
    ),
    "ConvTranspose2d": (
        Worst((2, 3, 2), lambda x: x),
        lambda: _filled(nn.ConvTranspose2d(2, 2, 1), torch.full((2, 2, 1, 1), 0.7)),
    ),
    "ConvTranspose3d": (
        Worst((2, 2, 1, 2), lambda x: x),
        lambda: _filled(nn.ConvTranspose3d(2, 2, 1), torch.full((2, 2, 1, 1, 1), 0.7)),
    ),
    "BatchNorm1d": (Worst((2,), lambda x: x, at=((1,),)), lambda: _filled(nn.BatchNorm1d(2), torch.tensor([0.3, 3.0]))),
    "BatchNorm2d": (Worst(MAPS, lambda x: x, at=CORNER), lambda: _filled(nn.BatchNorm2d(2), torch.tensor([3.0, 1.0]))),
    "ChannelAffine": (
        Worst(MAPS, lambda x: x, at=CORNER),
        lambda: _filled(ChannelAffine(2), torch.tensor([-3.0, 1.0])),
    ),
    "Shift": (Worst((2,), lambda x: x, at=((1,),)), lambda: _filled(Shift(2))),
}
