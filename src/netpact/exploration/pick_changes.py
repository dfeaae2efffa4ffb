"""Where a search for recipes starts, and which recipes are one step away from another."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.exploration.pick_bench import Bench
from netpact.layers.oriented import MAX_SIDE
from netpact.picking import FeatureBase, PickRecipe
from netpact.picking.certifying import Drawn
from netpact.picking.features import check_inputs
from netpact.picking.recipe_bytes import BASE, FONT_STEM, ORIENTED, PIXELS, SOBEL

_COMPARED = 300  # samples whose distances say how wide the kernel starts
_START_WIDTH = 0.3  # of the median squared distance
_LOGITS = (0, 2, 5)  # where scores start: at 0, or at a base's logits with so much weight
_STEM_STEPS = {"orientations": 4, "inhibition": 1}
_STEPS = {PIXELS: {"bits": 1}, ORIENTED: _STEM_STEPS, BASE: {"start": 1}, SOBEL: {"start": 1}}
_STRIDES = ((4, 2), (6, 3), (8, 4), (10, 5), (6, 4), (8, 3))  # cell and stride


def starts(bench: Bench) -> Iterator[PickRecipe]:
    """One recipe for each kind of features that the data allow; with a base for each of its layers."""
    shape = bench.data.input_shape
    fits = len(shape) == 3 and shape[0] in (1, 3) and 8 <= min(shape[1:]) <= max(shape[1:]) <= MAX_SIDE
    kinds = _on_stems(bench.base, bench.data, is_small=min(shape[1:]) < 16) if fits else []
    if bench.base is None:
        kinds = [PickRecipe(features=PIXELS), *kinds]
    else:
        kinds = _on_base(bench.base, bench.data, needed=not kinds) + kinds
    for kind in kinds:
        width = _start_width(bench.draw(kind))
        for near in (-1, 1):
            yield replace(kind, width=max(0, width + near))


def _on_stems(base: FeatureBase | None, data: Data, *, is_small: bool) -> list[PickRecipe]:
    """With a base only those whose scores start at its logits: the others make no use of it."""
    stem = replace(FONT_STEM, cell=4, stride=2) if is_small else FONT_STEM
    edges = PickRecipe(features=SOBEL, stem=stem)
    if base is not None:
        return [replace(edges, start=start) for start in _LOGITS if start and base.classes == data.classes]
    cell = 4 if is_small else 6
    return [edges] + [
        PickRecipe(features=ORIENTED, orientations=8, cell=cell, stride=cell // 2, straighten=flag)
        for flag in (False, True)
    ]


def _on_base(base: FeatureBase, data: Data, *, needed: bool) -> list[PickRecipe]:
    """Layers that read too many or too large integers are passed over; needed: unless all are."""
    weights = _LOGITS if base.classes == data.classes else (0,)
    found: list[PickRecipe] = []
    for layer in range(1, min(base.layers, 8) + 1):
        try:
            check_inputs(PickRecipe(features=BASE, layer=layer), data.train, base)
        except PactError:
            if needed and not found and layer == min(base.layers, 8):
                raise
            continue
        found += [PickRecipe(features=BASE, layer=layer, start=start) for start in weights]
    return found


def _start_width(drawn: Drawn) -> int:
    some = drawn.given.features[:_COMPARED].astype(np.float64)
    lengths = (some**2).sum(axis=1)
    apart = lengths[:, None] + lengths - 2 * some @ some.T
    middle = float(np.median(apart[np.triu_indices(len(some), 1)])) if len(some) > 1 else 1.0
    return min(63, max(0, round(2 * math.log2(max(1.0, _START_WIDTH * middle)))))


def changes(recipe: PickRecipe, data: Data, *, features: bool) -> Iterator[PickRecipe]:
    """Recipes one step away that the data allow; one that uses a base goes on using it, and none begins to."""
    steps = {"width": 1, "margin": 1, "steps": 1}
    if features or recipe.needs_base:  # where scores start is no setting of the features
        steps |= _STEPS[recipe.features]
    for name, step in steps.items():
        for sign in (1, -1):
            moved = _moved(recipe, **{name: getattr(recipe, name) + sign * step})
            if moved is not None and moved.needs_base == recipe.needs_base:
                yield moved
    cells = [(cell, stride) for cell, stride in _STRIDES if cell <= min(data.input_shape[-2:])]
    if features and recipe.features == ORIENTED:
        for cell, stride in cells:
            moved = _moved(recipe, cell=cell, stride=stride)
            if moved is not None and moved != recipe:
                yield moved
        for name in ("straighten", "mirror"):
            yield replace(recipe, **{name: not getattr(recipe, name)})  # type: ignore[arg-type]
    if features and recipe.features == SOBEL:
        yield from _other_stems(recipe, cells)


def _other_stems(recipe: PickRecipe, cells: list[tuple[int, int]]) -> Iterator[PickRecipe]:
    stem = recipe.stem
    values: list[dict[str, int | bool]] = [{"cell": cell, "stride": stride} for cell, stride in cells]
    values += [{name: getattr(stem, name) + sign * step} for name, step in _STEM_STEPS.items() for sign in (1, -1)]
    values += [{name: not getattr(stem, name)} for name in ("straighten", "resize", "mirror")]
    values += [{"roots": 3 - stem.roots}]
    for changed in values:
        try:
            moved = replace(recipe, stem=replace(stem, **changed))  # type: ignore[arg-type]
        except PactError:
            continue
        if moved != recipe:
            yield moved


def again(before: PickRecipe, after: PickRecipe) -> PickRecipe | None:
    """The same change once more, if it was one of a number."""
    names = ("width", "margin", "steps", "start", "orientations", "inhibition", "bits")
    moved = {name: 2 * getattr(after, name) - getattr(before, name) for name in names}
    found = _moved(after, **moved)
    return None if found == after else found


def _moved(recipe: PickRecipe, **values: int) -> PickRecipe | None:
    try:
        return replace(recipe, **values)  # type: ignore[arg-type]
    except PactError:
        return None
