"""What the kernel compares: a vector of integers for every input, the same on every machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import Samples
from netpact.datasets.layout import layout_of
from netpact.layers.oriented import MAX_SIDE, OrientedEdges, count_features
from netpact.picking.base import FeatureBase
from netpact.picking.reading import Features, Integers
from netpact.picking.recipe import BASE, MOST_START, ORIENTED, PickRecipe

_BATCH = 1000
_MOST_NUMBERS = 1 << 31  # features of all samples together: 8 GB as float32


@dataclass(frozen=True, eq=False)
class Given:
    """What the learner is given of inputs: integers, so float32 holds those far below 2^24 exactly.

    levels  (inputs, classes) logits of a base, as scores that start with the most weight
    """

    features: Features
    levels: Integers | None = None

    def __getitem__(self, places: Any) -> Given:
        return Given(self.features[places], None if self.levels is None else self.levels[places])

    def start(self, recipe: PickRecipe) -> Integers | None:
        """The scores before anything is picked; None: all are 0."""
        if not recipe.start or self.levels is None:
            return None
        return self.levels >> MOST_START - recipe.start


def check_inputs(recipe: PickRecipe, samples: Samples, base: FeatureBase | None = None) -> None:
    """What the features need of the data, before any work."""
    where = f"{samples.name}, inputs of shape {samples.input_shape}"
    if layout_of(samples):
        raise PactError("must be one tensor of real numbers between 0 and 1", where=where)
    if recipe.features == BASE:
        _check_base(recipe, samples, base)
    elif base is not None:
        raise PactError(
            f"the recipe's features are {recipe.features!r}, not a base's", where="base", hint="leave it out"
        )
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
    size = samples.count * count_of(recipe, samples.input_shape, base)
    if size > _MOST_NUMBERS:
        raise PactError(f"{size:,} features of all samples; at most {_MOST_NUMBERS:,} fit", where=where)


def _check_base(recipe: PickRecipe, samples: Samples, base: FeatureBase | None) -> None:
    if base is None:
        raise PactError(
            "the recipe's features are those of a base network, and there is none",
            where="base",
            hint="supply it: --base FILE.pact, or base=PATH in Python",
        )
    if base.input_shape != samples.input_shape:
        raise PactError(
            f"it takes inputs of shape {base.input_shape}, {samples.name} has {samples.input_shape}",
            where=f"base {base.name}",
        )
    if recipe.start and base.classes != samples.classes:
        raise PactError(
            f"scores cannot start at its logits: it has {base.classes} classes, {samples.name} has {samples.classes}",
            where=f"base {base.name}",
            hint="start=0 uses its features alone",
        )


def count_of(recipe: PickRecipe, input_shape: tuple[int, ...], base: FeatureBase | None = None) -> int:
    if base is not None:
        return base.reading(recipe.layer).count
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
    recipe: PickRecipe, samples: Samples, base: FeatureBase | None = None, progress: Progress | None = None
) -> tuple[Given, Integers]:
    """What the learner is given of all samples, and their labels."""
    check_inputs(recipe, samples, base)
    found, labels, seen = [], [], 0
    for x, y in samples.batches(_BATCH):
        found.append(read_inputs(recipe, x, base, first=seen, name=samples.name))
        labels.append(y)
        seen += len(y)
        if progress is not None:
            progress(seen, samples.count)
    if base is not None:
        base.reading(recipe.layer).finish()
    levels = [one.levels for one in found if one.levels is not None]
    given = Given(np.concatenate([one.features for one in found]), np.concatenate(levels) if levels else None)
    return given, np.concatenate(labels)


def read_inputs(
    recipe: PickRecipe,
    x: NDArray[np.float32],
    base: FeatureBase | None = None,
    *,
    first: int = 0,
    name: str = "inputs",
) -> Given:
    if base is not None:
        return Given(*base.reading(recipe.layer)(x))
    return Given(compute_features(recipe, x, first=first, name=name))


def compute_features(recipe: PickRecipe, x: NDArray[np.float32], *, first: int = 0, name: str = "inputs") -> Features:
    """Without a base."""
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
