"""Second moments of what a layer's outputs see: how errors in its weights add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from netpact.core.seed import Seed

Array = NDArray[np.float64]
_POSITIONS = 1 << 16  # of all images together, for the moments of one layer
_AT_ONCE = 32  # images
_ROWS_AT_ONCE = 1 << 12


def layer_moments(
    layer: nn.Module,
    inputs: Tensor,
    *,
    beside: Tensor | None = None,
    centred: bool = True,
    positions: int = _POSITIONS,
    columns: slice = slice(None),
) -> list[Array]:
    """The covariance of what each output of the layer sees: one matrix for each group of channels.

    beside     other inputs, one for each: then the covariance of these (rows) with the inputs (columns)
    centred    without the means, which a bias makes up for; otherwise the second moments themselves
    positions  of a convolution, spread at random over all images: about so many are looked at
    columns    of the weight as a matrix of rows: only these
    """
    groups = layer.groups if isinstance(layer, nn.Conv2d) else 1
    count, found = 0, [_Sums() for _ in range(groups)]
    others = _rows(layer, inputs if beside is None else beside, positions)
    for rows, other in zip(_rows(layer, inputs, positions), others, strict=True):
        count += len(rows)
        for sums, *pair in zip(found, other.chunk(groups, dim=1), rows.chunk(groups, dim=1), strict=True):
            sums.add(*(part[:, columns].double() for part in pair))
    return [sums.moments(max(1, count), centred=centred) for sums in found]


@dataclass
class _Sums:
    left: Tensor | int = 0
    right: Tensor | int = 0
    products: Tensor | int = 0

    def add(self, left: Tensor, right: Tensor) -> None:
        self.left, self.right = self.left + left.sum(dim=0), self.right + right.sum(dim=0)
        self.products = self.products + left.T @ right

    def moments(self, count: int, *, centred: bool) -> Array:
        left, right, products = map(torch.as_tensor, (self.left, self.right, self.products))
        found = products / count
        return (found - torch.outer(left / count, right / count) if centred else found).numpy()


def _rows(layer: nn.Module, inputs: Tensor, positions: int) -> Iterator[Tensor]:
    """What the layer sees, one row for each time that an output is computed; all groups side by side."""
    if isinstance(layer, nn.Linear):
        yield from inputs.reshape(-1, inputs.shape[-1]).split(_ROWS_AT_ONCE)
        return
    assert isinstance(layer, nn.Conv2d)
    mode = {"zeros": "constant"}.get(layer.padding_mode, layer.padding_mode)
    images = inputs if inputs.dim() == 4 else inputs[None]
    generator = Seed(0).child("positions").torch()
    for part in images.split(_AT_ONCE):
        padded = functional.pad(part, layer._reversed_padding_repeated_twice, mode=mode)
        unfolded = functional.unfold(padded, layer.kernel_size, dilation=layer.dilation, stride=layer.stride)
        if unfolded.shape[2] * len(images) > positions:
            # At random: any regular pattern meets the same columns of the image again and again.
            order = torch.randperm(unfolded.shape[2], generator=generator)
            unfolded = unfolded[:, :, order[: -(-positions // len(images))]]
        yield unfolded.transpose(1, 2).flatten(0, 1)
