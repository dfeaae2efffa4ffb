"""A trained ResNet in whole numbers: accuracy on the test samples, bytes, near ties, and the time to count errors.

Times are processor seconds of one thread for so many samples: a plain float32 pass, and count_errors, whose ratio is
taken in alternating runs.

Run: OMP_NUM_THREADS=1 python benchmarks/whole_numbers.py WEIGHTS.safetensors [DATA] [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
import torch
from recording import Row, keep_rows
from torch import Tensor, nn

import netpact
from netpact.datasets import Data, Samples
from netpact.models import load_model
from netpact.network import count_errors

_TIMED = 512
_CASES = (
    netpact.WholeNumber(bits=8),
    netpact.WholeNumber(bits=6),
    netpact.WholeNumber(bits=4, rounding="nearest"),
    netpact.WholeNumber(bits=4),
    netpact.WholeNumber(bits=3),
)


def rows(module: nn.Module, data: Data, *, quick: bool) -> Iterator[Row]:
    assert data.test is not None
    network = netpact.trace(module, data)
    timed = next(iter(data.test.batches(64 if quick else _TIMED)))
    few = netpact.as_data(timed).train
    x = torch.from_numpy(np.array(timed[0]))
    wrong = _wrong(module, data.test)
    yield {"network": f"{network.name}, float32", "bits": "32", "bytes": 4 * network.parameters, **_told(wrong, data)}
    for method in _CASES[:1] if quick else _CASES:
        start = time.process_time()
        pact = netpact.seal(netpact.compress(network, method, samples=data.train))
        spent = time.process_time() - start
        whole = pact.to_module()
        counted = count_errors(whole, few if quick else data.test, arithmetic="whole")
        pairs = [(_spent(_run, module, x), _spent(_count, whole, few)) for _ in range(3)]
        yield {
            "network": f"integers, {method.rounding}",
            "bits": f"{method.bits} and {method.activations}",
            "bytes": len(pact.message),
            **_told(counted.errors, data),
            "near ties": counted.near_ties,
            "compress s": spent,
            "count / plain pass": median(counting / plain for plain, counting in pairs),
        }


def _told(errors: int, data: Data) -> Row:
    assert data.test is not None
    return {"test accuracy %": 100 * (1 - errors / data.test.count), "near ties": None, "compress s": None} | {
        "count / plain pass": None
    }


def _spent(work: Callable[..., object], *given: object) -> float:
    start = time.process_time()
    work(*given)
    return time.process_time() - start


@torch.no_grad()
def _run(module: nn.Module, x: Tensor) -> Tensor:
    return torch.cat([module(part) for part in x.split(64)])


def _count(module: nn.Module, samples: Samples) -> object:
    return count_errors(module, samples, arithmetic="whole")


def _wrong(module: nn.Module, samples: Samples) -> int:
    batches = ((torch.from_numpy(np.array(x)), torch.from_numpy(np.array(y))) for x, y in samples.batches(512))
    return sum(int((_run(module, x).argmax(dim=1) != y).sum()) for x, y in batches)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights")
    parser.add_argument("data", nargs="?", default="cifar10")
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    module = load_model(chosen.weights).eval()
    keep_rows(__file__, rows(module, netpact.load_data(chosen.data), quick=chosen.quick), quick=chosen.quick)


if __name__ == "__main__":
    main()
