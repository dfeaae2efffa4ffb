"""Signs that are added to the last layer of a base network: where its errors are many and alike, few of them help."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from netpact.coding import ShortFloat
from netpact.coding.format import Compressed
from netpact.coding.forms import CodedTensor, Difference, Ternary, TernaryMap
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.methods.annealing import anneal
from netpact.methods.flips import Flips
from netpact.methods.ternary_search import TernarySearch

_STEPS = (8.0, 4.0, 16.0, 2.0)  # of a weight's root mean square, by restart: one sign stands for many small changes


@dataclass(frozen=True, eq=False)
class Head:
    """A linear layer and what it receives for every sample.

    image  rows and columns of the maps that the features are
    """

    weight: NDArray[np.float64]
    bias: NDArray[np.float64]
    features: NDArray[np.float32]
    labels: NDArray[np.int64]
    image: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Correction:
    """step * signs, to be added to the weights; the bound, on ideal bits, that it was judged by."""

    signs: NDArray[np.int8]
    step: ShortFloat
    score: float


def search_correction(head: Head, options: TernarySearch, progress: Progress | None) -> Correction:
    """From no change at all, once for each restart and its step; the one with the lowest bound."""
    offset = (head.features.astype(np.float64) @ head.weight.T + head.bias).T.astype(np.float32)
    spread = float(np.sqrt(np.mean(np.square(head.weight)))) or 1.0
    found = []
    for restart in range(options.restarts):

        def report(done: int, _: int, before: int = restart * options.steps) -> None:
            if progress is not None:
                progress(before + done, options.restarts * options.steps)

        # A power of two is the cheapest to write.
        step = ShortFloat(ShortFloat.nearest(spread * _STEPS[restart % len(_STEPS)]).exponent, 0)
        flips = Flips(
            head.features * np.float32(step.value),
            head.labels,
            classes=len(head.weight),
            image=head.image,
            offset=offset,
        )
        best = anneal(
            flips,
            np.zeros(head.weight.shape, dtype=np.int8),
            steps=options.steps,
            bit_price=options.bit_price,
            random=Seed(options.seed).child("head-correction", restart).numpy(),
            progress=report,
        )
        found.append(Correction(best.signs, step, best.score))
    return min(found, key=lambda correction: correction.score)


def add_correction(body: Compressed, name: str, correction: Correction, image: tuple[int, int]) -> Compressed:
    """The network with its named linear layer, coded as the base's, changed by the correction."""
    if not correction.signs.any():
        return body
    inner = Ternary(correction.step) if image == (1, 1) else TernaryMap(correction.step)
    symbols = correction.signs.ravel().astype(np.int64)
    coded = CodedTensor(Difference(inner), symbols, correction.signs.shape)
    return replace(body, tensors={**body.tensors, f"{name}.weight": coded})
