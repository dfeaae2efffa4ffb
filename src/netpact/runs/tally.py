"""The account of one run: what was reused, what waits, what is done."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence

from netpact.core.errors import PactError
from netpact.runs.attempt import Attempt
from netpact.runs.engine import Outcome, ProgressCallback, TaskDone
from netpact.runs.store import Store
from netpact.runs.task import Task


class Tally:
    """Shared by the engines, so that they cannot differ in what is reused, stored and reported.

    tasks    as given
    waiting  places in `tasks` of those that have to be computed, first come first served
    """

    def __init__(self, tasks: Sequence[Task], store: Store, progress: ProgressCallback | None) -> None:
        self.tasks = tuple(tasks)
        twice = [key for key, count in Counter(task.key for task in self.tasks).items() if count > 1]
        if twice:
            raise PactError(
                f"several tasks have the same key: {', '.join(twice)}", where="tasks", hint="give each its own key"
            )
        self._store = store
        self._progress = progress
        self._outcomes: dict[int, Outcome] = {}
        self.waiting: deque[int] = deque()
        for place, task in enumerate(self.tasks):
            found = store.find(task)
            if found is None:
                self.waiting.append(place)
            else:
                self._note(place, Outcome(task, found.result, None, found.seconds, reused=True))

    def finish(self, place: int, attempt: Attempt) -> None:
        task = self.tasks[place]
        if attempt.error is None:
            self._store.put(task, attempt.result, seconds=attempt.seconds)
        outcome = Outcome(task, attempt.result, attempt.error, attempt.seconds, False, attempt.traceback)
        self._note(place, outcome)

    def outcomes(self) -> list[Outcome]:
        return [self._outcomes[place] for place in range(len(self.tasks))]

    def _note(self, place: int, outcome: Outcome) -> None:
        self._outcomes[place] = outcome
        if self._progress is not None:
            self._progress(
                TaskDone(len(self._outcomes), len(self.tasks), outcome.task.key, outcome.reused, outcome.error)
            )
