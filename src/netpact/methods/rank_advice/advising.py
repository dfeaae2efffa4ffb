"""advise_ranks: which rank each layer of a network can have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from netpact.core.checks import check_instance
from netpact.core.errors import PactError
from netpact.core.percent import percent
from netpact.core.progress import Progress
from netpact.datasets import Data, Samples, as_data
from netpact.datasets.drawing import draw_samples
from netpact.methods.rank_advice.choosing import Choice, choose
from netpact.methods.rank_advice.curves import Curve, Curves
from netpact.methods.rank_advice.options import RankOptions
from netpact.methods.rank_advice.records import Change, LayerAdvice, RankAdvice
from netpact.methods.rank_advice.subjects import find_subjects
from netpact.models import AnyModule
from netpact.network import Network, trace

_DEFAULT = RankOptions()


def advise_ranks(
    network: Network | AnyModule,
    samples: Data | Samples | object,
    options: RankOptions = _DEFAULT,
    *,
    progress: Progress | None = None,
) -> RankAdvice:
    """For each layer a curve of ranks, and for all of them together a choice.

    At each rank of each layer: the error of the weights, a bound on their change in the operator norm and on the
    change of the logits, the measured change of logits and decisions if this layer alone is replaced, parameters,
    floating-point operations and encoded bytes. The ranks recommended are those of the fewest bytes, found by a price
    on squared changes of the logits, with which at most the tolerated share of decisions changes when all layers are
    replaced together. The result's `ranks` go into CP(ranks=...).

    network  what trace gave, or what trace takes; layers in CP form are pruned, dense ones decomposed
    samples  training samples; of Data the training part
    """
    check_instance(options, RankOptions, where="options")
    given = as_data(samples).train
    network = network if isinstance(network, Network) else trace(network, given)
    network.check_fits(given)
    subjects, left_out = find_subjects(network)
    if not subjects:
        raise PactError("no layer of the network has a CP form", where="network")
    curves = Curves(network, draw_samples(given, options.samples, options.seed.child("samples")), options)
    total = sum(2 + len(subject.ranks(options.points)) for subject in subjects)
    steps = _Steps(total, progress)
    drawn = {subject.name: curves.draw(subject, steps.part()) for subject in subjects}
    advice = _recommend(curves, drawn, tuple(left_out), steps)
    steps.part()(total - steps.done)
    return advice


class _Steps:
    """Work in parts, each of which counts its own steps from 1."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.done, self._total, self._progress = 0, total, progress

    def part(self) -> Callable[[int], None]:
        before = self.done

        def tell(step: int) -> None:
            self.done = before + step
            if self._progress is not None:
                self._progress(self.done, self._total)

        return tell


def _recommend(
    curves: Curves, drawn: Mapping[str, Curve], left_out: tuple[tuple[str, str], ...], steps: _Steps
) -> RankAdvice:
    options, as_is = curves.options, {name: curve.as_it_is for name, curve in drawn.items()}
    choice, runs = _choose(curves, drawn)
    if choice is not None:
        # The ranks tried are far apart: two more just below each one chosen.
        drawn = {name: curves.refine(curve, choice[name], steps.part()) for name, curve in drawn.items()}
        finer, more = _choose(curves, drawn)
        runs += more
        choice = choice if finer is None else min((finer, choice), key=lambda one: sum(p.bytes for p in one.values()))
    kept = as_is if choice is None else choice
    layers = tuple(_advise(curve, kept[name].rank, failed=choice is None) for name, curve in drawn.items())
    return RankAdvice(
        layers=layers,
        left_out=left_out,
        accuracy=curves.bench.accuracy,
        rounded=_run(curves, drawn, as_is),
        together=_run(curves, drawn, kept),
        runs=runs,
        samples=curves.bench.samples,
        data_name=curves.samples.name,
        options=options,
        note=curves.bounder.note,
    )


def _choose(curves: Curves, drawn: Mapping[str, Curve]) -> tuple[Choice | None, int]:
    """And how often the network was run with a joint choice."""
    worth = {name: curve.worth for name, curve in drawn.items()}
    choice, seen = choose(worth, partial(_run, curves, drawn), tolerance=curves.options.tolerance)
    return choice, len(seen)


def _run(curves: Curves, drawn: Mapping[str, Curve], choice: Choice) -> Change:
    return curves.bench.change({name: drawn[name].modules[point.rank] for name, point in choice.items()})


def _advise(curve: Curve, rank: int | None, *, failed: bool) -> LayerAdvice:
    subject, own = curve.subject, curve.as_it_is
    points = curve.points[:-1]
    chosen = next((point for point in points if point.rank == rank), None)
    form = "dense" if "CP" not in subject.kind else f"at rank {subject.most + 1}"
    if chosen is not None:
        moved = percent(chosen.change.decisions, places=2)
        why = f"{chosen.bytes:,.0f} bytes instead of {own.bytes:,.0f}; alone it changes {moved} of the decisions"
    elif all(point.bytes >= own.bytes for point in points):
        why = f"keep {form}: no rank takes fewer than its {own.bytes:,.0f} bytes"
    elif failed:
        why = f"keep {form}: no choice of ranks keeps the tolerance"
    else:
        why = f"keep {form}: the ranks that save bytes here change too much"
    return LayerAdvice(
        name=subject.name,
        kind=subject.kind,
        shape=subject.shape,
        as_it_is=own,
        points=points,
        rank=rank,
        why=why,
    )
