"""What stands between integer layers: average pooling by integers, and clamping between two of them."""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.overrides import handle_torch_function, has_torch_function_unary

from netpact.core.checks import check_integer
from netpact.core.errors import PactError
from netpact.layers.whole.grid import FLOAT32
from netpact.layers.window_sums import sum_windows

_MOST_SHIFT = 60


class WholePool(nn.Module):
    """round(sum over a window * multiplier / 2^shift) in place of an average over any number of pixels.

    kernel  None for one window that is the whole image
    """

    def __init__(self, kernel: tuple[int, int] | None, multiplier: int, shift: int, **where: tuple[int, int]) -> None:
        super().__init__()
        check_integer(multiplier, where="multiplier", least=1, most=FLOAT32 - 1)
        check_integer(shift, where="shift", least=0, most=_MOST_SHIFT)
        self.kernel, self.multiplier, self.shift = kernel, multiplier, shift
        self.stride, self.padding = where.get("stride", kernel), where.get("padding", (0, 0))

    @classmethod
    def like(cls, pool: nn.Module, multiplier: int, shift: int) -> WholePool:
        if type(pool) is nn.AdaptiveAvgPool2d:
            if _pair(pool.output_size) != (1, 1):
                raise PactError("average pooling to one pixel is needed, or over windows of one size", where="pool")
            return cls(None, multiplier, shift)
        if type(pool) is not nn.AvgPool2d:
            raise PactError(f"AvgPool2d or AdaptiveAvgPool2d(1) is needed, the layer is {type(pool).__name__}")
        padding = _pair(pool.padding)
        if pool.ceil_mode or pool.divisor_override or (any(padding) and not pool.count_include_pad):
            raise PactError(
                "average pooling over windows of one size is needed",
                where="pool",
                hint="leave ceil_mode and divisor_override out, and count the padding",
            )
        return cls(_pair(pool.kernel_size), multiplier, shift, stride=_pair(pool.stride), padding=padding)

    def forward(self, x: Tensor) -> Tensor:
        return run_pool(x, self)

    def compute(self, x: Tensor) -> Tensor:
        if self.kernel is None:
            sums = x.sum(dim=(-2, -1), keepdim=True)
        else:
            sums = sum_windows(x, self.kernel, self.stride or self.kernel, self.padding)
        # In float64: sums below 2^24 times a multiplier below 2^24.
        return sums.double().mul_(self.multiplier * 2.0**-self.shift).round_().to(x.dtype)

    def window(self, x: Tensor) -> int:
        """How many entries one sum has."""
        return math.prod(self.kernel or tuple(x.shape[-2:]))

    def extra_repr(self) -> str:
        window = "" if self.kernel is None else f"{self.kernel}, stride={self.stride}, padding={self.padding}, "
        return f"{window}multiplier={self.multiplier}, shift={self.shift}"


def run_pool(x: Tensor, pool: WholePool) -> Tensor:
    if has_torch_function_unary(x):
        found: Tensor = handle_torch_function(run_pool, (x,), x, pool)
        return found
    return pool.compute(x)


class WholeClip(nn.Module):
    """Clamp between two integers, in place of ReLU6 or Hardtanh."""

    def __init__(self, low: int, high: int) -> None:
        super().__init__()
        check_integer(low, where="low", least=1 - FLOAT32, most=0)
        check_integer(high, where="high", least=1, most=FLOAT32 - 1)
        self.low, self.high = low, high

    def forward(self, x: Tensor) -> Tensor:
        return run_clip(x, self)

    def compute(self, x: Tensor) -> Tensor:
        return x.clamp(self.low, self.high)

    def extra_repr(self) -> str:
        return f"low={self.low}, high={self.high}"


def run_clip(x: Tensor, clip: WholeClip) -> Tensor:
    if has_torch_function_unary(x):
        found: Tensor = handle_torch_function(run_clip, (x,), x, clip)
        return found
    return clip.compute(x)


def _pair(value: object) -> tuple[int, int]:
    pair = value if isinstance(value, tuple) else (value, value)
    return int(pair[0]), int(pair[1])
