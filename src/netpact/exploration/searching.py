"""search: look for the file with the lowest certified bound within a time budget.

Everything that is chosen here ends up in the message (architecture, stem constants, every weight), and one prefix code
covers all that could have been chosen, so looking at many candidates costs nothing beyond the message's own length.

Every candidate is tried at a few rates and judged by the bound: features are fixed or learned, and a sparse matrix of
signs is trained as their head. The best two get a round of single changes of signs, and the better of them is searched
on in rounds until the budget is used up. A round starts where the last one ended, and every finished trial is kept in
the folder: an interrupted search goes on, and `rounds` repeats one exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from netpact.certification import certify
from netpact.datasets import Data, load_data
from netpact.errors import PactError
from netpact.exploration.candidates import candidate_names
from netpact.exploration.heads import HEAD_RATES, Head
from netpact.exploration.learned import LEARNED_RATES, learn
from netpact.exploration.trials import Notebook, Trial, Tried, Working
from netpact.files import write_atomically
from netpact.format import Compressed, Pact
from netpact.methods import Quantize
from netpact.models import build, parse_model
from netpact.network import trace
from netpact.runs import ResultStore
from netpact.runs.json_values import encode_json

_FINALISTS = 2  # candidates that get a first round of changes
_SCREENING_SHARE = 0.4  # of the budget at most


@dataclass(frozen=True)
class SearchResult:
    """The certified file and the ledger of everything that was tried on the way to it."""

    pact: Pact
    file: Path
    ledger: tuple[Trial, ...]
    rounds: int
    minutes: float
    command: str

    def to_json(self) -> dict[str, object]:
        stated = None if self.pact.certificate is None else self.pact.certificate.to_json()
        return {
            "file": str(self.file),
            "architecture": str(self.pact.architecture),
            "rounds": self.rounds,
            "minutes": round(self.minutes, 1),
            "command": self.command,
            "ledger": [trial.to_json() for trial in self.ledger],
            "certificate": stated,
        }


def search(
    data_name: str,
    *,
    budget_seconds: float,
    seed: int = 0,
    out: str | Path,
    delta: float = 0.05,
    rounds: int | None = None,
    candidates: Sequence[str] | None = None,
    rates: Sequence[float] | None = None,
    training_steps: int | None = None,
    progress: Callable[[Trial], None] | None = None,
    working: Working | None = None,
) -> SearchResult:
    """Search, write `out/best.pact` with its certificate and `out/ledger.json`.

    rounds      stop after so many rounds of changes instead of by the clock: the same file every time
    candidates  architectures by name, instead of the declared ones
    rates       prices of a bit, instead of the declared ones; at 1 a nat of the message is worth a nat of cross-entropy
    training_steps  of gradient for a matrix of signs, instead of as many as the number of samples is worth
    progress    called after every trial
    working     called during a trial with its name, what is done, and what there is to do
    """
    if not budget_seconds > 0 or (rounds is not None and rounds < 1):
        raise PactError("the budget must be positive, and rounds at least 1", where="budget")
    if rates is not None and not all(rate > 0 for rate in rates):
        raise PactError(f"rates are positive, got {list(rates)}", where="rates")
    if training_steps is not None and training_steps < 1:
        raise PactError(f"at least one step is needed, got {training_steps}", where="training_steps")
    started = time.monotonic()
    data, folder = load_data(data_name), Path(out)
    names = candidate_names(data) if candidates is None else list(candidates)
    if not names:
        raise PactError("no candidates to search", where="candidates")
    bodies = [_body(name, data) for name in names]  # names that cannot be read die here, not hours later
    notebook = Notebook(data, seed, delta, ResultStore(folder / "run"), progress=progress, working=working)

    def in_time(share: float) -> bool:
        # Without a clock everything is done, so that the result does not depend on the machine's speed.
        return rounds is not None or time.monotonic() - started < share * budget_seconds

    screened: list[_Screened] = []
    for name, body in zip(names, bodies, strict=True):
        if screened and not in_time(_SCREENING_SHARE):
            break
        screened += _screen(notebook, name, body, rates, training_steps)
    best, done = _improve(notebook, screened, lambda done: in_time(1.0) if rounds is None else done < rounds)
    pact = certify(best.pact, data, delta=delta)
    file = pact.write(folder / "best.pact")
    chosen = "".join(f" --candidate {name}" for name in candidates or ())
    chosen += "".join(f" --rate {rate:g}" for rate in rates or ())
    chosen += "" if training_steps is None else f" --training-steps {training_steps}"
    command = f"netpact search --data {data_name} --seed {seed}{chosen} --rounds {done} --out DIR"
    result = SearchResult(pact, file, tuple(notebook.ledger), done, (time.monotonic() - started) / 60, command)
    write_atomically(folder / "ledger.json", encode_json(result.to_json(), where="ledger").encode())
    return result


@dataclass(frozen=True, eq=False)
class _Screened:
    """A head of signs to begin with, and what its features are where they were learned."""

    head: Head
    signs: Tried
    rate: float
    learned: Tried | None = None


def _screen(
    notebook: Notebook, name: str, body: Compressed, rates: Sequence[float] | None, steps: int | None
) -> list[_Screened]:
    if _is_head_only(body):
        head = Head(name, body, notebook.data, steps=steps)
        return [_Screened(head, *_screen_signs(notebook, head, rates or HEAD_RATES))]
    found = []
    for rate in rates or LEARNED_RATES:
        learned = learn(notebook, name, rate)
        head = Head(learned.trial.name, learned.pact.decode(), notebook.data, steps=steps)
        found.append(_Screened(head, *_screen_signs(notebook, head, HEAD_RATES), learned))
    return found


def _screen_signs(notebook: Notebook, head: Head, rates: Sequence[float]) -> tuple[Tried, float]:
    tried = [(head.screen(notebook, rate), rate) for rate in rates]
    return min(tried, key=lambda pair: pair[0].trial.score)


def _improve(notebook: Notebook, screened: list[_Screened], go_on: Callable[[int], bool]) -> tuple[Tried, int]:
    """Rounds of changes for the best heads; the best of everything, and how many rounds its search took."""
    finalists = sorted(screened, key=lambda one: one.signs.trial.score)[:_FINALISTS]
    first = [(one, one.head.improve(notebook, one.signs, 0, one.rate)) for one in finalists]
    winner, found = min(first, key=lambda pair: pair[1].trial.score)
    done = 1
    while go_on(done):
        found = _best([found, winner.head.improve(notebook, found, done, winner.rate)])
        done += 1
    return _best([found, *(one.learned for one in screened if one.learned is not None)]), done


def _best(tried: Sequence[Tried]) -> Tried:
    return min(tried, key=lambda one: one.trial.score)


def _body(name: str, data: Data) -> Compressed:
    """The untrained network; of a linear head on a fixed stem everything but the head is there already."""
    return Quantize().compress(
        trace(build(parse_model(name, input_shape=data.input_shape, classes=data.classes)), data)
    )


def _is_head_only(body: Compressed) -> bool:
    return len({name.rpartition(".")[0] for name in body.tensors}) == 1
