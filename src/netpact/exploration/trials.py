"""One thing that was tried, and the notebook that keeps every one of them in a folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from netpact.certificates import risk_bound
from netpact.coding.format import Compressed, Pact, seal
from netpact.core.progress import Progress
from netpact.core.version import __version__
from netpact.datasets import as_samples
from netpact.exploration.clock import Clock, OutOfTimeError
from netpact.network import count_errors
from netpact.runs import MISSING, JsonValue, ResultStore, Task

if TYPE_CHECKING:
    from netpact.datasets import Data

STOPPED = ", stopped"
_PROBED = 1000  # samples that the time of counting is estimated on
_PASSES = 2.5  # over the samples after the last trial: its own count, the certificate's, and what that reads besides
Working = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Trial:
    """What was tried: the errors of the network, the bits of its whole message, and the bound they give."""

    name: str
    errors: int
    bits: int
    score: float
    seconds: float

    def to_json(self) -> dict[str, JsonValue]:
        return dict(asdict(self))


@dataclass(frozen=True, eq=False)
class Tried:
    trial: Trial
    pact: Pact


class Notebook:
    """Runs trials, or finds them in the store; keeps the ledger."""

    def __init__(
        self,
        data: Data,
        seed: int,
        delta: float,
        store: ResultStore,
        *,
        progress: Callable[[Trial], None] | None,
        working: Working | None,
        clock: Clock,
    ) -> None:
        self.data, self.seed, self.clock = data, seed, clock
        self.ledger: list[Trial] = []
        self._delta, self._store, self._progress, self._working = delta, store, progress, working
        self._fingerprint = data.train.fingerprint()

    def trial(
        self,
        name: str,
        run: Callable[[Progress], Compressed],
        *,
        share: float = 1.0,
        count: Callable[[Pact], int | None] | None = None,
    ) -> Tried | None:
        """Run it, or find it in the store. None where no time is left for it within its share of the budget.

        A trial of a share is run only if one like the longest so far would end in time; a search's first trial is run
        in any case.

        count  the errors of what was found, where they are known without running the network; None where they are not
        """
        # The task is only a key here. Data, seed and name decide the result; delta decides where a round goes on from.
        arguments: dict[str, JsonValue] = {
            "fingerprint": self._fingerprint,
            "seed": self.seed,
            "delta": self._delta,
            "trial": name,
        }
        task = Task(name, describe_trial, arguments, version=__version__)
        stored = self._store.get(task)
        if stored is MISSING or not isinstance(stored, dict):
            if self.ledger and self.clock.left(share) <= (self._longest() if share < 1 else 0.0):
                return None
            started = time.monotonic()
            pact = seal(run(lambda done, total: self._tell(name, done, total)))
            # What the clock has cut short is a trial of its own: another run would find something else.
            cut_short = self.clock.is_over()
            known = None if count is None else count(pact)
            errors = self._count(pact) if known is None else known
            seconds = time.monotonic() - started
            if cut_short:
                name += STOPPED
            else:
                self._store.put(
                    task, {"errors": errors, "message": pact.message.hex(), "seconds": seconds}, seconds=seconds
                )
        else:
            errors, seconds = int(stored["errors"]), float(stored["seconds"])
            pact = Pact(bytes.fromhex(stored["message"]))
        score = risk_bound(errors=errors, samples=self.data.train.count, code_bits=pact.code_bits, delta=self._delta)
        trial = Trial(name, errors, pact.code_bits, score, seconds)
        self.ledger.append(trial)
        if self._progress is not None:
            self._progress(trial)
        return Tried(trial, pact)

    def set_time_aside(self, compressed: Compressed) -> None:
        """Before the first trial: time for counting the errors of a trial, and once more for the certificate.

        Estimated on a few samples, with a network of the kind that will be counted.
        """
        if not self.clock.is_limited:
            return
        few = as_samples(next(iter(self.data.train.batches(_PROBED))), classes=self.data.classes)
        started = time.monotonic()
        count_errors(seal(compressed).to_module(), few, arithmetic=compressed.arithmetic)
        self._reserve((time.monotonic() - started) * self.data.train.count / few.count)

    def _longest(self) -> float:
        return max(trial.seconds for trial in self.ledger)

    def refuse_overtime(self) -> None:
        if self.clock.is_over():
            raise OutOfTimeError

    def _count(self, pact: Pact) -> int:
        started = time.monotonic()
        errors = count_errors(pact.to_module(), self.data.train, arithmetic=pact.arithmetic).errors
        self._reserve(time.monotonic() - started)
        return errors

    def _reserve(self, counting: float) -> None:
        self.clock.reserve(_PASSES * counting)

    def _tell(self, name: str, done: int, total: int) -> None:
        if self._working is not None:
            self._working(name, done, total)


def describe_trial(*, fingerprint: str, seed: int, delta: float, trial: str) -> str:
    """What identifies a trial in the store."""
    return f"{trial}, seed {seed}, delta {delta}, data {fingerprint}"
