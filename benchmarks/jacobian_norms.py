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
import time

import numpy as np
import torch
from recording import Row, keep_rows, median_seconds
from torch import Tensor, nn

from netpact import Seed, build, fold_batch_norm, load_model, parse_model, trace
from netpact.datasets import ArraySamples
from netpact.measurements import PairNorm, Structure, find_structure, measure_jacobians
from netpact.models import initialise
from netpact.network import Network, PartialMap

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
    seconds, _ = median_seconds(lambda: torch.func.vmap(lambda unit: pull((unit,)))(units), time.process_time)
    return seconds / rows * outputs[0].numel()


def gibibytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def row(network: Network, structure: Structure, images: Tensor) -> Row:
    image = images[:1]

    def run(count: int) -> dict[tuple[int, int], PairNorm]:
        return measure_jacobians(network, structure, images[:count], accuracy=ACCURACY, seed=Seed(0))

    alone, found = median_seconds(lambda: run(1), time.process_time)
    together, _ = median_seconds(lambda: run(4), time.process_time)
    ours_memory = gibibytes()
    errors = [float(norm.norm_error[0] / norm.norm[0]) for norm in found.values() if norm.norm_error is not None]
    peer = {pair: chunk_seconds(network, pair, image) for pair in found}
    full_seconds, full = median_seconds(lambda: exact_norm(network, CHECKED, image), time.process_time)
    off = abs(found[CHECKED].norm[0] / full - 1)
    total = sum(peer.values()) + full_seconds - peer[CHECKED]
    return {
        "pairs of layers": len(found),
        "netpact, one image, s": alone,
        "netpact, four images together, s an image": together / 4,
        "largest standard error %": 100 * max(errors),
        "aim %": 100 * ACCURACY,
        "GiB": ours_memory,
        "aim GiB": AIM_GIB,
        "jacrev, all pairs from chunks, s": total,
        f"jacrev, pair {CHECKED} in full, s": full_seconds,
        "the same from chunks, s": peer[CHECKED],
        "netpact is off there by %": 100 * off,
        "ratio": total / alone,
        "aim": AIM_RATIO,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--weights")
    options = parser.parse_args()
    torch.set_num_threads(1)
    network, images = open_network("vgg:11-8-1" if options.quick else "vgg:11-64-1", options.weights)
    structure = find_structure(network, images)
    measure_jacobians(network, structure, images[:1], accuracy=1.0, seed=Seed(0))  # what the first call loads
    keep_rows(__file__, [row(network, structure, images)], quick=options.quick)


if __name__ == "__main__":
    main()
