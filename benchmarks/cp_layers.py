"""Convolutions in CP form: netpact against dense layers and tensorly-torch, how long they take to make and to run.

Making: a 256 -> 256, 3 x 3 convolution with torch's first weights becomes a layer with half of its parameters, by
FactorizedConv.from_conv and by CPConv2d.from_dense, both with default options; and again by netpact with no more sweeps
than take it to tensorly-torch's error. Running: 32 images of 256 x 32 x 32 through the dense layer, through a CP layer
with 1/8 of its parameters, and through tensorly-torch's at the same rank, whose implementations "reconstructed" (the
dense kernel is built for each batch) and "factorized" are its two. No gradients, equal threads, medians of three.
tensorly-torch is no dependency of netpact: install tensorly 0.10 and tensorly-torch 0.5 into a folder of their own and
name that in PYTHONPATH; without them only the dense layer is compared with.

Run: OMP_NUM_THREADS=1 python benchmarks/cp_layers.py [--quick] [--run]      (fifteen minutes; --quick: seconds)
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from recording import Row, keep_rows, median_seconds
from torch import Tensor, nn

from netpact.algebra import ALSOptions, cp_decompose
from netpact.layers import CPConv2d, rank_for_share


class Size(NamedTuple):
    channels: int
    side: int
    images: int


FULL, QUICK = Size(256, 32, 32), Size(32, 8, 2)
# Settings of parafac that tensorly-torch's documentation names: the second one is its own default for linear layers.
SETTINGS: dict[str, dict[str, Any]] = {"default": {}, "init random": {"init": "random"}}
LAYOUTS = {"NCHW": torch.contiguous_format, "channels_last": torch.channels_last}


def dense_layer(size: Size) -> nn.Conv2d:
    torch.manual_seed(0)
    return nn.Conv2d(size.channels, size.channels, 3, padding=1)


def relative_error(weight: Tensor, layer: nn.Conv2d) -> float:
    wanted = layer.weight.detach()
    return float(torch.dist(weight.detach().reshape(wanted.shape), wanted) / wanted.norm())


def make_row(work: str, peer: str, seconds: tuple[float, float], aim: float | None, errors: tuple[Any, Any]) -> Row:
    slow, fast = seconds
    row: Row = {"work": work, "peer": peer, "peer s": slow, "netpact s": fast, "ratio": slow / fast, "aim": aim}
    return row | {"peer error": errors[0], "netpact error": errors[1]}


def peer_layer(layer: nn.Conv2d, rank: float, **options: Any) -> nn.Module:
    import tensorly
    from tltorch import FactorizedConv

    tensorly.set_backend("pytorch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FactorizedConv.from_conv(layer, rank=rank, factorization="cp", **options)


def conversions(size: Size) -> Iterator[Row]:
    layer = dense_layer(size)
    rank = rank_for_share(layer, 0.5)
    quick, made = median_seconds(lambda: CPConv2d.from_dense(layer, rank))
    error = relative_error(made.to_dense().weight, layer)
    course = cp_decompose(layer.weight, rank, merge_spatial=True, options=ALSOptions(starts=1)).errors
    for name, settings in SETTINGS.items():
        slow, other = median_seconds(lambda s=settings: peer_layer(layer, 0.5, decomposition_kwargs=s))
        reached = relative_error(other.weight.to_tensor(), layer)
        peer = f"tensorly-torch {version('tensorly-torch')}, {name}"
        yield make_row("make, default options", peer, (slow, quick), 20.0, (reached, error))
        sweeps = next((n for n, found in enumerate(course, 1) if found <= reached), len(course))
        options = ALSOptions(starts=1, sweeps=sweeps)
        fast, equal = median_seconds(lambda o=options: CPConv2d.from_dense(layer, rank, options=o))
        same = relative_error(equal.to_dense().weight, layer)
        yield make_row(f"make, {sweeps} sweeps", peer, (slow, fast), 20.0, (reached, same))


@torch.no_grad()
def run_seconds(layer: nn.Module, images: Tensor) -> float:
    run: Callable[[], Tensor] = lambda: layer(images)  # noqa: E731
    run()  # what is set up at the first run is not counted
    return median_seconds(run)[0]


def forwards(size: Size) -> Iterator[Row]:
    layer = dense_layer(size)
    rank = rank_for_share(layer, 1 / 8)
    made = CPConv2d.like(layer, rank)
    made.reset_parameters()
    images = torch.randn(size.images, size.channels, size.side, size.side)
    for layout, place in LAYOUTS.items():
        given = images.to(memory_format=place)
        fast = run_seconds(made.to(memory_format=place), given)
        slow = run_seconds(layer.to(memory_format=place), given)
        aim = 2.5 if layout == "NCHW" else 4.0
        yield make_row(f"run, rank {rank}, {layout}", "dense nn.Conv2d", (slow, fast), aim, (None, None))
        for way in ("reconstructed", "factorized") if find_spec("tltorch") else ():
            peer = peer_layer(layer, rank, implementation=way, decompose_weights=False).to(memory_format=place)
            name = f"tensorly-torch {version('tensorly-torch')}, {way}"
            yield make_row(f"run, rank {rank}, {layout}", name, (run_seconds(peer, given), fast), 1.0, (None, None))


def rows(size: Size, *, making: bool) -> Iterator[Row]:
    yield from forwards(size)
    if making and find_spec("tltorch"):
        yield from conversions(size)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--run", action="store_true", help="leave out how long layers take to make")
    asked = parser.parse_args()
    if find_spec("tltorch") is None:
        print("tensorly-torch is not installed: only the dense layer is compared with")
    keep_rows(__file__, rows(QUICK if asked.quick else FULL, making=not asked.run), quick=asked.quick)


if __name__ == "__main__":
    main()
