"""Tails of a VGG-16 of 15 million weights: netpact.measure_tails against weightwatcher, and against an exhaustive scan.

The weights are random, not trained: Student's t with 3 degrees of freedom, scaled as He et al. 2015 do, so that there
are tails to fit. weightwatcher's analyze() takes the eigenvalues of the slices of each kernel together, so this is what
is compared; netpact's default, one matrix for each kernel, and its fits of all weights stand beside it. Exhaustive is a
plain loop over all eigenvalues as starts of the tail, on singular values from numpy's svd. Distances are computed anew
by one formula from each fit's start and exponent. Medians of three runs, one thread each, in processes of their own.
The last row is one layer of 40 million weights; its peak memory is beyond that of making the weights.

weightwatcher is no dependency of netpact: install weightwatcher 0.7 with torch into an environment of its own, and name
its interpreter. It reaches for torchvision, which an empty module stands in for.

Run: OMP_NUM_THREADS=1 python benchmarks/tails.py --peer ENVIRONMENT/bin/python [--quick]     (minutes; seconds)
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

FULL = (64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512)
SMALL = (8, 8, 16, 16)
LARGE = (4000, 10_000)
Fit = tuple[float, float]  # start, alpha


def build(channels: tuple[int, ...]) -> nn.Sequential:
    random = np.random.default_rng(0)
    layers: list[nn.Module] = []
    before = 3
    for count in channels:
        layers.append(nn.Conv2d(before, count, 3, bias=False))
        before = count
    layers += [nn.Linear(before, before, bias=False), nn.Linear(before, before, bias=False), nn.Linear(before, 10)]
    with torch.no_grad():
        for layer in layers:
            drawn = random.standard_t(3, tuple(layer.weight.shape)) * math.sqrt(2 / layer.weight[0].numel() / 3)
            layer.weight.copy_(torch.from_numpy(drawn))
    return nn.Sequential(*layers)


def watch(channels: tuple[int, ...]) -> dict[str, Any]:
    """The peer's side; runs in its own interpreter, which has no netpact."""
    for name in ("torchvision", "torchvision.models"):
        sys.modules.setdefault(name, types.ModuleType(name))
    import weightwatcher

    module, times = build(channels), []
    for _ in range(3):
        start = time.perf_counter()
        found = weightwatcher.WeightWatcher(model=module).analyze()
        times.append(time.perf_counter() - start)
    fits = {str(row["name"]): (float(row["xmin"]), float(row["alpha"])) for _, row in found.iterrows()}
    return {"seconds": statistics.median(times), "fits": fits, "version": weightwatcher.__version__}


def slices(weight: torch.Tensor) -> np.ndarray:
    parts = weight.detach().double().flatten(2).unbind(2) if weight.ndim > 2 else (weight.detach().double(),)
    return np.sort(np.concatenate([np.linalg.svd(part.numpy(), compute_uv=False) ** 2 for part in parts]))


def distance(values: np.ndarray, fit: Fit) -> float:
    """values ascending; a start between two of them counts as the upper one."""
    start, alpha = fit
    tail = values[values >= start * (1 - 1e-9)]
    steps = np.arange(len(tail) + 1) / len(tail)
    function = 1 - (tail / tail[0]) ** (1 - alpha)
    return float(max(np.abs(function - steps[:-1]).max(), np.abs(function - steps[1:]).max()))


def exhaustive(values: np.ndarray) -> Fit:
    best, found = np.inf, (0.0, 0.0)
    for place in range(len(values) - 1):
        logs = np.log(values[place:] / values[place])
        exponent = len(logs) / logs.sum()
        worst = distance(values[place:], (values[place], 1 + exponent))
        if worst < best:
            best, found = worst, (float(values[place]), 1 + float(exponent))
    return found


