"""search: look for the file with the lowest certified bound within a time budget.

Everything that is chosen here ends up in the message (architecture, stem constants, signs), and one prefix code covers
all that could have been chosen, so looking at many candidates costs nothing beyond the message's own length.

First every candidate stem is screened: signs are trained by gradient at a few rates and judged by the bound. The best
two get a round of single changes, and the better of them is searched on in rounds until the budget is used up. A round
starts where the last one ended, and every finished piece is kept in the folder: an interrupted search goes on, and
`rounds` repeats one exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from netpact.certification import certify
from netpact.datasets import load_data
from netpact.errors import PactError
from netpact.files import write_atomically
from netpact.format import Compressed, Pact, seal
from netpact.methods import Quantize
from netpact.methods.flips import COLD, HOT, Flips, anneal, score_signs
from netpact.methods.sign_training import train_signs
from netpact.methods.ternary_search import head_inputs, replace_head
from netpact.models import build, parse_model
from netpact.network import Network, trace
from netpact.runs import MISSING, JsonValue, ResultStore, Task
from netpact.runs.json_values import encode_json
from netpact.seed import Seed
from netpact.version import __version__

if TYPE_CHECKING:
    from netpact.datasets import Data

_RATES = (3.5, 6.0)
_FINALISTS = 2  # candidates that get a first round of changes
_SCREENING_SHARE = 0.4  # of the budget at most
_ROUND_STEPS = 4000
_COOLING = 0.8  # each round starts cooler than the last


@dataclass(frozen=True)
class Trial:
    """One thing that was tried: errors and ideal bits of the head, and the bound they give without the header."""

    name: str
    errors: int
    bits: float
    score: float
    seconds: float

    def to_json(self) -> dict[str, JsonValue]:
        return {
            "name": self.name,
            "errors": self.errors,
            "bits": self.bits,
            "score": self.score,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class SearchResult:
    """The certified file and the ledger of everything that was tried on the way to it."""

    pact: Pact
    file: Path
    ledger: tuple[Trial, ...]
    architecture: str
    rounds: int
    minutes: float
    command: str

    def to_json(self) -> dict[str, object]:
        stated = None if self.pact.certificate is None else self.pact.certificate.to_json()
        return {
            "file": str(self.file),
            "architecture": self.architecture,
            "rounds": self.rounds,
            "minutes": round(self.minutes, 1),
            "command": self.command,
            "ledger": [trial.to_json() for trial in self.ledger],
            "certificate": stated,
        }


def candidate_names(data: Data) -> list[str]:
    """The declared candidates: stems of oriented edges in two cell sizes, straightened or not, and raw pixels."""
    if len(data.input_shape) != 3 or max(data.input_shape[1:]) > 64:
        return ["linear"]
    side = min(data.input_shape[1:])
    cells = [(cell, stride) for cell, stride in ((8, 4), (6, 3)) if side >= 3 * cell] or [(4, 2)]
    return [
        f"oriented:{orientations}-{inhibition}-{cell}-{stride}-{straighten}"
        for cell, stride in cells
        for straighten in (2, 1)
        for orientations, inhibition in ((8, 5), (12, 3))
        if side >= cell
    ] + ["linear"]


def search(
    data_name: str,
    *,
    budget_seconds: float,
    seed: int = 0,
    out: str | Path,
    delta: float = 0.05,
    rounds: int | None = None,
    candidates: list[str] | None = None,
    progress: Callable[[Trial], None] | None = None,
) -> SearchResult:
    """Search, write `out/best.pact` with its certificate and `out/ledger.json`.

    rounds      stop after so many rounds of changes instead of by the clock: the same file every time
    candidates  architecture names whose last layer is linear, instead of the declared ones
    progress    called after every trial
    """
    if not budget_seconds > 0 or (rounds is not None and rounds < 1):
        raise PactError("the budget must be positive, and rounds at least 1", where="budget")
    started = time.monotonic()
    data, folder = load_data(data_name), Path(out)
    store = ResultStore(folder / "run")
    notebook = _Notebook(data, seed, store, progress)
    names = candidate_names(data) if candidates is None else candidates
    screening_end = started + _SCREENING_SHARE * budget_seconds
    screened: dict[str, tuple[float, NDArray[np.int8]]] = {}
    for name in names:
        # Without a clock everything is screened, so that the result does not depend on the machine's speed.
        if rounds is None and screened and time.monotonic() > screening_end:
            break
        head = _Head(name, data)
        found = [notebook.screen(head, name, rate) for rate in _RATES]
        screened[name] = min(((trial.score, signs) for trial, signs in found), key=lambda pair: pair[0])
    if not screened:
        raise PactError("no candidates to search", where="candidates")
    finalists = sorted(screened, key=lambda name: screened[name][0])[:_FINALISTS]
    first = {name: notebook.improve(_Head(name, data), name, screened[name][1], 0) for name in finalists}
    winner = min(finalists, key=lambda name: first[name][0].score)
    head, signs, done = _Head(winner, data), first[winner][1], 1
    while done < rounds if rounds is not None else time.monotonic() - started < budget_seconds:
        signs = notebook.improve(head, winner, signs, done)[1]
        done += 1
    pact = certify(seal(head.compressed(signs)), data, delta=delta)
    file = pact.write(folder / "best.pact")
    only = "".join(f" --candidate {name}" for name in candidates or [])
    command = f"netpact search --data {data.name} --seed {seed}{only} --rounds {done} --out DIR"
    minutes = (time.monotonic() - started) / 60
    result = SearchResult(pact, file, tuple(notebook.ledger), winner, done, minutes, command)
    write_atomically(folder / "ledger.json", encode_json(result.to_json(), where="ledger").encode())
    return result


class _Head:
    """A candidate's features, computed once and only when they are needed."""

    def __init__(self, name: str, data: Data) -> None:
        architecture = parse_model(name, input_shape=data.input_shape, classes=data.classes)
        self.network: Network = trace(build(architecture), data)
        if self.network.layers[-1].kind != "linear" or len(self.network.layers) != 1:
            raise PactError("search takes networks whose only layer with weights is a linear one", where=name)
        self._data = data
        self._flips: Flips | None = None

    @property
    def flips(self) -> Flips:
        if self._flips is None:
            layer = self.network.layers[-1]
            features, labels = head_inputs(self.network.module, layer.name, self._data.train)
            self._flips = Flips(features, labels, classes=layer.shape[0])
        return self._flips

    @property
    def shape(self) -> tuple[int, ...]:
        return self.network.layers[-1].shape

    def compressed(self, signs: NDArray[np.int8]) -> Compressed:
        return replace_head(Quantize().compress(self.network), self.network.layers[-1].name, signs)


