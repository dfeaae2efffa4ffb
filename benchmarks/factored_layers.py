"""A convolution of low rank run as one layer and as the two layers that its file decodes to.

OMP_NUM_THREADS=1 python benchmarks/factored_layers.py [--quick]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import torch
from recording import Row, keep_rows, median_seconds
from torch import Tensor, nn

import netpact
from netpact.layers import Factored

_RUNS = 10  # in one timing
_IMAGES, _SIDE = 4, 16


class OneLayer(nn.Module):
    """A 3 x 3 convolution whose singular values fall as 1/j; the mean over the pixels makes it a classifier."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        random = torch.Generator().manual_seed(0)
        left = torch.linalg.qr(torch.randn(channels, channels, generator=random))[0]
        right = torch.linalg.qr(torch.randn(9 * channels, channels, generator=random))[0]
        weight = (left / torch.arange(1, channels + 1)) @ right.T
        self.conv.weight.data = weight.reshape(self.conv.weight.shape)

    def forward(self, images: Tensor) -> Tensor:
        return self.conv(images).mean((2, 3))


def measure(channels: int, rank: int) -> Row:
    module = OneLayer(channels).eval()
    images = torch.rand((_IMAGES, channels, _SIDE, _SIDE), generator=torch.Generator().manual_seed(1))
    data = netpact.as_data((images.numpy(), np.arange(_IMAGES)), classes=channels)
    pact = netpact.seal(netpact.compress(netpact.trace(module, data), netpact.TruncatedSVD(rank=rank)))
    decoded = pact.to_module(module)
    assert isinstance(decoded.get_submodule("conv"), Factored)
    one, two = (1000 / _RUNS * _time(run, images) for run in (module, decoded))
    return {
        "channels": channels,
        "rank": rank,
        "bytes": len(pact.message),
        "one layer, ms": one,
        "two layers, ms": two,
        "times faster": one / two,
    }


@torch.no_grad()
def _time(module: nn.Module, images: Tensor) -> float:
    module(images)  # what is set up at the first run is not counted
    return median_seconds(lambda: [module(images) for _ in range(_RUNS)])[0]


def rows(quick: bool) -> Iterator[Row]:
    for channels, rank in ((64, 8),) if quick else ((128, 16), (512, 32), (512, 128)):
        yield measure(channels, rank)


if __name__ == "__main__":
    asked = "--quick" in sys.argv[1:]
    keep_rows(__file__, rows(asked), quick=asked)
