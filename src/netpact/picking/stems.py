"""The fixed stems that a recipe can name: images they take, how many features they have, the layer."""

from __future__ import annotations

from torch import nn

from netpact.core.errors import PactError
from netpact.layers import oriented, sobel_edges
from netpact.layers.oriented import OrientedEdges
from netpact.layers.sobel_edges import SobelEdges
from netpact.picking.recipe import PickRecipe
from netpact.picking.recipe_bytes import SOBEL

_MOST_SIDE = min(oriented.MAX_SIDE, sobel_edges.MAX_SIDE)


def check_image(recipe: PickRecipe, input_shape: tuple[int, ...], *, where: str) -> None:
    cell = recipe.stem.cell if recipe.features == SOBEL else recipe.cell
    if (
        len(input_shape) != 3
        or input_shape[0] not in (1, 3)
        or max(input_shape[1:]) > _MOST_SIDE
        or min(input_shape[1:]) < cell
    ):
        raise PactError(
            f"{recipe.features} features need images of 1 or 3 channels, {cell} to {_MOST_SIDE} pixels a side",
            where=where,
            hint='features="pixels" takes any numbers between 0 and 1',
        )


def count_stem(recipe: PickRecipe, input_shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Maps, rows and columns."""
    channels, height, width = input_shape
    if recipe.features == SOBEL:
        return sobel_edges.count_sobel(recipe.stem, height=height, width=width)
    return oriented.count_features(
        channels=channels,
        height=height,
        width=width,
        orientations=recipe.orientations,
        cell=recipe.cell,
        stride=recipe.stride,
        mirror=recipe.mirror,
    )


def make_stem(recipe: PickRecipe) -> nn.Module:
    if recipe.features == SOBEL:
        return SobelEdges(recipe.stem)
    return OrientedEdges(
        orientations=recipe.orientations,
        inhibition=recipe.inhibition,
        cell=recipe.cell,
        stride=recipe.stride,
        straighten=recipe.straighten,
        mirror=recipe.mirror,
    )
