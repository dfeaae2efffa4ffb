"""What the kernel compares: a vector of integers for every input, the same on every machine."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import Samples
from netpact.datasets.layout import layout_of
from netpact.layers.oriented import MAX_SIDE, OrientedEdges, count_features
from netpact.picking.recipe import ORIENTED, PickRecipe

_BATCH = 1000
_MOST_NUMBERS = 1 << 31  # features of all samples together: 8 GB as float32

Features = NDArray[np.float32]


def check_inputs(recipe: PickRecipe, samples: Samples) -> None:
    """What the features need of the data, before any work."""
    where = f"{samples.name}, inputs of shape {samples.input_shape}"
    if layout_of(samples):
        raise PactError("must be one tensor of real numbers between 0 and 1", where=where)
    if recipe.features == ORIENTED and (
        len(samples.input_shape) != 3
        or samples.input_shape[0] not in (1, 3)
        or max(samples.input_shape[1:]) > MAX_SIDE
        or min(samples.input_shape[1:]) < recipe.cell
    ):
        raise PactError(
            f"oriented features need images of 1 or 3 channels, {recipe.cell} to {MAX_SIDE} pixels a side",
            where=where,
            hint='features="pixels" takes any numbers between 0 and 1',
        )
    size = samples.count * count_of(recipe, samples.input_shape)
    if size > _MOST_NUMBERS:
        raise PactError(f"{size:,} features of all samples; at most {_MOST_NUMBERS:,} fit", where=where)


def count_of(recipe: PickRecipe, input_shape: tuple[int, ...]) -> int:
    if recipe.features != ORIENTED:
        return math.prod(input_shape)
    channels, height, width = input_shape
    maps, rows, columns = count_features(
        channels=channels,
        height=height,
        width=width,
        orientations=recipe.orientations,
        cell=recipe.cell,
        stride=recipe.stride,
        mirror=recipe.mirror,
    )
    return maps * rows * columns


def read_samples(
    recipe: PickRecipe, samples: Samples, progress: Progress | None = None
) -> tuple[Features, NDArray[np.int64]]:
    """Features and labels of all samples. Integers, far below 2^24, so float32 holds them exactly."""
    check_inputs(recipe, samples)
    found, labels, seen = [], [], 0
    for x, y in samples.batches(_BATCH):
        found.append(compute_features(recipe, x, first=seen, name=samples.name))
        labels.append(y)
        seen += len(y)
        if progress is not None:
            progress(seen, samples.count)
    return np.concatenate(found), np.concatenate(labels)


def compute_features(recipe: PickRecipe, x: NDArray[np.float32], *, first: int = 0, name: str = "inputs") -> Features:
    flat = x.reshape(len(x), -1)
    inside = ((flat >= 0) & (flat <= 1)).all(axis=1)
    if not inside.all():
        raise PactError(
            f"holds a number outside of 0 to 1 (it has {flat[np.argmin(inside)].min()} to "
            f"{flat[np.argmin(inside)].max()})",
            where=f"{name}, sample {first + int(np.argmin(inside))}",
            hint="scale inputs by constants that were fixed before the sample was drawn",
        )
    if recipe.features != ORIENTED:
        levels = (1 << recipe.bits) - 1
        # The product of a float32 and 8 bits is exact in float64; halves go to the even integer, everywhere.
        return np.rint(flat.astype(np.float64) * levels).astype(np.float32)
    stem = OrientedEdges(
        orientations=recipe.orientations,
        inhibition=recipe.inhibition,
        cell=recipe.cell,
        stride=recipe.stride,
        straighten=recipe.straighten,
        mirror=recipe.mirror,
    )
    with torch.no_grad():
        return np.asarray(stem(torch.from_numpy(x)).flatten(1).numpy(), dtype=np.float32)