def peak(work: Callable[[], object]) -> float:
    """MiB beyond what the process had before."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def _large(shape: tuple[int, int]) -> tuple[float, float]:
    from netpact import TailOptions, measure_tails

    layer = nn.Linear(shape[1], shape[0], bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.randn(shape, generator=torch.Generator().manual_seed(0)) / 100)
    start = time.perf_counter()
    most = peak(lambda: measure_tails(layer, TailOptions(eigenvalues=False)))
    return time.perf_counter() - start, most


def in_process(work: Callable[[Any], Any], task: object) -> Any:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(work, [task])[0]


def rows(channels: tuple[int, ...], large: tuple[int, int], peer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    from recording import median_seconds

    from netpact import TailOptions, measure_tails

    module = build(channels)
    weights = sum(parameter.numel() for parameter in module.parameters() if parameter.ndim > 1)
    only = {"weights": False, "stable": False}
    # What is measured, the options, whether the peer does the same.
    cases: tuple[tuple[str, dict[str, Any], bool], ...] = (
        ("eigenvalues of slices", {**only, "convolution": "slices"}, True),
        ("eigenvalues of matrices", only, False),
        ("weights", {"eigenvalues": False, "stable": False}, False),
        ("stable distributions", {"eigenvalues": False, "weights": False}, False),
    )
    for what, options, same in cases:
        seconds, found = median_seconds(lambda options=options: measure_tails(module, TailOptions(**options)))
        row = {
            "measured": f"{what}, {weights:,} weights",
            "netpact s": seconds,
            "peer": f"weightwatcher {peer['version']}" if same else None,
            "peer s": peer["seconds"] if same else None,
            "ratio": peer["seconds"] / seconds if same else None,
            "aim": 1 if same else None,
            "MiB": None,
            **dict.fromkeys(("layers", "off from exhaustive KS", "off from exhaustive alpha", "peer KS lower in")),
            "peer alpha off by 0.1 in": None,
        }
        if same:
            row |= compare(module, found, peer)
        yield row
    seconds, most = in_process(_large, large)
    yield dict.fromkeys(row) | {
        "measured": f"weights and stable, one layer of {math.prod(large):,}",
        "netpact s": seconds,
        "MiB": most,
    }


def compare(module: nn.Sequential, found: Any, peer: dict[str, Any]) -> dict[str, Any]:
    """The largest differences to the exhaustive scan over the layers; in how many layers the peer is nearer, or far."""
    off_ks = off_alpha = 0.0
    lower = far = count = 0
    for layer in found.layers:
        if layer.eigenvalues is None:
            continue
        values = slices(module[int(layer.name)].weight)
        ours = layer.eigenvalues.fit
        best = exhaustive(values)
        off_ks = max(off_ks, abs(distance(values, (ours.xmin, ours.alpha)) - distance(values, best)))
        off_alpha = max(off_alpha, abs(ours.alpha - best[1]))
        count += 1
        if layer.name in peer["fits"]:
            theirs = peer["fits"][layer.name]
            # The slices are scaled there; alpha and the number in the tail do not change. Its start is not used.
            far += abs(theirs[1] - ours.alpha) > 0.1
            lower += best_of_alpha(values, theirs[1]) < ours.ks - 1e-9
    return {
        "layers": count,
        "off from exhaustive KS": off_ks,
        "off from exhaustive alpha": off_alpha,
        "peer KS lower in": lower,
        "peer alpha off by 0.1 in": far,
    }


def best_of_alpha(values: np.ndarray, alpha: float) -> float:
    """The distance from the start at which maximum likelihood gives about this exponent."""
    logs = np.log(values)
    counts = np.arange(len(values), 0, -1)
    exponents = 1 + counts[:-1] / (np.cumsum(logs[::-1])[::-1][:-1] - counts[:-1] * logs[:-1])
    place = int(np.abs(exponents - alpha).argmin())
    return distance(values[place:], (float(values[place]), float(exponents[place])))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--peer")
    parser.add_argument("--as-peer", action="store_true")
    asked = parser.parse_args()
    channels = SMALL if asked.quick else FULL
    if asked.as_peer:
        torch.set_num_threads(1)
        print(json.dumps(watch(channels)))
        return
    if asked.peer is None or not Path(asked.peer).exists():
        print("weightwatcher is not installed: nothing to compare with")
        return
    from recording import keep_rows

    command = [asked.peer, __file__, "--as-peer", *(["--quick"] if asked.quick else [])]
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=bare).stdout.splitlines()[-1]
    large = (100, 400) if asked.quick else LARGE
    keep_rows(__file__, rows(channels, large, json.loads(told)), quick=asked.quick)


if __name__ == "__main__":
    main()
