"""CP decomposition by alternating least squares: netpact against parafac of tensorly with its torch backend.

Per sweep: the time of six sweeps less that of one, divided by five; both compute the error after each sweep. To equal
error: tensorly runs 20 sweeps, netpact as many as take it to tensorly's error. Both start from singular vectors, filled
up with random columns, which is part of the time. Medians of three runs. Peak memory is that of a fresh process beyond
the tensor itself, over two sweeps. tensorly is no dependency of netpact: install tensorly 0.10 into a folder of its own
and name that in PYTHONPATH; without it nothing is measured.

Run: OMP_NUM_THREADS=1 python benchmarks/cp_als.py [--quick]      (about three minutes; --quick: a few seconds)
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import torch
from recording import Row, keep_rows, median_seconds
from torch import Tensor

from netpact import cp_decompose
from netpact.algebra import ALSOptions

# shape, rank, lowest ratio aimed at
TENSORS = (((512, 512, 9), 512, 5.0),)
QUICK = (((64, 64, 9), 64, 0.0),)
_EQUAL = 20  # sweeps of tensorly

Run = Callable[[Tensor, int, int], list[float]]  # tensor, rank, sweeps -> error after each sweep


def netpact_errors(tensor: Tensor, rank: int, sweeps: int) -> list[float]:
    return list(cp_decompose(tensor, rank, options=ALSOptions(sweeps=sweeps, tolerance=0.0, starts=1)).errors)


def tensorly_errors(tensor: Tensor, rank: int, sweeps: int) -> list[float]:
    import tensorly
    from tensorly.decomposition import parafac

    tensorly.set_backend("pytorch")
    found = parafac(tensor, rank, n_iter_max=sweeps, tol=1e-30, random_state=0, return_errors=True)
    return [float(error) for error in found[1]]


def seconds_per_sweep(run: Run, tensor: Tensor, rank: int) -> float:
    one, six = (median_seconds(lambda sweeps=sweeps: run(tensor, rank, sweeps))[0] for sweeps in (1, 6))
    return (six - one) / 5


def example(shape: tuple[int, ...]) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def peak_mebibytes(run: Run, shape: tuple[int, ...], rank: int) -> float:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak, (run, shape, rank))


def _peak(run: Run, shape: tuple[int, ...], rank: int) -> float:
    run(example((4, 4, 4)), 2, 1)  # what is imported and allocated once
    tensor = example(shape)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from what is held now
    before = _held("VmRSS")
    run(tensor, rank, 2)
    return (_held("VmHWM") - before) / 1024


def _held(field: str) -> int:
    (kibibytes,) = re.findall(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(kibibytes)


def compare(shape: tuple[int, ...], rank: int, aim: float) -> Row:
    tensor = example(shape)
    sweep = seconds_per_sweep(tensorly_errors, tensor, rank), seconds_per_sweep(netpact_errors, tensor, rank)
    peaks = peak_mebibytes(tensorly_errors, shape, rank), peak_mebibytes(netpact_errors, shape, rank)
    slow, errors = median_seconds(lambda: tensorly_errors(tensor, rank, _EQUAL))
    needed = next(n for n, error in enumerate(netpact_errors(tensor, rank, 3 * _EQUAL), 1) if error <= errors[-1])
    fast, reached = median_seconds(lambda: netpact_errors(tensor, rank, needed))
    return {
        "tensor": "x".join(map(str, shape)),
        "rank": rank,
        "peer": f"tensorly {version('tensorly')}",
        "peer s/sweep": sweep[0],
        "netpact s/sweep": sweep[1],
        "ratio": sweep[0] / sweep[1],
        "aim": aim,
        "peer error": errors[-1],
        "netpact error": reached[-1],
        "netpact sweeps": needed,
        "peer s": slow,
        "netpact s": fast,
        "ratio to equal error": slow / fast,
        "peer MiB": peaks[0],
        "netpact MiB": peaks[1],
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    tensors = QUICK if parser.parse_args().quick else TENSORS
    if find_spec("tensorly") is None:
        print("tensorly is not installed: nothing to compare with")
        return
    keep_rows(__file__, (compare(*tensor) for tensor in tensors), quick=tensors is QUICK)


if __name__ == "__main__":
    main()
