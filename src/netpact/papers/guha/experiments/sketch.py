"""Section 5: sketches of sparse matrices. The paper has no experiment on them; what it claims is asked here."""

from __future__ import annotations

from collections.abc import Mapping

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Plan, Question
from netpact.papers.guha.sketch_studying import (
    COLUMNS,
    PEELING,
    PRESETS,
    PRUNED,
    ROWS,
    WAYS,
    SketchStudy,
    study_sketch,
)
from netpact.reports.charts.curves import Curve, draw_curves
from netpact.reports.frame import frame_table
from netpact.reports.text import count

Seeded = Mapping[str, SketchStudy]
_HALF = 0.5


def recovered_as_promised(one: Seeded) -> float:
    return _least_promised(one[PRUNED], COLUMNS)


def recovered_as_printed(one: Seeded) -> float:
    return _least_promised(one[PRUNED], ROWS)


def peeling_over_pursuit(one: Seeded) -> float:
    """Sides from which on half of the matrices are recovered, for the fewest nonzeros; p where none is."""
    study = one[PRUNED]
    return _transition(study, PEELING) / _transition(study, COLUMNS)


def sketch_over_direct(one: Seeded) -> float:
    layers = one[PRUNED].layers
    return sum(layer.sketch_bits for layer in layers) / sum(layer.direct_bits for layer in layers)


def unevenness(one: Seeded) -> float:
    """Most nonzeros in a row or column over their mean; Lemma 5.1 has three times lambda."""
    found = []
    for layer in one[PRUNED].layers:
        columns = max(1, layer.shape[1])
        found += [layer.rows * layer.shape[0] / layer.nonzeros, layer.columns * columns / layer.nonzeros]
    return max(found)


def _least_promised(study: SketchStudy, way: str) -> float:
    return min(point.share for point in study.promised if point.way == way)


def _transition(study: SketchStudy, way: str) -> int:
    fewest = min(point.per_row for point in study.points)
    points = [point for point in study.points if (point.way, point.per_row) == (way, fewest)]
    return min((point.side for point in points if point.share >= _HALF), default=study.p)


def _show(found: Experiment) -> list[Panel | str]:
    studies = list(found.chosen(PRUNED))
    per_rows = sorted({point.per_row for point in studies[0].points})
    return [*(_panel(studies[0], per_row) for per_row in per_rows), *map(_table, studies)]


def _panel(study: SketchStudy, per_row: int) -> Panel:
    curves = [
        Curve(way, tuple((float(p.side), p.share) for p in study.points if (p.way, p.per_row) == (way, per_row)))
        for way in WAYS
    ]
    title = f"Share of matrices recovered, {per_row} nonzero in each row and column"
    return Panel(
        title,
        f"{study.p} x {study.p} matrices of integers against the side m of their sketch. Seed {study.seed}.",
        lambda width: draw_curves(
            curves, name=f"sketch-{per_row}", title=title, x_title="m", y_title="share recovered", width=width
        ),
    )


def _table(study: SketchStudy) -> str:
    sizes = ("nonzeros", "most in a row, column", "numbers of the sketch", "direct bits", "sketch bits")
    rows = [
        (
            layer.name,
            " x ".join(map(str, layer.shape)),
            count(layer.nonzeros),
            f"{layer.rows}, {layer.columns}",
            count(layer.numbers),
            count(round(layer.direct_bits)),
            count(round(layer.sketch_bits)),
        )
        for layer in study.layers
    ]
    return frame_table(f"{study.model}, pruned, seed {study.seed}", ("tensor", "shape", *sizes), rows)


EXPERIMENTS.add(
    Plan(
        name="guha-sketch",
        title="Section 5: sketches of sparse matrices, recovery and size",
        paper="Guha et al. 2023",
        presets=PRESETS,
        studies=(PRUNED,),
        task=study_sketch,
        record=SketchStudy,
        questions=(
            Question(
                "A sketch with m of the order sqrt(j p) log p determines the matrix (Theorem 5.1): delta ones a column",
                "least share of matrices recovered at m = sqrt(j p) ln p, delta = ln p: >= 0.9",
                recovered_as_promised,
            ),
            Question(
                "The same with at most delta ones in each row of A and B, as appendix E.1 has it",
                "least share of matrices recovered at m = sqrt(j p) ln p, delta = ln p: >= 0.9",
                recovered_as_printed,
            ),
            Question(
                "Peeling needs no larger sketch than basis pursuit (equation 1)",
                "side from which half of the matrices are recovered, peeling over basis pursuit: <= 1",
                peeling_over_pursuit,
            ),
            Question(
                "Sketches are smaller than lists of nonzeros (section 5.1): here in bits of the file",
                "bits of the smallest sketches that decode over bits entry by entry, all layers: < 1",
                sketch_over_direct,
            ),
            Question(
                "Nonzeros spread evenly over rows and columns (Lemma 5.1): here of a network pruned by size",
                "most nonzeros in a row or column over their mean: <= 3",
                unevenness,
            ),
        ),
        show=_show,
    )
)
