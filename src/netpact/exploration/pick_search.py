"""search_picks: look for the recipe of sample compression with the lowest bound.

A recipe is some bytes of a prefix code, so trying many costs nothing beyond the bytes of the one that is taken. Recipes
are compared on few samples, one setting changed at a time; then from the best one on all of them, where wider or
narrower similarities may be better. Where it had better stop picking is seen from its run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from netpact.certificates import code_bits, selection_bound
from netpact.certificates.inputs import failure_probability
from netpact.coding.format import Pact
from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.files import as_path, check_place, write_atomically
from netpact.core.json import encode_json
from netpact.core.progress import Progress
from netpact.datasets import Data, as_data
from netpact.exploration.clock import Clock
from netpact.exploration.pick_bench import Bench
from netpact.exploration.pick_changes import again, changes, starts
from netpact.exploration.trials import Trial
from netpact.picking import FeatureBase, Picked, PickRecipe, verify_picked
from netpact.picking.base import as_feature_base
from netpact.picking.certifying import find_origin, pick_drawn
from netpact.picking.recipe_bytes import HASH, LOWEST, allowed_most

BEST = "best.pick"
_FEW = 4000  # samples that recipes are compared on


@dataclass(frozen=True)
class PickSearch:
    """The certified result and everything that was tried on the way to it.

    note  what became of the best.pick that was there before; "" if there was none
    """

    picked: Picked
    file: Path
    ledger: tuple[Trial, ...]
    minutes: float
    note: str = ""

    def to_json(self) -> dict[str, object]:
        stated = None if self.picked.certificate is None else self.picked.certificate.to_json()
        return {
            "file": str(self.file),
            "recipe": str(self.picked.recipe),
            "minutes": round(self.minutes, 1),
            "note": self.note,
            "ledger": [trial.to_json() for trial in self.ledger],
            "certificate": stated,
        }


def search_picks(
    data: Data | str | Path | object,
    *,
    out: str | Path,
    budget_seconds: float = 600.0,
    rounds: int | None = None,
    delta: float = 0.05,
    base: FeatureBase | Pact | str | Path | None = None,
    base_data: object = None,
    progress: Callable[[Trial], None] | None = None,
    working: Progress | None = None,
) -> PickSearch:
    """Search, write out/best.pick with its certificate and out/ledger.json.

    base      an integer network from other data: features are what its layers read. base_data: what it was trained on
    rounds    of changes of all settings, instead of the budget: the same file every time
    progress  called after every trial
    working   picks of the runs on all samples
    """
    failure_probability(delta)
    check_number(budget_seconds, where="budget_seconds", above=0)
    if rounds is not None:
        check_integer(rounds, where="rounds", least=0)
    folder, clock = as_path(out, where="out"), Clock(budget_seconds if rounds is None else None)
    check_place(folder / BEST)
    source, ground = as_data(data), as_feature_base(base)
    told = find_origin(ground, base_data, source)
    ledger: list[Trial] = []
    few, every = (
        Bench(
            source,
            ground,
            few=count,
            delta=delta,
            clock=clock,
            ledger=ledger,
            progress=progress,
            working=working if count == source.train.count else None,
        )
        for count in (min(_FEW, source.train.count), source.train.count)
    )
    first = [start for start in starts(few) if clock.left(0.5) > 0 or not ledger]
    best = _climb(few, min(first, key=few.score), rounds)
    # Few samples say little of the order; the cheaper one first, whose result ends a run of the other that is worse.
    best = min((replace(best, order=order) for order in (HASH, LOWEST)), key=every.score)
    if not few.is_whole:
        best = _climb(every, best, rounds, features=False)
    picked = _finish(every, best, told, working)
    file, note = _place(folder, picked, every)
    result = PickSearch(picked, file, tuple(ledger), clock.elapsed() / 60, note)
    write_atomically(folder / "ledger.json", encode_json(result.to_json(), where="ledger").encode())
    return result


def _climb(bench: Bench, best: PickRecipe, rounds: int | None, *, features: bool = True) -> PickRecipe:
    """Every setting in turn; a change that helps is kept and made again. features: those of the features too."""
    done = 0
    while rounds is None or done < rounds:
        before = best
        for change in changes(best, bench.data, features=features):
            further: PickRecipe | None = change
            while further is not None and not bench.clock.is_over() and bench.score(best) > bench.score(further):
                best, further = further, again(best, further)
            if bench.clock.is_over():
                return best
        done += 1
        if best == before:
            break
    return best


def _finish(bench: Bench, recipe: PickRecipe, told: str, working: Progress | None) -> Picked:
    """On all samples, with the best place to stop, or without one if the recipe that does not name it is better."""
    history, samples = bench.history(recipe), len(bench.draw(recipe).labels)
    reached = dict(history)  # one sample is picked in a round: a run that stops earlier is a beginning of this one

    def bound(candidate: PickRecipe) -> float:
        picked = candidate.most or history[-1][0]
        bits = code_bits(len(candidate.to_bytes()))
        return selection_bound(selected=picked + reached[picked], samples=samples, code_bits=bits, delta=bench.delta)

    ends = sorted({allowed_most(picked, recipe.features) for picked in reached if picked} & reached.keys())
    candidates = [recipe.at_most(end) for end in _near_best(ends, reached)]
    if not history[-1][1]:  # it ran to its end
        candidates.append(recipe)
    best = min(candidates, key=bound)
    return pick_drawn(bench.draw(best), bench.data, told, delta=bench.delta, progress=working)


def _near_best(ends: list[int], reached: dict[int, int]) -> list[int]:
    """The ends with the fewest picked and wrong samples: their recipes are of one length."""
    return sorted(ends, key=lambda end: end + reached[end])[:1]


def _place(folder: Path, picked: Picked, bench: Bench) -> tuple[Path, str]:
    """A better file for the same data and delta is never replaced, and none is lost."""
    best, stated = folder / BEST, picked.certificate
    assert stated is not None
    if not best.exists():
        return picked.write(best), ""
    try:
        earlier = Picked.read(best)
        told = earlier.certificate
        fits = (
            told is not None
            and told.delta == bench.delta
            and verify_picked(earlier, bench.data, base=bench.base).agreed
        )
    except PactError:
        told, fits = None, False
    if fits and told is not None and told.bound <= stated.bound:
        if earlier.message == picked.message:
            return best, ""
        own = picked.write(folder / f"found-{picked.message_sha256[:12]}.pick")
        return own, f"{best} stays: its bound is not larger; this search's file is {own}"
    if fits:
        return picked.write(best), f"{best} of an earlier search is replaced"
    own = picked.write(folder / f"found-{picked.message_sha256[:12]}.pick")
    return own, f"{best} is about other data or delta, or does not verify, and stays; this search's file is {own}"
