"""Layers that carry their input past other layers: by a sum, or side by side."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Residual(nn.Module):
    """body(x) + shortcut(x) (He et al. 2016); an empty shortcut is x itself."""

    def __init__(self, body: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, images: Tensor) -> Tensor:
        return self.body(images) + self.shortcut(images)


class DenseStep(nn.Module):
    """The channels of x, then those of body(x) (Huang et al. 2017)."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, images: Tensor) -> Tensor:
        return torch.cat([images, self.body(images)], dim=1)


class ShuffleStep(nn.Module):
    """One unit of ShuffleNet v2 (Ma et al. 2018): two halves side by side, shuffled so that the next unit mixes them.

    Without a branch, the first half of the channels stays as it is and body(second half) is the other; with one, all
    channels go through both.
    """

    def __init__(self, body: nn.Module, branch: nn.Module | None = None) -> None:
        super().__init__()
        self.body, self.branch = body, branch

    def forward(self, images: Tensor) -> Tensor:
        if self.branch is None:
            kept, changed = images.chunk(2, dim=1)
            halves = [kept, self.body(changed)]
        else:
            halves = [self.branch(images), self.body(images)]
        return functional.channel_shuffle(torch.cat(halves, dim=1), 2)


class ZeroPaddedShortcut(nn.Module):
    """Every stride-th pixel, with channels of zeros before and behind: option A of He et al. 2016, without parameters.

    A number of new channels that is odd puts the one more behind.
    """

    def __init__(self, *, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.inputs, self.outputs, self.stride = inputs, outputs, stride

    def forward(self, images: Tensor) -> Tensor:
        new = self.outputs - self.inputs
        kept = images[:, :, :: self.stride, :: self.stride]
        return functional.pad(kept, (0, 0, 0, 0, new // 2, new - new // 2))

    def extra_repr(self) -> str:
        return f"inputs={self.inputs}, outputs={self.outputs}, stride={self.stride}"
