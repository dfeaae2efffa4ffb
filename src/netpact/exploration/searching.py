"""search: look for the file with the lowest certified bound within a time budget.

Everything that is chosen here ends up in the message (architecture, stem constants, every weight), and one prefix code
covers all that could have been chosen, so looking at many candidates costs nothing beyond the message's own length.

Every candidate is tried at a few rates and judged by the bound: features are fixed or learned, and a sparse matrix of
signs is trained as their head. The best two get a round of single changes of signs, and the better of them is searched
on in rounds until the budget is used up. A round starts where the last one ended, and every finished trial is kept in
the folder: an interrupted search resumes, and `rounds` repeats one exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from netpact.certificates.inputs import failure_probability
from netpact.coding.format import Compressed, Pact
from netpact.core.checks import check_integer, check_number
from netpact.core.display import Displayed, Row
from netpact.core.errors import PactError
from netpact.core.files import as_path, check_place, write_atomically
from netpact.core.json import encode_json
from netpact.core.seed import Seed
from netpact.datasets import Data, as_data, find_copies, leave_out
from netpact.exploration.candidates import candidate_names
from netpact.exploration.clock import Clock, OutOfTimeError
from netpact.exploration.halving import halve
from netpact.exploration.heads import HEAD_RATES, Head
from netpact.exploration.keeping import BEST, look_at_earlier, place_best
from netpact.exploration.learned import LEARNED_RATES, learn, learn_signs
from netpact.exploration.sign_candidates import is_sign_candidate, parse_sign_candidate
from netpact.exploration.tensor_candidates import parse_candidate
from netpact.exploration.trials import Notebook, Trial, Tried, Working
from netpact.methods import Quantize
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.runs import ResultStore

_FINALISTS = 2  # candidates that get a first round of changes
_SCREENING_SHARE = 0.4  # of the budget at most
_ROUND_RATE = 0.5  # what a bit costs in the training of a round, of what it cost in screening: found on fonts' digits


@dataclass(frozen=True, repr=False)
class SearchResult(Displayed):
    """The certified file and the ledger of everything that was tried on the way to it.

    rounds  that were begun; the last one may have been cut short by the clock, and then the ledger says so
    note    what became of the best.pact that was there before; "" if there was none
    """

    pact: Pact
    file: Path
    ledger: tuple[Trial, ...]
    rounds: int
    minutes: float
    command: str
    note: str = ""

    def display_facts(self) -> Row:
        found = self.pact.display_facts()
        return {
            **{name: found[name] for name in ("bound", "message_bytes") if name in found},
            "file": str(self.file),
            "trials": len(self.ledger),
            "rounds": self.rounds,
            "minutes": round(self.minutes, 1),
            "note": self.note,
        }

    def display_rows(self) -> list[Row]:
        """One row a trial."""
        return [dict(trial.to_json()) for trial in self.ledger]

    def to_json(self) -> dict[str, object]:
        stated = None if self.pact.certificate is None else self.pact.certificate.to_json()
        return {
            "file": str(self.file),
            "architecture": str(self.pact.architecture),
            "rounds": self.rounds,
            "minutes": round(self.minutes, 1),
            "command": self.command,
            "note": self.note,
            "ledger": [trial.to_json() for trial in self.ledger],
            "certificate": stated,
        }


def search(
    data: Data | str | Path | object,
    *,
    budget_seconds: float,
    seed: int = 0,
    out: str | Path,
    delta: float = 0.05,
    rounds: int | None = None,
    candidates: Sequence[str] | None = None,
    rates: Sequence[float] | None = None,
    training_steps: int | None = None,
    starts: int = 1,
    progress: Callable[[Trial], None] | None = None,
    working: Working | None = None,
) -> SearchResult:
    """Search, write `out/best.pact` with its certificate and `out/ledger.json`.

    The budget is kept: time for counting errors and for the certificate is reserved, and a trial that would take longer
    is stopped. A better best.pact for the same data and delta is kept; then this search's file gets another name, and
    the result's note says so.

    data        a data set by name or file, Data, or arrays (x, y)
    rounds      stop after this many rounds of changes instead of by time: the same file every time
    candidates  architectures by name, instead of the declared ones; cp:25:MODEL has CP layers in place of convolutions,
                with 25 percent of their weights; p4m:MODEL is a network of signs (netpact.exploration.sign_candidates)
    rates       prices of a bit, instead of the declared ones; at 1 a nat of the message is worth a nat of cross-entropy
    training_steps  gradient steps for a matrix of signs, and for a network of signs. Default: from the number of
                samples
    starts      trainings of signs for each candidate and rate. All of them get a round of changes, the better half of
                them another one, and so on: successive halving
    progress    called after every trial
    working     called during a trial with its name, what is done, and what there is to do
    """
    failure_probability(delta)
    _check_options(budget_seconds, rounds, rates, training_steps, starts)
    folder, clock = as_path(out, where="out"), Clock(budget_seconds if rounds is None else None)
    check_place(folder / BEST)
    source = as_data(data)
    names = candidate_names(source) if candidates is None else list(candidates)
    if not names:
        raise PactError("no candidates to search", where="candidates")
    bodies = [_body(name, source) for name in names]  # names that cannot be read die here, not hours later
    earlier = look_at_earlier(folder, source, delta=delta)
    # Judged as they will be certified: exact copies of a sample count once.
    distinct = replace(source, train=leave_out(source.train, find_copies(source.train)))
    store = ResultStore(folder / "run")
    notebook = Notebook(distinct, seed, delta, store, progress=progress, working=working, clock=clock)
    notebook.set_time_aside(bodies[0])
    screened = _screen_all(notebook, names, bodies, rates, training_steps, starts)
    best, done = _improve(notebook, screened, rounds=rounds, starts=starts)
    pact = certify(best.pact, source, delta=delta)
    file, note = place_best(folder, pact, earlier)
    result = SearchResult(
        pact,
        file,
        tuple(notebook.ledger),
        done,
        clock.elapsed() / 60,
        _command(data, source, seed, candidates, rates, training_steps, starts, done),
        note,
    )
    write_atomically(folder / "ledger.json", encode_json(result.to_json(), where="ledger").encode())
    return result


def _check_options(
    budget_seconds: float, rounds: int | None, rates: Sequence[float] | None, training_steps: int | None, starts: int
) -> None:
    check_number(budget_seconds, where="budget_seconds", above=0)
    for name, count in (("rounds", rounds), ("training_steps", training_steps), ("starts", starts)):
        if count is not None:
            check_integer(count, where=name, least=1)
    for rate in rates or ():
        check_number(rate, where="rates", above=0)


def _command(
    given: object,
    data: Data,
    seed: int,
    candidates: Sequence[str] | None,
    rates: Sequence[float] | None,
    steps: int | None,
    starts: int,
    rounds: int,
) -> str:
    """What runs the same rounds again; of what the clock has cut short nothing can be repeated exactly."""
    chosen = "".join(f" --candidate {name}" for name in candidates or ())
    chosen += "".join(f" --rate {rate:g}" for rate in rates or ())
    chosen += "" if steps is None else f" --training-steps {steps}"
    chosen += "" if starts == 1 else f" --starts {starts}"
    name = given if isinstance(given, (str, Path)) else data.name
    return f"netpact search --data {name} --seed {seed}{chosen} --rounds {max(rounds, 1)} --out DIR"


@dataclass(frozen=True, eq=False)
class _Screened:
    """A head of signs to begin with, and what its features are where they were learned."""

    head: Head
    signs: Tried
    rate: float
    learned: Tried | None = None


def _screen_all(
    notebook: Notebook,
    names: Sequence[str],
    bodies: Sequence[Compressed],
    rates: Sequence[float] | None,
    steps: int | None,
    starts: int,
) -> list[_Screened]:
    """As many candidates as their share of the budget allows, and one in any case."""
    screened: list[_Screened] = []
    try:
        for name, body in zip(names, bodies, strict=True):
            screened += _screen(notebook, name, body, rates, steps, starts)
    except OutOfTimeError:
        pass  # what is found already is enough
    if not screened:
        raise PactError(
            f"no network of {names[0]} was trained within the budget of {notebook.clock.elapsed():.0f} s",
            where="budget",
            hint="give more time, or a smaller candidate",
        )
    return screened


def _screen(
    notebook: Notebook, name: str, body: Compressed, rates: Sequence[float] | None, steps: int | None, starts: int
) -> list[_Screened]:
    if _is_head_only(body):
        head = Head(name, body, notebook.data, steps=steps)
        return _screen_signs(notebook, head, rates or HEAD_RATES, starts)
    found = []
    if is_sign_candidate(name):
        layer = parse_sign_candidate(name, notebook.data).head
        for rate in rates or LEARNED_RATES:
            learned = learn_signs(notebook, name, rate, steps=steps, share=_SCREENING_SHARE)
            if learned is not None:
                body = learned.pact.decode()
                head = Head(learned.trial.name, body, notebook.data, steps=steps, signs=layer)
                found.append(_Screened(head, learned, rate, learned))
                found += _screen_signs(notebook, head, HEAD_RATES, starts, learned)
        return found
    forms = (False, True) if body.rewrites else (False,)
    for rate, decomposed in product(rates or LEARNED_RATES, forms):
        learned = learn(notebook, name, rate, share=_SCREENING_SHARE, decomposed=decomposed)
        if learned is not None:
            head = Head(learned.trial.name, learned.pact.decode(), notebook.data, steps=steps)
            found += _screen_signs(notebook, head, HEAD_RATES, starts, learned)
    return found


def _screen_signs(
    notebook: Notebook, head: Head, rates: Sequence[float], starts: int, learned: Tried | None = None
) -> list[_Screened]:
    """As many of the best as there are starts at one rate; none where there was no time for any."""
    tried = [
        (head.screen(notebook, rate, share=_SCREENING_SHARE, start=start), rate)
        for start in range(starts)
        for rate in rates
    ]
    done = [_Screened(head, signs, rate, learned) for signs, rate in tried if signs is not None]
    return sorted(done, key=_score)[:starts]


def _improve(notebook: Notebook, screened: list[_Screened], *, rounds: int | None, starts: int) -> tuple[Tried, int]:
    """Rounds of changes for the best heads; the best of everything, and how many rounds its search took."""

    def improve(one: _Screened, done: int) -> _Screened | None:
        improved = one.head.improve(notebook, one.signs, done, _ROUND_RATE * one.rate)
        return None if improved is None else replace(one, signs=improved)

    finalists = sorted(screened, key=_score)[: max(_FINALISTS, starts)]
    winner, done = halve(finalists, improve, score=_score, most=rounds)
    while done and (rounds is None or done < rounds):
        improved = improve(winner, done)
        if improved is None:
            break
        winner, done = min((winner, improved), key=_score), done + 1
    return _best([winner.signs, *(one.learned for one in screened if one.learned is not None)]), done


def _score(one: _Screened) -> float:
    return one.signs.trial.score


def _best(tried: Sequence[Tried]) -> Tried:
    return min(tried, key=lambda one: one.trial.score)


def _body(name: str, data: Data) -> Compressed:
    """The untrained network; of a linear head on a fixed stem everything but the head is there already."""
    if is_sign_candidate(name):
        return parse_sign_candidate(name, data).untrained()
    plan = parse_candidate(name, data)
    module = plan.with_cp(plan.build(), start="random", seed=Seed(0))
    return plan.message(Quantize().compress(trace(module, data)))


def _is_head_only(body: Compressed) -> bool:
    return len({name.rpartition(".")[0] for name in body.tensors}) == 1
