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
from netpact.picking.base import FeatureBase
from netpact.picking.reading import LOGITS, Features, Integers, Reading
from netpact.picking.recipe import MOST_START, PickRecipe
from netpact.picking.recipe_bytes import BASE, PIXELS
from netpact.picking.stems import check_image, count_stem, make_stem

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
    if recipe.needs_base:
        _check_base(recipe, samples, base)
    elif base is not None:
        raise PactError(
            f"the recipe's features are {recipe.features!r}, and scores start at 0: it needs no base",
            where="base",
            hint="leave it out",
        )
    if recipe.features not in (PIXELS, BASE):
        check_image(recipe, samples.input_shape, where=where)
    size = samples.count * count_of(recipe, samples.input_shape, base)
    if size > _MOST_NUMBERS:
        raise PactError(f"{size:,} features of all samples; at most {_MOST_NUMBERS:,} fit", where=where)


def _check_base(recipe: PickRecipe, samples: Samples, base: FeatureBase | None) -> None:
    if base is None:
        raise PactError(
            "the recipe needs a base network, and there is none",
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
    if recipe.features == BASE:
        assert base is not None
        return base.reading(recipe.layer).count
    return math.prod(input_shape) if recipe.features == PIXELS else math.prod(count_stem(recipe, input_shape))


def _reading(recipe: PickRecipe, base: FeatureBase) -> Reading:
    """Of the base: features and logits, or logits alone."""
    return base.reading(recipe.layer if recipe.features == BASE else LOGITS)


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
        _reading(recipe, base).finish()
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
    features, levels = (None, None) if base is None else _reading(recipe, base)(x)
    if features is None or recipe.features != BASE:
        features = compute_features(recipe, x, first=first, name=name)
    return Given(features, levels)


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
    if recipe.features == PIXELS:
        levels = (1 << recipe.bits) - 1
        # The product of a float32 and 8 bits is exact in float64; halves go to the even integer, everywhere.
        return np.rint(flat.astype(np.float64) * levels).astype(np.float32)
    with torch.no_grad():
        return np.asarray(make_stem(recipe)(torch.from_numpy(x)).flatten(1).numpy(), dtype=np.float32)