class _Notebook:
    """Runs trials, or finds them in the store; keeps the ledger."""

    def __init__(self, data: Data, seed: int, store: ResultStore, progress: Callable[[Trial], None] | None) -> None:
        self._fingerprint, self._seed, self._store, self._progress = data.train.fingerprint(), seed, store, progress
        self.ledger: list[Trial] = []

    def screen(self, head: _Head, name: str, rate: float) -> tuple[Trial, NDArray[np.int8]]:
        def run() -> NDArray[np.int8]:
            start = np.zeros(head.shape)
            seed = Seed(self._seed).child("search", name, rate)
            return train_signs(head.flips.columns.T, head.flips.labels, start, rate=rate, seed=seed)

        return self._trial(f"{name} rate {rate:g}", head, run)

    def improve(
        self, head: _Head, name: str, signs: NDArray[np.int8], round_number: int
    ) -> tuple[Trial, NDArray[np.int8]]:
        def run() -> NDArray[np.int8]:
            random = Seed(self._seed).child("search", name, "round", round_number).numpy()
            hot = max(COLD, HOT * _COOLING**round_number)
            return anneal(
                head.flips, signs, steps=_ROUND_STEPS, bit_price=1.0, random=random, progress=None, hot=hot
            ).signs

        return self._trial(f"{name} round {round_number + 1}", head, run)

    def _trial(self, name: str, head: _Head, run: Callable[[], NDArray[np.int8]]) -> tuple[Trial, NDArray[np.int8]]:
        # The task is only a key here: data, seed and name decide the result.
        arguments: dict[str, JsonValue] = {"fingerprint": self._fingerprint, "seed": self._seed, "trial": name}
        task = Task(name, describe_trial, arguments, version=__version__)
        stored = self._store.get(task)
        started = time.monotonic()
        if stored is MISSING or not isinstance(stored, dict):
            signs = run()
            errors, bits, score = score_signs(head.flips, signs)
            trial = Trial(name, errors, bits, score, time.monotonic() - started)
            content: dict[str, JsonValue] = {"trial": trial.to_json(), "signs": signs.astype(int).tolist()}
            self._store.put(task, content, seconds=trial.seconds)
        else:
            signs = np.array(stored["signs"], dtype=np.int8)
            trial = Trial(**stored["trial"])
        self.ledger.append(trial)
        if self._progress is not None:
            self._progress(trial)
        return trial, signs


def describe_trial(*, fingerprint: str, seed: int, trial: str) -> str:
    """What identifies a trial in the store."""
    return f"{trial}, seed {seed}, data {fingerprint}"
