"""VGG-11 on images of CIFAR's size, as it is and with filters removed until half of the operations are left.

OMP_NUM_THREADS=1 python benchmarks/filter_pruning.py [--quick]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator

import numpy as np
import torch
from recording import Row, keep_rows
from torch import Tensor, nn

import netpact
from netpact.network.flops import run_sample

_BATCH, _SIDE, _REPEATS = 32, 32, 3


def measure(name: str, *, flops: float, scope: str, multiple: int) -> Row:
    shape = (3, _SIDE, _SIDE)
    dense = netpact.build(netpact.parse_model(name, input_shape=shape, classes=10))
    images = torch.rand((_BATCH, *shape), generator=torch.Generator().manual_seed(0))
    data = netpact.as_data((images.numpy(), np.arange(_BATCH) % 10), classes=10)
    small = netpact.remove_filters(dense, data, flops=flops, scope=scope, multiple=multiple).eval()
    counts = [run_sample(module, {}, images[:1]).total for module in (dense, small)]
    sizes = [sum(parameter.numel() for parameter in module.parameters()) for module in (dense, small)]
    # In turns, so that what else runs on the machine slows both alike; processor time, as there is one thread.
    pairs = [[1000 * _time(module, images) for module in (dense, small)] for _ in range(_REPEATS)]
    slow, fast = (statistics.median(pair[place] for pair in pairs) for place in (0, 1))
    return {
        "network": name,
        "scope": scope,
        "multiple": multiple,
        "operations left": counts[1] / counts[0],
        "weights left": sizes[1] / sizes[0],
        "dense, ms": slow,
        "pruned, ms": fast,
        "times faster": statistics.median(pair[0] / pair[1] for pair in pairs),
    }


@torch.no_grad()
def _time(module: nn.Module, images: Tensor) -> float:
    module(images)  # what is set up at the first run is not counted
    start = time.process_time()
    module(images)
    return time.process_time() - start


def rows(quick: bool) -> Iterator[Row]:
    for scope, multiple in (("layer", 1),) if quick else (("layer", 1), ("layer", 16), ("global", 1), ("global", 16)):
        yield measure("vgg:11-8-1" if quick else "vgg:11-64-1", flops=0.5, scope=scope, multiple=multiple)


if __name__ == "__main__":
    asked = "--quick" in sys.argv[1:]
    keep_rows(__file__, rows(asked), quick=asked)
