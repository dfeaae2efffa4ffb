"""Layers that compute with integers, carried by floating point numbers that hold them exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import handle_torch_function, has_torch_function_unary

from netpact.core.errors import PactError
from netpact.layers.affine import ChannelAffine
from netpact.layers.whole.grid import FLOAT32, FLOAT64, WholeGrid, is_whole, round_shifted

_BASE = 16  # weights of 8 bits in two halves of 4


class WholeLayer(nn.Module):
    """What the layers below have in common: weight, bias and multiplier are integers, one multiplier a channel.

    `settle` proves from them and from the grid, for every input there is, how large a number can become on the way.
    Below 2^24 the layer computes in float32, below 2^53 in float64; beyond that it is refused. Both give the same
    integers.

    most  the largest magnitude of an output; None before `settle`
    """

    grid: WholeGrid
    most: int | None
    weight: Any
    bias: Any  # Parameters, for which torch's layers have types of their own
    multiplier: nn.Parameter
    _axes: tuple[int, ...] = (-1,)  # how one number a channel lies beside an output

    def _begin(self, grid: WholeGrid, like: Tensor) -> None:
        self.grid, self.most = grid, None
        self._wide_sums = self._wide_output = False
        self.multiplier = nn.Parameter(like.new_empty(len(like)), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        return run_whole(x, self)

    def compute(self, x: Tensor) -> Tensor:
        q = self.grid.round_input(x).to(self.weight.dtype)
        if self._wide_sums:
            y = self._sum_widely(q)
        else:
            y = self._sums(q, self.weight, self.bias)
        y = y.double() if self._wide_output else y
        z = self.grid.round_output(y, self.multiplier.to(y.dtype).view(self._axes))
        return z if self.most is None or self.most >= FLOAT32 else z.to(self.weight.dtype)

    def _sums(self, q: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        raise NotImplementedError

    def _sum_widely(self, q: Tensor) -> Tensor:
        return self._sums(q.double(), self.weight.double(), self.bias.double())

    def settle(self) -> None:
        """Prove the bounds from the tensors as they are, and choose the type to compute in."""
        tensors = {"weight": self.weight, "bias": self.bias, "multiplier": self.multiplier}
        for name, tensor in tensors.items():
            if not is_whole(tensor) or bool((tensor.abs() >= FLOAT32).any()):
                raise PactError("an integer layer takes integers below 2^24", where=name)
        multipliers = [int(one) for one in self.multiplier.tolist()]
        if min(multipliers, default=1) < 1:
            raise PactError("a multiplier must be at least 1", where="multiplier")
        sums = self.largest_sums()
        # A power of two costs no digit of the product.
        products = [total * (one // (one & -one)) for total, one in zip(sums, multipliers, strict=True)]
        if max(products, default=0) >= FLOAT64:
            raise PactError(
                f"a sum times its multiplier may reach {max(products):,}: float64 holds integers below 2^53",
                where="weight",
                hint="fewer bits for weights or activations",
            )
        self._wide_sums, self._wide_output = max(sums, default=0) >= FLOAT32, max(products, default=0) >= FLOAT32
        outputs = [round_shifted(total * one, self.grid.shift) for total, one in zip(sums, multipliers, strict=True)]
        self.most = min(max(outputs, default=0), self.grid.reach or FLOAT64)

    def largest_sums(self) -> list[int]:
        """sum_j |W_cj| * most + |b_c| for every channel: no partial sum in any order is larger, for any input."""
        biases = self.bias.detach().cpu().double().abs().tolist()
        pairs = zip(self._largest_products(self.weight.detach()), biases, strict=True)
        return [products + int(bias) for products, bias in pairs]

    def _largest_products(self, weight: Tensor) -> list[int]:
        rows = weight.cpu().double().abs().reshape(len(weight), -1).sum(dim=1).tolist()
        return [int(row) * self.grid.most for row in rows]

    @property
    def carriers(self) -> str:
        """What it computes in: float32, or float64 for the sums or for what is made of them."""
        return "float64" if self._wide_sums else "float32, float64" if self._wide_output else "float32"


def run_whole(x: Tensor, layer: WholeLayer) -> Tensor:
    """What a tensor that keeps account of its numbers sees of a layer: this call, and nothing inside it."""
    if has_torch_function_unary(x):
        found: Tensor = handle_torch_function(run_whole, (x,), x, layer)
        return found
    return layer.compute(x)


class WholeLinear(WholeLayer, nn.Linear):
    def __init__(self, inputs: int, outputs: int, grid: WholeGrid, **made: Any) -> None:
        nn.Linear.__init__(self, inputs, outputs, bias=True, device="meta", dtype=made.get("dtype"))
        _finish(self, grid, made)

    @classmethod
    def like(cls, layer: nn.Linear, grid: WholeGrid) -> WholeLinear:
        return cls(layer.in_features, layer.out_features, grid, **_place(layer.weight))

    def _sums(self, q: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return nn.functional.linear(q, weight, bias)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}, {self.grid}"


class WholeConv2d(WholeLayer, nn.Conv2d):
    _axes = (-1, 1, 1)
    _in_halves = False

    def __init__(self, inputs: int, outputs: int, kernel: tuple[int, ...], grid: WholeGrid, **settings: Any) -> None:
        made = {"device": settings.pop("device", None), "dtype": settings.get("dtype")}
        nn.Conv2d.__init__(self, inputs, outputs, kernel, bias=True, device="meta", **settings)  # type: ignore[arg-type]
        _finish(self, grid, made)

    @classmethod
    def like(cls, layer: nn.Conv2d, grid: WholeGrid) -> WholeConv2d:
        names = ("stride", "padding", "dilation", "groups", "padding_mode")
        settings = {name: getattr(layer, name) for name in names}
        return cls(layer.in_channels, layer.out_channels, layer.kernel_size, grid, **settings, **_place(layer.weight))

    def _sums(self, q: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return self._conv_forward(q, weight, bias)

    def settle(self) -> None:
        super().settle()
        sums = [self._largest_products(half) for half in _halve(self.weight.detach())]
        self._in_halves = max(map(max, sums), default=0) < FLOAT32

    def _sum_widely(self, q: Tensor) -> Tensor:
        """Of a network that is exported in two halves of float32: ONNX Runtime has no convolution of float64."""
        if not (self._in_halves and torch.compiler.is_exporting()):
            return super()._sum_widely(q)
        none = torch.zeros_like(self.bias)
        high, low = (self._sums(q, half, none).double() for half in _halve(self.weight))
        return high * _BASE + low + self.bias.double().view(self._axes)

    def extra_repr(self) -> str:
        return f"{nn.Conv2d.extra_repr(self)}, {self.grid}"


class WholeAffine(WholeLayer, ChannelAffine):
    """One whole scale and shift for each channel: what batch norm is that no layer before it takes in."""

    def __init__(self, channels: int, grid: WholeGrid, **made: Any) -> None:
        ChannelAffine.__init__(self, channels, device="meta", dtype=made.get("dtype"))
        _finish(self, grid, made)

    @classmethod
    def like(cls, layer: ChannelAffine, grid: WholeGrid) -> WholeAffine:
        return cls(layer.channels, grid, **_place(layer.weight))

    def compute(self, x: Tensor) -> Tensor:
        # A vector is an image of one pixel, a sequence one of a single column.
        return super().compute(x.reshape(len(x), self.channels, -1)).reshape(x.shape)

    _axes = (-1, 1)

    def _sums(self, q: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return q.mul_(weight.view(-1, 1)).add_(bias.view(-1, 1))

    def extra_repr(self) -> str:
        return f"{self.channels}, {self.grid}"


def _halve(weight: Tensor) -> tuple[Tensor, Tensor]:
    """H and L of W = 16 H + L, whole."""
    high = (weight / _BASE).round()
    return high, weight - _BASE * high


def _place(weight: Tensor) -> dict[str, Any]:
    return {"device": weight.device, "dtype": weight.dtype}


def _finish(layer: WholeLayer, grid: WholeGrid, made: Mapping[str, Any]) -> None:
    """Made on the meta device, so that nothing is drawn from the global stream; then where it belongs."""
    layer._begin(grid, layer.weight)
    layer.to_empty(device=made.get("device") or "cpu")
    layer.requires_grad_(False)
