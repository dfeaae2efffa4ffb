"""Operator norms of convolutions: netpact against the half-plane FFT with all singular values (Sedghi et al. 2019).

The peer is given its best settings: single precision, half of the frequencies by conjugate symmetry, one batched
`svdvals`. It is the norm for circular padding and one image size, in rounded arithmetic; netpact's upper bound is
proven for every size. Slack is against the supremum of the symbol, found by a search around the peer's peak.
torch's spectral_norm, of the kernel as a matrix, is shown to say that it is not an operator norm.

Run: OMP_NUM_THREADS=1 python benchmarks/operator_norm.py [--quick]      (about four minutes; --quick: ten seconds)
"""

from __future__ import annotations

import argparse
import math

import torch
from recording import Row, keep_rows, median_seconds
from torch import Tensor, nn

from netpact import operator_norm

# channels, pixels of the peer's image, lowest ratio aimed at
LAYERS = ((64, 224, 150.0), (512, 32, 4.0))
QUICK = ((16, 64, 0.0), (64, 32, 0.0))


def half_plane_norm(weight: Tensor, pixels: int) -> tuple[float, tuple[float, float]]:
    """Largest singular value over half the frequencies of a pixels x pixels image, and the frequency it is met at."""
    symbols = torch.fft.rfft2(weight, (pixels, pixels)).permute(2, 3, 0, 1)
    values = torch.linalg.svdvals(symbols)[..., 0]
    place = int(values.argmax())
    row, column = divmod(place, values.shape[1])
    return float(values.max()), (row / pixels, column / pixels)


def supremum(weight: Tensor, around: tuple[float, float]) -> float:
    """The largest singular value of the symbol near a frequency: ever finer grids around the best point."""
    best, width, (row, column) = 0.0, 1 / 32, around
    kernel = weight.double()
    places = torch.arange(3, dtype=torch.float64)
    for _ in range(4):
        centre = (row, column)
        for i in range(-2, 3):
            for j in range(-2, 3):
                turns = (centre[0] + i * width / 2, centre[1] + j * width / 2)
                phases = turns[0] * places[:, None] + turns[1] * places
                waves = torch.polar(torch.ones_like(phases), -2 * math.pi * phases)
                value = float(torch.linalg.matrix_norm(torch.tensordot(kernel + 0j, waves, dims=2), 2))
                if value > best:
                    best, (row, column) = value, turns
        width /= 3
    return best


def row(channels: int, pixels: int, aim: float) -> Row:
    generator = torch.Generator().manual_seed(channels)
    layer = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.randn(layer.weight.shape, generator=generator) / (3 * math.sqrt(channels)))
    weight = layer.weight.detach()
    our_time, ours = median_seconds(lambda: operator_norm(layer))
    peer_time, (value, frequency) = median_seconds(lambda: half_plane_norm(weight, pixels))
    true = max(value, supremum(weight, frequency))
    reshaped = float(torch.linalg.matrix_norm(weight.flatten(1), 2))
    return {
        "channels": channels,
        "image of the FFT": f"{pixels} x {pixels}",
        "netpact s": our_time,
        "FFT s": peer_time,
        "ratio": peer_time / our_time,
        "aim": aim,
        "lower": ours.lower,
        "supremum": true,
        "upper": ours.upper,
        "slack %": 100 * (ours.upper / true - 1),
        "kernel as a matrix": reshaped,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    layers = QUICK if parser.parse_args().quick else LAYERS
    torch.set_num_threads(1)
    operator_norm(nn.Conv2d(2, 2, 3))  # what the first call loads
    keep_rows(__file__, (row(*layer) for layer in layers), quick=layers is QUICK)


if __name__ == "__main__":
    main()
