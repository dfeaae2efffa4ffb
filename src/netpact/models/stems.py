"""Plans of the networks with a fixed stem: features that are not learned, and a linear head on them."""

from __future__ import annotations

import math
from dataclasses import asdict

from netpact.models.plan import Contours, Edges, Flatten, Linear, Plan, Sobel, check_ranges, read_image

VIEWS = "1 as it is, 2 straightened, 3 with its mirror image, 4 both"
SIZED_VIEWS = f"{VIEWS}, 5 straightened and resized, 6 that with its mirror image"


def plan_oriented(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    """A linear head without bias on fixed edge features; scaling the features changes no prediction."""
    from netpact.layers.oriented import MAX_CELL, MAX_INHIBITION, MAX_ORIENTATIONS, MAX_SIDE, count_features

    channels, height, width = read_image(input_shape, family="oriented")
    orientations, inhibition, cell, stride, view = sizes
    check_ranges(
        "oriented",
        ("orientations", orientations, range(2, MAX_ORIENTATIONS + 1)),
        ("inhibition", inhibition, range(1, MAX_INHIBITION // orientations + 1)),
        ("cell", cell, range(1, min(height, width, MAX_CELL) + 1)),
        ("stride", stride, range(1, cell + 1)),
        (f"view ({VIEWS})", view, range(1, 5)),
        ("height and width", max(height, width), range(1, MAX_SIDE + 1)),
    )
    edges = Edges(orientations, inhibition, cell, stride, straighten=view in (2, 4), mirror=view in (3, 4))
    maps, rows, columns = count_features(
        channels=channels,
        height=height,
        width=width,
        orientations=orientations,
        cell=cell,
        stride=stride,
        mirror=edges.mirror,
    )
    head = Linear(maps * rows * columns, classes, bias=False, image=(rows, columns))
    return (("edges", edges), ("flatten", Flatten()), ("fc1", head))


def plan_contours(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    """A linear head without bias on fixed features, of which one map is constant."""
    from netpact.layers.contours import MAX_CELLS, MAX_SIDE, MAX_STEP, count_cells, count_contours

    channels, height, width = read_image(input_shape, family="contours", least=4)
    cells, rows, columns, view = sizes
    check_ranges(
        "contours",
        (f"view ({VIEWS})", view, range(1, 5)),
        ("height and width", max(height, width), range(1, MAX_SIDE + 1)),
        ("cells", cells, range(max(2, min(height, width) // (MAX_STEP + 1) + 1), min(height, width, MAX_CELLS) + 1)),
    )
    mirror = view in (3, 4)
    down, across = count_cells(height=height, width=width, cells=cells)
    check_ranges(
        "contours", ("rows", rows, range(1, down + 1)), ("columns", columns, range(1, across // (1 + mirror) + 1))
    )
    stem = Contours(cells, rows, columns, straighten=view in (2, 4), mirror=mirror)
    features = math.prod(count_contours(channels=channels, rows=rows, columns=columns))
    head = Linear(features, classes, bias=False, image=(rows, columns))
    return (("contours", stem), ("flatten", Flatten()), ("fc1", head))


def plan_sobel(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    """A linear head without bias on fixed edge features; scaling the features changes no prediction."""
    from netpact.layers import SobelOptions, count_sobel
    from netpact.layers.sobel_edges import MAX_CELL, MAX_INHIBITION, MAX_ORIENTATIONS, MAX_ROOTS, MAX_SIDE

    _, height, width = read_image(input_shape, family="sobel")
    orientations, inhibition, cell, stride, roots, view = sizes
    check_ranges(
        "sobel",
        ("orientations", orientations, range(2, MAX_ORIENTATIONS + 1)),
        ("inhibition", inhibition, range(1, MAX_INHIBITION // orientations + 1)),
        ("cell", cell, range(1, min(height, width, MAX_CELL) + 1)),
        ("stride", stride, range(1, cell + 1)),
        ("roots (1 square, 2 fourth roots)", roots, range(1, MAX_ROOTS + 1)),
        (f"view ({SIZED_VIEWS})", view, range(1, 7)),
        ("height and width", max(height, width), range(1, MAX_SIDE + 1)),
    )
    stem = Sobel(
        orientations,
        inhibition,
        cell,
        stride,
        roots,
        straighten=view in (2, 4, 5, 6),
        resize=view in (5, 6),
        mirror=view in (3, 4, 6),
    )
    maps, rows, columns = count_sobel(SobelOptions(**asdict(stem)), height=height, width=width)
    head = Linear(maps * rows * columns, classes, bias=False, image=(rows, columns))
    return (("sobel", stem), ("flatten", Flatten()), ("fc1", head))
