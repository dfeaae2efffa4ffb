"""Near ties, errors and time of counting them for a deep network: entry by entry, as before, and with Euclidean norms.

A trained network (a .safetensors file of resnet-20 on CIFAR-10) is quantised to 8 and 4 bits, batch norm folded or not.
The test images are run batch after batch by three programs in turn: a plain float32 pass, `ToleranceRun.decide` as
certify and verify run it, and the bound entry by entry alone. Milliseconds are those that the process was at work, for
one image, the median over the batches; the first batch, which is checked in other ways too, is left out.

Run: OMP_NUM_THREADS=1 python benchmarks/counting.py WEIGHTS            (565 images, in five batches; a few minutes)
     OMP_NUM_THREADS=1 python benchmarks/counting.py WEIGHTS --quick    (226 images; no file is written)
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from recording import Row, keep_rows
from torch import Tensor, nn

from netpact import Quantize, compress, fold_batch_norm, load_data, seal, trace
from netpact.datasets import Data
from netpact.models import build, load_weights, parse_model
from netpact.network.rounding.tolerance_run import Logits, ToleranceRun

MOST = 512  # at a time, as count_errors has it; memory allows fewer
FAST_ENOUGH = 4.0  # plain passes


def prepare(weights: Path, data: Data, *, bits: int, folded: bool) -> nn.Module:
    module = build(parse_model("resnet-20", input_shape=data.input_shape, classes=data.classes))
    load_weights(module, weights)
    network = trace(fold_batch_norm(module) if folded else module, data)
    return seal(compress(network, Quantize(bits=bits))).to_module()


class Tally:
    """Errors and near ties as count_errors counts them."""

    def __init__(self) -> None:
        self.errors = self.near_ties = 0
        self.milliseconds: list[float] = []

    def add(self, work: Callable[[], Logits], labels: Tensor) -> None:
        start = time.process_time()
        logits = work()
        self.milliseconds.append(1000 * (time.process_time() - start) / len(labels))
        own = logits.values.gather(1, labels[:, None])
        others = logits.values.scatter(1, labels[:, None], -torch.inf)
        apart = own - logits.spread.gather(1, labels[:, None]) > (others + logits.spread)
        rivals = torch.ones_like(apart).scatter(1, labels[:, None], False)
        surely = (apart | ~rivals).all(dim=1)
        self.errors += int((~surely).sum())
        self.near_ties += int(((own.squeeze(1) > others.amax(dim=1)) & ~surely).sum())

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds[1:])


@torch.no_grad()
def measure(module: nn.Module, data: Data, arithmetic: str, *, images: int) -> dict[str, Tally]:
    run, plain = ToleranceRun(module, arithmetic, patient=False), module.eval()
    tallies = {name: Tally() for name in ("plain", "now", "before")}
    assert data.test is not None
    size = run.batch(data.input_shape, most=MOST)
    for inputs, classes in itertools.islice(data.test.batches(size), -(-images // size)):
        x, labels = torch.from_numpy(inputs), torch.from_numpy(classes)
        works: dict[str, Callable[[], Logits]] = {
            "plain": lambda x=x: _without_bound(plain(x)),
            "now": lambda inputs=inputs: run.decide(inputs),
            "before": lambda x=x: run._follow(x, None),
        }
        for name, work in works.items():
            tallies[name].add(work, labels)
    return tallies


def _without_bound(logits: Tensor) -> Logits:
    return Logits(logits.double(), torch.zeros_like(logits).double())


def rows(weights: Path, images: int) -> Iterator[Row]:
    data = load_data("cifar10")
    for folded in (False, True):
        for bits in (8, 4):
            module = prepare(weights, data, bits=bits, folded=folded)
            for arithmetic in ("float64", "float32"):
                found = measure(module, data, arithmetic, images=images)
                plain, now, before = (found[name] for name in ("plain", "now", "before"))
                yield {
                    "network": f"{bits} bits{', folded' if folded else ''}",
                    "arithmetic": arithmetic,
                    "errors, plain": plain.errors,
                    "errors": now.errors,
                    "near ties before": before.near_ties,
                    "near ties": now.near_ties,
                    "plain ms": round(plain.median, 2),
                    "before ms": round(before.median, 1),
                    "ms": round(now.median, 2),
                    "in plain passes": round(now.median / plain.median, 1),
                    "aim": FAST_ENOUGH,
                }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("weights", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    keep_rows(__file__, rows(given.weights, 200 if given.quick else 500), quick=given.quick)
