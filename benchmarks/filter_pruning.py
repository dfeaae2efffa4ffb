"""VGG-11 on images of CIFAR's size, as it is and with filters removed until half of the operations are left.

OMP_NUM_THREADS=1 python benchmarks/filter_pruning.py [--quick]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import torch
from recording import Row, keep_rows, median_seconds
from torch import Tensor, nn

import netpact
from netpact.network.flops import run_sample

_BATCH, _SIDE, _RUNS = 32, 32, 3


def measure(name: str, *, flops: float, scope: str) -> Row:
    shape = (3, _SIDE, _SIDE)
    dense = netpact.build(netpact.parse_model(name, input_shape=shape, classes=10))
    images = torch.rand((_BATCH, *shape), generator=torch.Generator().manual_seed(0))
    data = netpact.as_data((images.numpy(), np.arange(_BATCH) % 10), classes=10)
    small = netpact.remove_filters(dense, data, flops=flops, scope=scope).eval()
    counts = [run_sample(module, {}, images[:1]).total for module in (dense, small)]
    sizes = [sum(parameter.numel() for parameter in module.parameters()) for module in (dense, small)]
    slow, fast = (1000 / _RUNS * _time(module, images) for module in (dense, small))
    return {
        "network": name,
        "scope": scope,
        "operations left": counts[1] / counts[0],
        "weights left": sizes[1] / sizes[0],
        "dense, ms": slow,
        "pruned, ms": fast,
        "times faster": slow / fast,
    }


@torch.no_grad()
def _time(module: nn.Module, images: Tensor) -> float:
    module(images)  # what is set up at the first run is not counted
    return median_seconds(lambda: [module(images) for _ in range(_RUNS)])[0]


def rows(quick: bool) -> Iterator[Row]:
    for scope in ("layer",) if quick else ("layer", "global"):
        yield measure("vgg:11-8-1" if quick else "vgg:11-64-1", flops=0.5, scope=scope)


if __name__ == "__main__":
    asked = "--quick" in sys.argv[1:]
    keep_rows(__file__, rows(asked), quick=asked)
