"""Near ties, errors and time of counting them for deep networks, in every arithmetic, beside a plain float32 pass.

Each trained network (a .safetensors file of netpact, such as resnet-20 on CIFAR-10) is quantised to 8 and to 4 bits. In
the proven arithmetics test images are run batch after batch by three programs in turn: a plain float32 pass,
`ToleranceRun.decide` as certify and verify run it, and the bound entry by entry alone. Integers and as run are counted
by `count_errors` on all images, in turn with a plain pass of the same network in batches of 32, which are the fastest.
Milliseconds are processor time for one image: the median over batches or turns without the first, in which more is
checked.

With --wide also WRN-28-10 with weights as they are initialised, in float64 on three batches.

Run: OMP_NUM_THREADS=1 python benchmarks/counting.py WEIGHTS...           (500 and 10,000 images; some minutes each)
     OMP_NUM_THREADS=1 python benchmarks/counting.py WEIGHTS... --quick   (200 and 1,024 images; no file is written)
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

from netpact import Quantize, WholeNumber, as_data, compress, load_data, seal, trace
from netpact.datasets import Data
from netpact.models import build, load_model, parse_model
from netpact.network import Network, count_errors
from netpact.network.rounding.tolerance_run import Logits, ToleranceRun

MOST = 512  # at a time, as count_errors has it; memory allows fewer
FASTEST = 32  # images at a time, where nothing is followed
WIDE = "wrn:28-10-2"
TURNS = 3  # of a plain pass and a count; the first of each is left out


class Tally:
    """Errors and near ties as count_errors counts them."""

    def __init__(self) -> None:
        self.errors = self.near_ties = self.samples = 0
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
        self.samples += len(labels)

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds[1:])


@torch.no_grad()
def count_proven(
    module: nn.Module, data: Data, arithmetic: str, *, images: int, entries: bool = True
) -> dict[str, Tally]:
    """entries: also entry by entry alone"""
    run, plain = ToleranceRun(module, arithmetic, patient=False), module.eval()
    if not entries:
        run.trials = 0  # as after some samples that were run entry by entry in vain
    tallies = {name: Tally() for name in ("plain", "now", *(("entries",) if entries else ()))}
    assert data.test is not None
    size = run.batch(data.input_shape, most=MOST)
    for inputs, classes in itertools.islice(data.test.batches(size), -(-images // size)):
        x, labels = torch.from_numpy(inputs), torch.from_numpy(classes)
        works: dict[str, Callable[[], Logits]] = {
            "plain": lambda x=x: _without_bound(plain(x)),
            "now": lambda inputs=inputs: run.decide(inputs),
            "entries": lambda x=x: run._follow(x, None),
        }
        for name, tally in tallies.items():
            tally.add(works[name], labels)
    return tallies


@torch.no_grad()
def count_plainly(module: nn.Module, plain: nn.Module, data: Data, arithmetic: str, *, images: int) -> dict[str, Tally]:
    """plain  a network of ordinary layers, whose pass the time is compared with"""
    assert data.test is not None
    inputs, classes = next(iter(data.test.batches(images)))
    few, labels = as_data((inputs, classes)).train, torch.from_numpy(classes)
    tallies = {"plain": Tally(), "now": Tally()}
    plainly, now = tallies["plain"], tallies["now"]
    parts = torch.from_numpy(inputs).split(FASTEST)
    for _ in range(TURNS):
        plainly.add(lambda: _without_bound(torch.cat([plain(part) for part in parts])), labels)
        start = time.process_time()
        found = count_errors(module, few, arithmetic=arithmetic)
        now.milliseconds.append(1000 * (time.process_time() - start) / found.samples)
    plainly.errors //= TURNS
    now.errors, now.near_ties, now.samples = found.errors, found.near_ties, found.samples
    return tallies


def _without_bound(logits: Tensor) -> Logits:
    return Logits(logits.double(), torch.zeros_like(logits).double())


def rows(weights: list[Path], *, few: int, many: int, wide: bool) -> Iterator[Row]:
    data = load_data("cifar10")
    for path in weights:
        network = trace(load_model(path).eval(), data)
        for bits in (8, 4):
            yield from _of_one(network, data, bits, few=few, many=many)
    if wide:
        module = build(parse_model(WIDE, input_shape=data.input_shape, classes=data.classes)).eval()
        size = ToleranceRun(module, "float64").batch(data.input_shape, most=MOST)
        found = count_proven(module, data, "float64", images=4 * size, entries=False)
        yield _row(f"{WIDE}, initial weights", "float64", found["plain"], found["now"])


def _of_one(network: Network, data: Data, bits: int, *, few: int, many: int) -> Iterator[Row]:
    name = f"{network.name}, {bits} bits"
    module = seal(compress(network, Quantize(bits=bits))).to_module().eval()
    for arithmetic in ("float64", "float32"):
        found = count_proven(module, data, arithmetic, images=few)
        if arithmetic == "float64":
            yield _row(name, "float64, entry by entry", found["plain"], found["entries"])
        yield _row(name, arithmetic, found["plain"], found["now"])
    whole = seal(compress(network, WholeNumber(bits=bits), samples=data.train)).to_module().eval()
    found = count_plainly(whole, module, data, "whole", images=many)
    yield _row(name, "integers", found["plain"], found["now"])
    found = count_plainly(module, module, data, "as-run", images=many)
    yield _row(name, "as run", found["plain"], found["now"])


def _row(name: str, way: str, plain: Tally, found: Tally) -> Row:
    return {
        "network": name,
        "counted": way,
        "images": found.samples,
        "errors, plain pass": plain.errors,
        "errors": found.errors,
        "near ties": found.near_ties,
        "ms": round(found.median, 2),
        "in plain passes": round(found.median / plain.median, 2),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("weights", type=Path, nargs="+")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--wide", action="store_true")
    given = parser.parse_args()
    few, many = (200, 1024) if given.quick else (500, 10_000)
    keep_rows(__file__, rows(given.weights, few=few, many=many, wide=given.wide), quick=given.quick)
