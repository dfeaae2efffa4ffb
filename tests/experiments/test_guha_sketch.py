"""The experiment on sketches: rules on made-up studies, and a run from start to end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netpact.core.seed import Seed
from netpact.experiments import EXPERIMENTS, run_experiment
from netpact.papers.guha.sketch_studying import COLUMNS, PEELING, PRUNED, ROWS, Layer, Point, SketchStudy, plant
from netpact.runs import Inline

FACTS: dict[str, Any] = {
    "study": PRUNED,
    "seed": 0,
    "model": "mlp:8",
    "parameters": 9,
    "data": "digits",
    "fingerprint": "0" * 8,
}
LAYER = Layer("fc1.weight", (20, 40), 40, 200, 400.0, 900.0, 4, 3)
MADE = SketchStudy(
    **FACTS,
    samples=60,
    train_accuracy=1.0,
    test_accuracy=0.9,
    least=0.9,
    p=64,
    points=(
        *(Point(COLUMNS, 1, side, share) for side, share in ((16, 0.2), (24, 0.6), (32, 1.0))),
        *(Point(PEELING, 1, side, share) for side, share in ((16, 0.0), (24, 0.2), (48, 0.8))),
        Point(COLUMNS, 2, 16, 1.0),
    ),
    promised=(Point(COLUMNS, 1, 34, 1.0), Point(COLUMNS, 2, 48, 0.9), Point(ROWS, 1, 34, 0.0)),
    layers=(LAYER, replace(LAYER, sketch_bits=700.0)),
)


def numbers(study: SketchStudy) -> list[float]:
    return [question.judge([{PRUNED: study}]).numbers[0] or 0.0 for question in EXPERIMENTS["guha-sketch"].questions]


def test_the_numbers_by_hand() -> None:
    # Rows have 2 nonzeros on average and 4 at most, columns 1 and 3.
    assert numbers(MADE) == pytest.approx([0.9, 0.0, 2.0, 2.0, 3.0])
    verdicts = [bool(question.judge([{PRUNED: MADE}])) for question in EXPERIMENTS["guha-sketch"].questions]
    assert verdicts == [True, False, False, False, True]
    assert SketchStudy.read(MADE.to_json()) == MADE


def test_a_transition_that_is_not_reached_counts_as_the_whole_side() -> None:
    never = replace(MADE, points=tuple(replace(p, share=0.0) if p.way == PEELING else p for p in MADE.points))
    assert numbers(never)[2] == pytest.approx(64 / 24)


def test_planted_matrices() -> None:
    matrix = plant(30, 2, Seed(0), largest=7)
    assert (matrix != 0).sum(axis=0).max() <= 2
    assert (matrix != 0).sum(axis=1).min() >= 1
    assert abs(matrix).max() <= 7


def test_from_start_to_end(tmp_path: Path) -> None:
    found = run_experiment("guha-sketch", preset="digits", seeds=1, out=tmp_path, engine=Inline())
    [study] = found.studies
    assert isinstance(study, SketchStudy)
    assert [layer.name for layer in study.layers] == ["fc1.weight", "fc2.weight"]
    assert len(study.points) == 8
    assert {point.share for point in study.points} <= {0.0, 0.5, 1.0}
    assert all(layer.rows * layer.shape[0] >= layer.nonzeros for layer in study.layers)
