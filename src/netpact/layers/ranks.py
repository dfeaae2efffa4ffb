"""Ranks and numbers of parameters of layers in CP form."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction

from torch import nn

from netpact.core.checks import check_integer, check_number, told
from netpact.core.errors import PactError

Sides = tuple[int, int]
Share = float | Fraction


def largest_rank(modes: Sequence[int], share: Share = 1.0) -> int:
    """The largest R with R (d_1 + ... + d_N) <= share * d_1 ... d_N, at least 1: modes d_n of a tensor.

    A float counts as the decimal number that it is printed as: 0.07 is 7/100.
    """
    sizes = [check_integer(size, where="modes", least=1) for size in modes]
    return max(1, math.floor(_exact(share) * math.prod(sizes) / sum(sizes)))


def _exact(share: Share) -> Fraction:
    if isinstance(share, Fraction) and share > 0:
        return share
    return Fraction(repr(float(check_number(share, where="share", above=0))))


def cp_modes(layer: nn.Module) -> tuple[int, ...]:
    """The sizes of the tensor that a CP layer in this layer's place is a sum of: of its weight, or of a CP layer's own.

    A convolution is (out, in, kx*ky), a linear layer (two factors of out, two factors of in).
    """
    if isinstance(layer, nn.Conv2d) and layer.groups == 1:
        return layer.out_channels, layer.in_channels, math.prod(layer.kernel_size)
    if isinstance(layer, nn.Linear):
        return *square_sides(layer.out_features), *square_sides(layer.in_features)
    own = getattr(layer, "modes", None)
    if isinstance(own, tuple):
        return own
    raise PactError(f"needs a Linear, a Conv2d without groups, or a CP layer, got {told(layer)}", where="layer")


def rank_for_share(layer: nn.Module, share: Share = 1.0) -> int:
    """The largest rank at which a CP layer has at most this share of the layer's weights (biases not counted), or 1."""
    return largest_rank(cp_modes(layer), share)


def parameters_of_rank(layer: nn.Module, rank: int) -> int:
    """The weights of a CP layer of this rank in the layer's place, its bias not counted: R (d_1 + ... + d_N)."""
    return check_integer(rank, where="rank", least=1) * sum(cp_modes(layer))


def tucker_ranks_for_share(layer: nn.Module, share: Share = 1.0) -> tuple[int, int]:
    """The largest (out, in) at which a Tucker layer has at most this share of a convolution's weights, or (1, 1).

    Both are the same share of the channels, rounded down, and none is more than the taps times the other.
    """
    if not isinstance(layer, nn.Conv2d) or layer.groups != 1:
        raise PactError(f"needs a Conv2d without groups, got {told(layer)}", where="layer")
    outputs, inputs, taps = cp_modes(layer)
    most = _exact(share) * outputs * inputs * taps

    def ranks(scale: Fraction) -> tuple[int, int]:
        wide, narrow = max(1, math.floor(scale * outputs)), max(1, math.floor(scale * inputs))
        return min(wide, narrow * taps), min(narrow, wide * taps)

    def fits(scale: Fraction) -> bool:
        wide, narrow = ranks(scale)
        return inputs * narrow + narrow * wide * taps + wide * outputs <= most

    scales = sorted({Fraction(count, side) for side in (outputs, inputs) for count in range(1, side + 1)})
    return ranks(scales[max(0, bisect_left(scales, True, key=lambda scale: not fits(scale)) - 1)])


def square_sides(width: int) -> Sides:
    """The two factors of a width that are nearest to each other, the smaller one first."""
    side = next(side for side in range(math.isqrt(width), 0, -1) if width % side == 0)
    return side, width // side


def cube_sides(width: int) -> tuple[int, int, int]:
    """Three factors of a width, the first one near its cube root; 1 where it has none."""
    side = next(side for side in range(round(width ** (1 / 3)), 0, -1) if width % side == 0)
    return side, *square_sides(width // side)
