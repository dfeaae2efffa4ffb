"""Rules that choose a CP rank for each layer, side by side: the fewest bytes at one point less of test accuracy.

Every rule has one knob and chooses from the same curves, so that nothing but the choice differs:

advice  advise_ranks; the knob is the tolerated share of decisions that change (on training samples)
error   in each layer the smallest rank whose relative error in the Frobenius norm is below the knob
share   in each layer the largest rank with at most this share of its parameters

A layer for which a rule finds no rank that takes fewer bytes stays as it is. The knob is then set by the test accuracy,
for every rule alike; so the numbers compare rules and are no estimate of what a user gets.

Run: OMP_NUM_THREADS=1 python benchmarks/rank_advice.py            (about ten minutes)
     OMP_NUM_THREADS=1 python benchmarks/rank_advice.py --quick    (digits alone, a minute)
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from recording import Row, keep_rows
from torch import nn

from netpact import RankOptions, TrainOptions, build, load_data, parse_model, trace, train
from netpact.core.json import finite
from netpact.datasets import Data
from netpact.layers import to_cp
from netpact.methods.rank_advice.bench import Bench
from netpact.methods.rank_advice.choosing import Choice, choose
from netpact.methods.rank_advice.curves import Curve, Curves
from netpact.methods.rank_advice.records import Change, RankPoint
from netpact.methods.rank_advice.subjects import find_subjects
from netpact.network import Network

LOST = 0.01  # of test accuracy
KNOBS = tuple(float(knob) for knob in np.geomspace(0.002, 1, 24))
POINTS = 25  # ranks of each layer, for every rule
# model, data, training samples, epochs, in CP form from the beginning
SETTINGS = (
    ("conv:16-32", "digits", 1437, 40, False),
    ("conv:16-32", "digits", 1437, 40, True),
    ("lenet5", "fashion_mnist", 10000, 12, False),
    ("lenet5", "fashion_mnist", 10000, 12, True),
)


def trained_network(model: str, data: Data, epochs: int, *, cp: bool) -> Network:
    module = build(parse_model(model, input_shape=data.input_shape, classes=data.classes))
    module = to_cp(module, start="random") if cp else module
    return trace(train(module, data.train, TrainOptions(epochs=epochs, learning_rate=2e-3)).module, data)


def smaller(curve: Curve, wanted: Callable[[RankPoint], bool], *, largest: bool) -> RankPoint:
    """The first or last point that is wanted, if it takes fewer bytes than the layer as it is."""
    found = [point for point in curve.points[:-1] if wanted(point)]
    point = found[-1 if largest else 0] if found else curve.as_it_is
    return point if point.bytes < curve.as_it_is.bytes else curve.as_it_is


def by_error(curve: Curve, knob: float) -> RankPoint:
    return smaller(curve, lambda point: point.fit_error <= knob, largest=False)


def by_share(curve: Curve, knob: float) -> RankPoint:
    return smaller(curve, lambda point: point.parameters <= knob * curve.as_it_is.parameters, largest=True)


def choices(curves: Curves, drawn: Mapping[str, Curve]) -> Iterator[tuple[str, Choice]]:
    """Every rule at every knob."""
    worth = {name: curve.worth for name, curve in drawn.items()}

    def run(choice: Choice) -> Change:
        return curves.bench.change(modules_of(choice, drawn))

    for knob in KNOBS:
        found, _ = choose(worth, run, tolerance=min(knob, 0.999))
        if found is not None:
            yield "advice", found
        yield "error", {name: by_error(curve, knob) for name, curve in drawn.items()}
        yield "share", {name: by_share(curve, knob) for name, curve in drawn.items()}


def modules_of(choice: Choice, drawn: Mapping[str, Curve]) -> dict[str, nn.Module]:
    return {name: drawn[name].modules[point.rank] for name, point in choice.items()}


def compare(model: str, name: str, count: int, epochs: int, *, cp: bool) -> Row:
    data = load_data(name, limit=count) if count < load_data(name).train.count else load_data(name)
    assert data.test is not None
    network = trained_network(model, data, epochs, cp=cp)
    curves = Curves(network, data.train, RankOptions(points=POINTS, samples=data.train.count, bound_samples=0))
    drawn = {subject.name: curves.draw(subject, lambda _: None) for subject in find_subjects(network)[0]}
    test = Bench(network, data.test)
    as_is = {name: curve.as_it_is for name, curve in drawn.items()}
    row: Row = {
        "network": f"{model}{', CP' if cp else ''}",
        "data": name,
        "accuracy": test.accuracy,
        "bytes": sum(point.bytes for point in as_is.values()),
    }
    fewest = dict.fromkeys(("advice", "error", "share"), math.inf)
    for rule, choice in choices(curves, drawn):
        size = sum(point.bytes for point in choice.values())
        if size < fewest[rule] and test.change(modules_of(choice, drawn)).accuracy >= test.accuracy - LOST:
            fewest[rule] = size
    return row | {f"bytes by {rule}": finite(size) for rule, size in fewest.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    settings = SETTINGS[:2] if given.quick else SETTINGS
    keep_rows(__file__, (compare(*setting[:4], cp=setting[4]) for setting in settings), quick=given.quick)


if __name__ == "__main__":
    main()
