"""|J^{i,j}|_F of all pairs of layers of VGG-11 on a 32 x 32 image: netpact against torch.func.jacrev, pair by pair.

The peer computes a Jacobian row by row, in chunks so that its memory stays bounded, and takes its norm. One pair is run
in full, which also checks our number. Of every other pair a chunk of rows is timed and multiplied by the number of
chunks: the rows of a Jacobian all cost the same, and the full runs of the largest would need hours and 9 GiB each.
Weights are those before training; for trained ones give a .safetensors file of netpact train.

Run: OMP_NUM_THREADS=1 python benchmarks/jacobian_norms.py [--quick] [--weights FILE]
     (about two minutes; --quick, a narrow network: ten seconds)
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from netpact import Seed, build, fold_batch_norm, load_model, parse_model, trace
from netpact.datasets import ArraySamples
from netpact.measurements import PairNorm, Structure, find_structure, measure_jacobians
from netpact.models import initialise
from netpact.network import Network, PartialMap

T = TypeVar("T")

REPEATS = 3
ACCURACY = 0.03
CHUNK = 64
CHECKED = (4, 6)  # the pair that the peer computes in full
AIM_RATIO, AIM_GIB = 20.0, 3.0


def open_network(name: str, weights: str | None) -> tuple[Network, Tensor]:
    inputs = np.random.default_rng(0).random((4, 3, 32, 32)).astype(np.float32)
    samples = ArraySamples(inputs, np.zeros(4, dtype=np.int64), "random images", 10)
    if weights is None:
        module: nn.Module = build(parse_model(name, input_shape=(3, 32, 32), classes=10))
        initialise(module, Seed(0))
    else:
        module = load_model(weights)
    return trace(fold_batch_norm(module.eval(), samples), samples), torch.from_numpy(inputs)


def median_time(work: Callable[[], T]) -> tuple[float, T]:
    """The median of a few runs in seconds of the processor, and what the last one gave."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    return statistics.median(times), result


def exact_norm(network: Network, pair: tuple[int, int], image: Tensor) -> float:
    partial = PartialMap(network, pair[0], (pair[1],), image)
    (jacobian,) = torch.func.jacrev(partial, chunk_size=CHUNK)(partial.point())
    return float(jacobian.detach().norm())


def chunk_seconds(network: Network, pair: tuple[int, int], image: Tensor) -> float:
    """What one chunk of rows costs, as jacrev computes it: one vector-Jacobian product for each, side by side."""
    partial = PartialMap(network, pair[0], (pair[1],), image)
    outputs, pull = torch.func.vjp(partial, partial.point())
    rows = min(CHUNK, outputs[0].numel())
    units = torch.eye(rows, outputs[0].numel()).reshape(rows, *outputs[0].shape)
    seconds, _ = median_time(lambda: torch.func.vmap(lambda unit: pull((unit,)))(units))
    return seconds / rows * outputs[0].numel()


def gibibytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def report(network: Network, structure: Structure, images: Tensor) -> None:
    image = images[:1]

    def run(count: int) -> dict[tuple[int, int], PairNorm]:
        return measure_jacobians(network, structure, images[:count], accuracy=ACCURACY, seed=Seed(0))

    alone, found = median_time(lambda: run(1))
    together, _ = median_time(lambda: run(4))
    ours_memory = gibibytes()
    errors = [float(norm.norm_error[0] / norm.norm[0]) for norm in found.values() if norm.norm_error is not None]
    peer = {pair: chunk_seconds(network, pair, image) for pair in found}
    full_seconds, full = median_time(lambda: exact_norm(network, CHECKED, image))
    off = abs(found[CHECKED].norm[0] / full - 1)
    total = sum(peer.values()) + full_seconds - peer[CHECKED]
    lines = (
        f"pairs of layers                         {len(found):>10}",
        f"ours, one image, all pairs              {alone:>10.2f} s",
        f"ours, four images together, per image   {together / 4:>10.2f} s",
        f"largest standard error                  {100 * max(errors):>10.2f} %",
        f"largest memory so far                   {ours_memory:>10.2f} GiB",
        f"jacrev, pair {CHECKED}, in full           {full_seconds:>10.2f} s   (from a chunk {peer[CHECKED]:.2f} s)",
        f"our number there is off by              {100 * off:>10.2f} %",
        f"jacrev, all pairs, from chunks          {total:>10.1f} s",
        f"ratio                                   {total / alone:>10.0f}",
    )
    print("\n".join(lines))
    if total / alone < AIM_RATIO or ours_memory > AIM_GIB or max(errors) > ACCURACY:
        print(f"below the aim: {AIM_RATIO:g} times, {ACCURACY:.0%}, {AIM_GIB:g} GiB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--weights")
    options = parser.parse_args()
    torch.set_num_threads(1)
    network, images = open_network("vgg:11-8-1" if options.quick else "vgg:11-64-1", options.weights)
    structure = find_structure(network, images)
    measure_jacobians(network, structure, images[:1], accuracy=1.0, seed=Seed(0))  # what the first call loads
    report(network, structure, images)


if __name__ == "__main__":
    main()
