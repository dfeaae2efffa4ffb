"""A network and what its factored and filter-pruned files decode to: in torch, and in ONNX Runtime if installed.

OMP_NUM_THREADS=1 python benchmarks/production.py [--quick]
"""

from __future__ import annotations

import importlib.util
import logging
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from recording import Row, keep_rows
from torch import Tensor, nn

import netpact

_BATCH, _SIDE, _REPEATS = 16, 32, 5
_HAS_ONNX = all(importlib.util.find_spec(name) for name in ("onnx", "onnxscript", "onnxruntime"))


def measure(name: str, method: Any) -> Row:
    shape = (3, _SIDE, _SIDE)
    original = netpact.build(netpact.parse_model(name, input_shape=shape, classes=10)).eval()
    images = torch.rand((_BATCH, *shape), generator=torch.Generator().manual_seed(0))
    data = netpact.as_data((images.numpy(), np.arange(_BATCH) % 10), classes=10)
    pact = netpact.seal(netpact.compress(netpact.trace(original, data), method, samples=data.train))
    decoded = netpact.Pact.from_bytes(pact.to_bytes()).to_module()
    row: Row = {"network": name, "method": method.name, "bytes": len(pact.message)}
    slow, fast = _compare(*(_in_torch(module, images) for module in (original, decoded)))
    row |= {"torch: before, ms": slow, "torch: after, ms": fast, "torch: times faster": slow / fast}
    if _HAS_ONNX:
        slow, fast = _compare(*(_in_onnx(module, images) for module in (original, decoded)))
        row |= {"ONNX: before, ms": slow, "ONNX: after, ms": fast, "ONNX: times faster": slow / fast}
    return row


def _compare(before: Callable[[], object], after: Callable[[], object]) -> tuple[float, float]:
    """Medians in milliseconds; in turns, so that what else runs slows both alike, and of processor time."""
    pairs = [[1000 * _seconds(run) for run in (before, after)] for _ in range(_REPEATS)]
    return statistics.median(one for one, _ in pairs), statistics.median(one for _, one in pairs)


def _seconds(run: Callable[[], object]) -> float:
    run()  # what is set up at the first run is not counted
    started = time.process_time()
    run()
    return time.process_time() - started


def _in_torch(module: nn.Module, images: Tensor) -> Callable[[], object]:
    def run() -> object:
        with torch.no_grad():
            return module(images)

    return run


def _in_onnx(module: nn.Module, images: Tensor) -> Callable[[], object]:
    import onnxruntime

    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(module, (images,), dynamo=True, verbose=False)
        assert program is not None
        program.save(Path(folder) / "network.onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            Path(folder) / "network.onnx", options, providers=["CPUExecutionProvider"]
        )
    name = session.get_inputs()[0].name
    return lambda: session.run(None, {name: images.numpy()})


def rows(quick: bool) -> Iterator[Row]:
    name = "vgg:11-8-1" if quick else "vgg:11-64-1"
    for method in (
        netpact.MagnitudePrune(unit="filters", flops=0.5, multiple=16 if not quick else 1),
        netpact.TruncatedSVD(rank=4 if quick else 32),
        netpact.Tucker(share=0.25),
        netpact.CP(share=0.25),
    ):
        yield measure(name, method)


if __name__ == "__main__":
    asked = "--quick" in sys.argv[1:]
    keep_rows(__file__, rows(asked), quick=asked)
