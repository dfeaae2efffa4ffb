"""compress_to: bisection over a method's settings.

Files are assumed to grow, and accuracy with them, along a method's size knob; the bound falls and rises again. Where
that is not quite so, what is handed out is still the best of everything that was tried.

Choosing among settings is paid for: everything that a setting decides is in the message, one prefix code covers all
messages, and the bound counts the bytes of the one that was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from netpact.core.checks import check_instance
from netpact.core.progress import Progress, Stop
from netpact.datasets import Data, Samples, as_data
from netpact.methods.method import Method, as_network, check_method
from netpact.methods.targets.ladders import Ladder, find_ladder, finer_ladder
from netpact.methods.targets.records import Reached, Target, Tried, UnreachedError
from netpact.methods.targets.trying import StoppedError, Trial, Trials, draw_measured
from netpact.models import AnyModule
from netpact.network import Network
from netpact.runs import ResultStore

_NEIGHBOURS = 2  # values of the first knob that the second one is tried with
_GOLDEN = (3 - math.sqrt(5)) / 2


def compress_to(
    network: Network | AnyModule,
    method: Method,
    target: Target,
    *,
    samples: Samples | Data,
    validation: Samples | Data | None = None,
    over: Sequence[str] = (),
    arithmetic: str | None = None,
    keep: str | Path | None = None,
    progress: Callable[[Tried], None] | None = None,
    working: Callable[[str], Progress] | None = None,
    stop: Stop | None = None,
) -> Reached:
    """The smallest file within an accuracy loss or a bound, or the most accurate file within a number of bytes.

    network     as for compress
    method      with all options but the one that is varied
    samples     training samples; of Data the training part
    validation  labelled samples that accuracy is measured on; of Data the training part. Default: the training
                samples, of more than 10,000 so many
    over        options to vary: one, or two of which the second is varied for what the first one gave. Default: the
                method's size knob; where that is bits and the method has a rate, the rate after it
    keep        a folder for what is finished: the same call goes on from there
    progress    called with everything that was tried
    working     called with the name of what is at work; gives what is called with how far it is
    stop        asked between settings, and while one is at work: where it is true, the search ends with what it has
                so far, and with an error where that is nothing

    Raises UnreachedError, which has the nearest that was found and everything that was tried.
    """
    check_method(method)
    check_instance(target, Target, where="target", hint="Target(max_accuracy_loss=1.0), for example")
    given = as_data(samples).train
    network = as_network(network, given)
    network.check_fits(given)
    whole = given if validation is None else as_data(validation).train
    network.check_fits(whole)
    measured = draw_measured(whole)
    store = None if keep is None else ResultStore(Path(keep) / "run")
    trials = Trials(network, target, given, measured, arithmetic, store, progress, working, stop)
    search = _Search(trials, target)
    with suppress(StoppedError):
        search.everywhere(method, find_ladder(method, over), over)
    found = search.best()
    if found is None or found.pact is None or found.compressed is None:
        raise _unreached(search, trials, target, method)
    return Reached(
        target,
        found.method,
        found.compressed,
        found.pact,
        found.told,
        tuple(trial.told for trial in trials.all),
        trials.original_accuracy,
        f"{measured.count:,} {'training' if validation is None else 'validation'} samples"
        + (f" of {whole.count:,}" if whole is not measured else ""),
    )


class _Search:
    """Tries settings along ladders until it is known where the target is met."""

    def __init__(self, trials: Trials, target: Target) -> None:
        self._trials, self._target = trials, target

    def everywhere(self, method: Method, first: Ladder, over: Sequence[str]) -> None:
        """Along the first knob, and along the second one for the best of its values.

        The lowest bound is looked for from the ends; the method as it is given comes first, should time be short.
        """
        if self._target.lowest_bound and (given := self._trials.run(method, first.name(method))) is not None:
            self._trials.bound(given)
        for place in self.near(first, self.along(first)):
            finer = finer_ladder(first.methods[place], first.option, over)
            if finer is not None:
                self.along(finer, f"{first.setting(place)}, ")

    def along(self, ladder: Ladder, before: str = "") -> int | None:
        """The place of the setting that is wanted; None where none of the ladder serves."""
        count, run = len(ladder.methods), self._run(ladder, before)
        if self._target.is_bound:
            return self._lowest_bound(count, run)
        start = next((place for place in range(ladder.usual, -1, -1) if run(place) is not None), None)
        if start is None:
            return None
        if self._target.max_bytes is not None:
            return self._most_accurate(count, start, run)
        return find_least(count, start, lambda place: (one := run(place)) is not None and self._holds(one))

    def near(self, ladder: Ladder, found: int | None) -> range:
        """For which values of a first knob a second one is worth trying: a finer grid at a higher price may be smaller.

        Where no value serves, the smallest ones may at some price.
        """
        if found is None and self._target.max_accuracy_loss is not None:
            return range(0)
        first = 0 if found is None else found
        if found is not None and self._target.max_bytes is not None:
            first += 1  # what is small enough without a price needs none
        return range(first, min(first + _NEIGHBOURS, len(ladder.methods)))

    def best(self) -> Trial | None:
        holding = [trial for trial in self._trials.all if trial.pact is not None and self._holds(trial, known=True)]
        if self._target.max_bytes is not None:
            return min(holding, key=lambda trial: (-(trial.told.accuracy or 0), trial.size), default=None)
        if self._target.lowest_bound:
            return min(holding, key=lambda trial: (self._trials.bound(trial), trial.size), default=None)
        return min(holding, key=lambda trial: trial.size, default=None)

    def nearest(self) -> Trial | None:
        made = [trial for trial in self._trials.all if trial.pact is not None]
        return min(made, key=self._distance, default=None)

    def _run(self, ladder: Ladder, before: str) -> Callable[[int], Trial | None]:
        return lambda place: self._trials.run(ladder.methods[place], before + ladder.setting(place))

    def _holds(self, trial: Trial, *, known: bool = False) -> bool:
        """known: what was not measured on the way does not count."""
        target = self._target
        if target.max_bytes is not None:
            return trial.size <= target.max_bytes and not (known and trial.told.accuracy is None)
        if target.is_bound:
            if known and trial.told.bound is None:
                return False
            return target.max_bound is None or self._trials.bound(trial) <= target.max_bound
        assert target.max_accuracy_loss is not None
        if known and trial.told.accuracy is None:
            return False
        self._trials.measure(trial)
        assert trial.told.accuracy_loss is not None
        return trial.told.accuracy_loss <= target.max_accuracy_loss

    def _distance(self, trial: Trial) -> tuple[float, int]:
        told = trial.told
        measured = (told.bound or trial.key) if self._target.is_bound else told.accuracy_loss
        return (0.0 if self._target.max_bytes is not None else measured if measured is not None else 1e9), trial.size

    def _most_accurate(self, count: int, start: int, run: Callable[[int], Trial | None]) -> int | None:
        """The largest file that is small enough, measured; and the usual one, where both are."""

        def fits(place: int) -> bool:
            return (one := run(place)) is not None and self._holds(one)

        found = find_least(count, count - 1 - start, lambda place: fits(count - 1 - place))
        if found is None:
            return None
        found = count - 1 - found
        for place in {found, min(found, start)}:
            if (one := run(place)) is not None:
                self._trials.measure(one)
        return found

    def _lowest_bound(self, count: int, run: Callable[[int], Trial | None]) -> int:
        """Where the bound is lowest; and where it is low enough, down to the smallest file of which that is true."""
        most = self._target.max_bound

        def bound(place: int) -> float:
            return math.inf if (one := run(place)) is None else self._trials.bound(one)

        lowest = find_lowest(count, bound)
        if most is not None and bound(lowest) <= most:
            find_least(lowest + 1, lowest, lambda place: bound(place) <= most)
        return lowest


def find_least(count: int, start: int, holds: Callable[[int], bool]) -> int | None:
    """The first of the places 0 to count - 1 that holds, where all after it hold too; None where none does.

    start  is asked first; what lies after it only where it does not hold
    """
    if holds(start):
        below, above = -1, start
    elif start < count - 1 and holds(count - 1):
        below, above = start, count - 1
    else:
        return None
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


def find_lowest(count: int, value: Callable[[int], float]) -> int:
    """The place of the lowest value, where values fall and then rise: golden section search."""
    known: dict[int, float] = {}

    def look(place: int) -> float:
        if place not in known:
            known[place] = value(place)
        return known[place]

    first, last = 0, count - 1
    while last - first > 3:
        step = max(1, round((last - first) * _GOLDEN))
        left, right = first + step, last - step
        if left == right:
            right += 1
        first, last = (first, right) if look(left) <= look(right) else (left, last)
    for place in range(first, last + 1):
        look(place)
    return min(known, key=lambda place: (known[place], place))


def _unreached(search: _Search, trials: Trials, target: Target, method: Method) -> UnreachedError:
    nearest = search.nearest()
    tried = tuple(trial.told for trial in trials.all)
    what = f"no setting of {method.name} that was tried gives {target}"
    if nearest is None:
        refused = next((one.refused for one in tried if one.refused), "")
        return UnreachedError(f"{what}: {refused}", where="target", hint="take another method", tried=tried)
    return UnreachedError(
        f"{what}; the nearest is {nearest.told}",
        where="target",
        hint="ask for less, or take another method or another network",
        tried=tried,
        nearest=nearest.told,
    )
