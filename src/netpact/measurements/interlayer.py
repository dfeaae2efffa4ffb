"""Interlayer cushions and the spread of the Jacobian over pixels, from norms at some of the samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from netpact.core.seed import Seed
from netpact.measurements.jacobians import Pair, PairNorm, measure_jacobians
from netpact.measurements.quantity import LEAST, MOST, Numbers, Quantity, divide, of_weights, over_samples
from netpact.measurements.streaming import norms_of
from netpact.measurements.structure import Structure, WeightLayer
from netpact.network import Network, PartialMap


@dataclass(frozen=True, eq=False)
class PairNumbers:
    """One pair i < j for each sample: both cushions with the standard errors of probes (None: no probes), and beta."""

    cushion: Numbers
    with_bias: Numbers
    share: Numbers | None
    peak: Numbers | None
    peak_error: Numbers | None


def measure_pairs(
    network: Network, structure: Structure, inputs: Tensor, *, accuracy: float, seed: Seed
) -> dict[Pair, PairNumbers]:
    """Both interlayer cushions of every pair (Arora et al. 2018, Definitions 5 and 8) for a batch of samples.

        mu_ij = sqrt(n1 n2) |J x^i| / (|J|_F |x^i|),   with outputs that have a bias: |x^j| in the place of |J x^i|

    J x^i comes from one forward-mode pass for all j at once.
    """
    norms = measure_jacobians(network, structure, inputs, accuracy=accuracy, seed=seed)
    found: dict[Pair, PairNumbers] = {}
    for layer in structure.layers:
        ends = tuple(end for end in structure.ends(layer.index) if (layer.index, end) in norms)
        if not ends:
            continue
        partial = PartialMap(network, layer.index, ends, inputs)
        point = partial.point()
        with torch.no_grad():
            values = partial(point)
        for end, pushed, value in zip(ends, partial.push(point), values, strict=True):
            found[layer.index, end] = _cushions(layer, norms[layer.index, end], point, pushed, value)
    return found


def _cushions(layer: WeightLayer, norm: PairNorm, point: Tensor, pushed: Tensor, value: Tensor) -> PairNumbers:
    below = norm.norm * norms_of(point).numpy()
    places = math.sqrt(layer.places)
    return PairNumbers(
        divide(places * norms_of(pushed).numpy(), below, side=LEAST),
        divide(places * norms_of(value).numpy(), below, side=LEAST),
        None if norm.norm_error is None else divide(norm.norm_error, norm.norm, side=MOST),
        norm.peak,
        norm.peak_error,
    )


def join_batches(batches: Sequence[Mapping[Pair, PairNumbers]]) -> dict[Pair, PairNumbers]:
    def join(parts: Sequence[Numbers | None]) -> Numbers | None:
        known = [part for part in parts if part is not None]
        return np.concatenate(known) if known else None

    return {
        pair: PairNumbers(
            np.concatenate([batch[pair].cushion for batch in batches]),
            np.concatenate([batch[pair].with_bias for batch in batches]),
            join([batch[pair].share for batch in batches]),
            join([batch[pair].peak for batch in batches]),
            join([batch[pair].peak_error for batch in batches]),
        )
        for pair in batches[0]
    }


@dataclass(frozen=True, eq=False)
class Interlayer:
    """What the pairs from one layer say."""

    cushions: dict[int, Quantity]
    with_bias: dict[int, Quantity]
    least: Quantity
    unclipped: Quantity | None
    least_with_bias: Quantity
    well_distributed: Quantity


def summarise_pairs(layer: WeightLayer, pairs: Mapping[int, PairNumbers], *, complete: bool) -> Interlayer:
    """mu_i-> = min(1/sqrt(h_i), min_j mu_ij), and beta_i, the most over pixels and j (Definition 9)."""
    clip = 1 / math.sqrt(layer.units)
    if not pairs:
        return Interlayer({}, {}, of_weights(clip), None, of_weights(clip), of_weights(1.0))
    plain = {end: _with_errors(numbers.cushion, numbers.share) for end, numbers in pairs.items()}
    biased = {end: _with_errors(numbers.with_bias, numbers.share) for end, numbers in pairs.items()}
    peaks = [(numbers.peak, numbers.peak_error) for numbers in pairs.values() if numbers.peak is not None]
    beta = of_weights(1.0)
    if layer.kind == "conv2d" and peaks:
        beta = _over(_worst(peaks, side=MOST), side=MOST, complete=complete)
    return Interlayer(
        {end: _over(numbers, side=LEAST, complete=complete) for end, numbers in plain.items()},
        {end: _over(numbers, side=LEAST, complete=complete) for end, numbers in biased.items()},
        _least(plain, complete=complete, clip=clip),
        _least(plain, complete=complete, clip=math.inf),
        _least(biased, complete=complete, clip=clip),
        beta,
    )


_WithErrors = tuple[Numbers, "Numbers | None"]


def _with_errors(numbers: Numbers, share: Numbers | None) -> _WithErrors:
    return numbers, None if share is None else np.where(np.isfinite(numbers), numbers, 0.0) * share


def _least(pairs: Mapping[int, _WithErrors], *, complete: bool, clip: float) -> Quantity:
    numbers, errors = _worst(list(pairs.values()), side=LEAST)
    if errors is not None:
        errors = np.where(numbers > clip, 0.0, errors)
    return over_samples(np.minimum(numbers, clip), side=LEAST, complete=complete, errors=errors)


def _worst(entries: Sequence[tuple[Numbers, Numbers | None]], *, side: str) -> _WithErrors:
    """For each sample the worst of the entries, and the error of that entry."""
    numbers = np.stack([entry[0] for entry in entries])
    errors = np.stack([np.zeros_like(entry[0]) if entry[1] is None else entry[1] for entry in entries])
    place = (numbers.argmin(axis=0) if side == LEAST else numbers.argmax(axis=0))[None]
    worst = np.take_along_axis(numbers, place, axis=0)[0]
    if all(entry[1] is None for entry in entries):
        return worst, None
    return worst, np.take_along_axis(errors, place, axis=0)[0]


def _over(entry: _WithErrors, *, side: str, complete: bool) -> Quantity:
    return over_samples(entry[0], side=side, complete=complete, errors=entry[1])
