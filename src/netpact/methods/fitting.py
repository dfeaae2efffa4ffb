"""Rounding a tensor to a form: the form's parameters and symbols with the least squared error we can find quickly."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from netpact.coding import ShortFloat
from netpact.coding.forms import Codebook, CodedTensor, Exact, Ternary, Uniform, Zero

Array = NDArray[np.float64]
FormT = TypeVar("FormT")

_SAMPLE = 1 << 18  # entries that a step size or a codebook is fitted to
_OCTAVES = 3
_STEPS_PER_OCTAVE = 32  # twice as many as there are ShortFloats, so that none is passed over
_LLOYD_ROUNDS = 50


def fit_uniform_step(values: Array, *, bits: int, least: int = 0) -> Uniform | Zero:
    """The step with the least squared error among those a message can hold, 2^(bits-1) - 1 symbols to either side.

    least  the smallest magnitude of a symbol; 1 where a number must not become 0
    """
    limit = (1 << (bits - 1)) - 1
    values = _thin(values)
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return Zero()
    widest = largest / limit
    # From just above the widest, so that one of them reaches the largest entry without cutting it off.
    places = range(-3, _OCTAVES * _STEPS_PER_OCTAVE)
    steps = {ShortFloat.nearest(widest * 2 ** (-i / _STEPS_PER_OCTAVE)) for i in places}

    def squared_error(step: ShortFloat) -> float:
        return float(np.square(values - _to_symbols(values, step, limit, least) * step.value).sum())

    return Uniform(min(sorted(steps, reverse=True), key=squared_error))


def round_uniform(values: Array, form: Uniform | Zero, *, bits: int, least: int = 0) -> CodedTensor:
    if isinstance(form, Zero):
        return zero_tensor(values.shape)
    symbols = _to_symbols(values.ravel(), form.step, (1 << (bits - 1)) - 1, least).astype(np.int64)
    return CodedTensor(form, symbols, values.shape)


def _to_symbols(values: Array, step: ShortFloat, limit: int, least: int) -> Array:
    rounded = np.clip(np.rint(values / step.value), -limit, limit)
    return np.copysign(np.maximum(np.abs(rounded), least), values) if least else rounded


def ternary_symbols(values: Array, *, density: float) -> NDArray[np.int64]:
    """The signs of the largest entries in magnitude: a `density` share of them, at least one."""
    flat = values.ravel()
    kept = max(1, round(density * flat.size))
    symbols = np.zeros(flat.size, dtype=np.int64)
    # A stable sort: equal magnitudes are kept in the order of their places, on every machine.
    largest = np.argsort(-np.abs(flat), kind="stable")[:kept]
    symbols[largest] = np.sign(flat[largest]).astype(np.int64)
    return symbols


def fit_ternary_step(values: Array, symbols: NDArray[np.int64]) -> Ternary | Zero:
    """For given signs the least squared error is at the mean magnitude of the kept entries."""
    kept = symbols != 0
    if not kept.any():
        return Zero()
    return Ternary(ShortFloat.nearest(float(np.abs(values.ravel()[kept]).mean())))


def fit_codebook(values: Array, *, bits: int) -> Codebook:
    """Lloyd's algorithm in one dimension from evenly spread quantiles, then every value to its nearest ShortFloat."""
    ordered = np.sort(_thin(values))
    count = 1 << bits
    centres = np.quantile(ordered, (np.arange(count) + 0.5) / count)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    for _ in range(_LLOYD_ROUNDS):
        edges = np.searchsorted(ordered, (centres[1:] + centres[:-1]) / 2)
        starts, ends = np.concatenate([[0], edges]), np.concatenate([edges, [ordered.size]])
        sizes = ends - starts
        means = (sums[ends] - sums[starts]) / np.maximum(sizes, 1)
        moved = np.sort(np.where(sizes > 0, means, centres))
        if np.array_equal(moved, centres):
            break
        centres = moved
    return Codebook(tuple(_signed(float(centre)) for centre in centres))


def round_codebook(values: Array, form: Codebook) -> CodedTensor:
    entries = form.weights(np.arange(1 << form.bits), (1 << form.bits,))
    order = np.argsort(entries, kind="stable")
    edges = (entries[order][1:] + entries[order][:-1]) / 2
    return CodedTensor(form, order[np.searchsorted(edges, values.ravel())].astype(np.int64), values.shape)


def avoid_zero(coded: CodedTensor, values: Array) -> CodedTensor:
    """Every number that became 0 goes to the nearest value of the codebook that is not 0."""
    if not isinstance(coded.form, Codebook):
        raise TypeError(f"a codebook is needed, got {coded.form.name}")
    entries = coded.form.weights(np.arange(1 << coded.form.bits), (1 << coded.form.bits,))
    lost, allowed = np.flatnonzero(entries[coded.symbols] == 0), np.flatnonzero(entries)
    symbols = coded.symbols.copy()
    symbols[lost] = allowed[np.abs(values.ravel()[lost, None] - entries[allowed]).argmin(axis=1)]
    return CodedTensor(coded.form, symbols, coded.shape)


def keep_exact(values: NDArray[np.float32]) -> CodedTensor:
    bits = np.ascontiguousarray(values, dtype=np.float32).reshape(-1).view(np.uint32)
    return CodedTensor(Exact(), bits.astype(np.int64), values.shape)


def keep_integers(values: NDArray[np.int64]) -> CodedTensor:
    return CodedTensor(Uniform(ShortFloat(exponent=0, mantissa=0)), values.astype(np.int64).ravel(), values.shape)


def zero_tensor(shape: tuple[int, ...]) -> CodedTensor:
    return CodedTensor(Zero(), np.zeros(0, dtype=np.int64), shape)


def _thin(values: Array) -> Array:
    flat = values.ravel()
    return flat[:: math.ceil(flat.size / _SAMPLE)] if flat.size > _SAMPLE else flat


def _signed(value: float) -> tuple[bool, ShortFloat] | None:
    return None if value == 0.0 else (value < 0, ShortFloat.nearest(abs(value)))
