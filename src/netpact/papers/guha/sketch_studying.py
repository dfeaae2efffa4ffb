"""The task behind the experiment on sketches: which matrices are recovered, and how long a network is both ways."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpact.algebra import Sketcher, distributed_sparsity, sketch_recover, sketch_side
from netpact.core.seed import Seed
from netpact.experiments import Case, Preset, Setting, Study, train_network
from netpact.methods import Sketch, compress, sketch_sizes
from netpact.network import trace
from netpact.runs import JsonValue

PRUNED = "pruned"
COLUMNS, PEELING, WIDE, ROWS = "basis pursuit", "peeling", "peeling, wide values", "basis pursuit, printed ensemble"
_SMALL, _LARGE = 7, 10**6


@dataclass(frozen=True)
class Way:
    """How planted matrices are sketched and recovered; largest: their values are up to it."""

    per: str = "column"
    solver: str = "integer"
    largest: int = _SMALL


WAYS: Mapping[str, Way] = MappingProxyType(
    {COLUMNS: Way(), PEELING: Way(solver="peeling"), WIDE: Way(solver="peeling", largest=_LARGE), ROWS: Way(per="row")}
)


@dataclass(frozen=True)
class Diagram:
    """The planted matrices: p x p, so many nonzeros in each row and column, `draws` for each point."""

    p: int
    per_row: tuple[int, ...]
    sides: tuple[int, ...]
    draws: int
    keep: float = 0.05

    @property
    def ones(self) -> int:
        return round(math.log(self.p))


def diagram_of(case: Case) -> Diagram:
    if case.limit == 0:
        return Diagram(128, (1, 2, 4, 8), (24, 32, 40, 48, 56, 64, 80, 96, 112), 10)
    if case.epochs == 1:
        return Diagram(24, (1,), (8, 20), 2, keep=0.2)
    return Diagram(64, (1, 2, 4), (16, 20, 24, 28, 32, 40, 48, 56), 5)


@dataclass(frozen=True)
class Point:
    """share: of the matrices that were recovered exactly."""

    way: str
    per_row: int
    side: int
    share: float


@dataclass(frozen=True)
class Layer:
    """A pruned and rounded layer both ways, and its most nonzeros in a row and in a column."""

    name: str
    shape: tuple[int, ...]
    nonzeros: int
    numbers: int
    direct_bits: float
    sketch_bits: float
    rows: int
    columns: int


@dataclass(frozen=True, kw_only=True)
class SketchStudy(Study):
    """points: the phase diagram; promised: the same at m = sqrt(jp) ln p of Theorem 5.1, with constant 1."""

    p: int
    points: tuple[Point, ...]
    promised: tuple[Point, ...]
    layers: tuple[Layer, ...]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> SketchStudy:
        lists = {name: tuple(Point(**one) for one in record[name]) for name in ("points", "promised")}
        layers = tuple(Layer(**{**one, "shape": tuple(one["shape"])}) for one in record["layers"])
        return cls(**{**record, **lists, "layers": layers})


def plant(p: int, per_row: int, seed: Seed, *, largest: int) -> NDArray[np.int64]:
    """So many permutations, laid over each other, with values from 1 to `largest` of either sign."""
    random, matrix = seed.numpy(), np.zeros((p, p), dtype=np.int64)
    for _ in range(per_row):
        signs = random.choice([-1, 1], p)
        matrix[np.arange(p), random.permutation(p)] = signs * random.integers(1, largest + 1, p)
    return matrix


def study_sketch(*, setting: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Task: the phase diagram of planted matrices, and the layers of one trained and pruned network."""
    asked = Setting.read(setting)
    diagram = diagram_of(asked.case)
    trained = train_network(asked)
    method = Sketch(keep=diagram.keep)
    network = trace(trained.module, trained.data)
    coded = compress(network, method).tensors
    layers = tuple(
        Layer(one.tensor, one.shape, one.nonzeros, one.numbers, one.direct_bits, one.sketch_bits, *sparsity)
        for one in sketch_sizes(network, method).tensors
        for sparsity in [distributed_sparsity(coded[one.tensor].weights())]
    )
    seed = Seed(asked.seed).child("experiment", "guha-sketch")
    pairs = [(per_row, side) for per_row in diagram.per_row for side in diagram.sides]
    promised = [(per_row, min(diagram.p - 1, sketch_side(per_row, diagram.p))) for per_row in diagram.per_row]
    return SketchStudy(
        **trained.study.facts(),
        p=diagram.p,
        points=tuple(_point(diagram, way, *pair, seed) for way in WAYS for pair in pairs),
        promised=tuple(_point(diagram, way, *pair, seed) for way in (COLUMNS, ROWS) for pair in promised),
        layers=layers,
    ).to_json()


def _point(diagram: Diagram, way: str, per_row: int, side: int, seed: Seed) -> Point:
    how, right = WAYS[way], 0
    for draw in range(diagram.draws):
        matrix = plant(diagram.p, per_row, seed.child("matrix", draw), largest=how.largest)
        sketcher = Sketcher(
            shape=matrix.shape, sides=(side, side), ones=min(diagram.ones, side), seed=draw, per=how.per
        )
        found = sketch_recover(sketcher.measure(matrix), sketcher, solver=how.solver)
        right += bool(found) and np.array_equal(found.matrix, matrix)
    return Point(way, per_row, side, right / diagram.draws)


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "quick": Preset(
            about="planted 64 x 64 matrices; a small MLP on the first 5,000 images, pruned to 5 %",
            data=("mnist", "digits"),
            cases={PRUNED: Case(model="mlp:128-128", limit=5_000, epochs=5, batch_size=50, least=0.9)},
            tested=5_000,
        ),
        "full": Preset(
            about="planted 128 x 128 matrices; an MLP of 784 units on MNIST, pruned to 5 %",
            data=("mnist",),
            cases={PRUNED: Case(model="mlp:784-784", limit=0, epochs=10, batch_size=128, least=0.98)},
            tested=10_000,
        ),
        # To see that everything runs.
        "digits": Preset(
            about="a tiny network on 8 x 8 digits: a trial of the program, too small for a finding to be judged",
            data=("digits",),
            cases={PRUNED: Case(model="mlp:8", limit=60, epochs=1, batch_size=20, least=0.95)},
            tested=100,
        ),
    }
)
