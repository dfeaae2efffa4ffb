"""What a fixed preprocessing of images does to the spread: sums with weights that are not negative."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from netpact.layers.preprocessing import is_dyadic, preprocess, resize
from netpact.network.rounding.tolerance import Rounding, spread_of, value_of

# Two axes of a weight, two products and a sum; mean and std rounded; a difference and a quotient; two to spare.
_ROUNDINGS = 12
_PLACE_ROUNDINGS = 8  # of the place of a pixel, whose size is up to the number of pixels


def preprocess_rule(r: Rounding, x: Tensor, *, size: Any, mean: Any, std: Any) -> tuple[Tensor, Tensor]:
    """y = (R x - mean) / std with weights R >= 0: |dy| <= (R s + gamma (R (|x| + s) + |mean|)) / std.

    Where weights are not exact, a machine may find a place p that is off by d <= gamma m. R x is continuous in p, with
    slopes of at most 2 max |x|, so that moves it by 2 d max |x|, along either axis.
    """
    value, spread = value_of(x), spread_of(x)
    reach = value.abs() + spread
    felt = resize(reach, size)
    rows, columns = value.shape[-2:]
    places = sum(
        had for had, new in zip((rows, columns), size or (rows, columns), strict=True) if not is_dyadic(had, new)
    )
    moved = resize(spread, size)
    if places:
        largest = torch.amax(reach, (2, 3), keepdim=True)
        moved = moved + 2 * r.gamma(_PLACE_ROUNDINGS * places) * largest
    shift, scale = (torch.tensor(numbers, dtype=torch.float64).view(1, -1, 1, 1) for numbers in (mean, std))
    most = (felt + moved + shift.abs()) / scale
    spread = (moved / scale) + r.gamma(_ROUNDINGS) * most + r.underflow(_ROUNDINGS) * (1 + 1 / scale)
    found = preprocess(value, size=size, mean=mean, std=std)
    return found, r.limit(spread.expand_as(found), torch.maximum(most, felt + shift.abs()).expand_as(found), gain=2.0)
