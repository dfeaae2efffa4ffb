"""The experiment on lottery tickets: rules on made-up studies, and a run on digits that is killed and resumed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from netpact.experiments import EXPERIMENTS, Case, Finding, Forecast, run_experiment
from netpact.papers.guha import lottery_studying
from netpact.papers.guha.lottery_presets import PRESETS, RATE, TICKET, TUNED, WAYS, count_epochs, pruning_of
from netpact.papers.guha.lottery_studying import Sealed, TicketRound, TicketStudy
from netpact.runs import Inline

SHARES = (1.0, 0.5, 0.25, 0.125, 0.0625)


def study(name: str, accuracies: Sequence[float], *, control: float = 0.0, bound: float = 0.8) -> TicketStudy:
    """1,000 bytes for each percent that is left; the bound is that of the smallest; Theorem 6.2 says ln share + 1."""
    rounds = []
    for share, accuracy in zip(SHARES, accuracies, strict=True):
        sealed = Sealed(round(1e5 * share), bound if share == SHARES[-1] else 1.0, accuracy, math.log(share) + 1)
        other = accuracy - control if share < 1 else None
        rounds.append(TicketRound(share, accuracy, accuracy, other, sealed if name == TICKET else None))
    return TicketStudy(
        study=name,
        seed=0,
        model="made up",
        parameters=100,
        data="none",
        fingerprint="none",
        samples=10,
        train_accuracy=accuracies[0],
        test_accuracy=accuracies[0],
        least=0.5,
        rounds=tuple(rounds),
    )


def judge(ticket: TicketStudy, rate: TicketStudy, tuned: TicketStudy) -> list[Finding]:
    one = {TICKET: ticket, RATE: rate, TUNED: tuned}
    return [question.judge([one]) for question in EXPERIMENTS["guha-lottery"].questions]


def test_what_is_found_where_tickets_win() -> None:
    ticket = study(TICKET, (0.9, 0.91, 0.9, 0.896, 0.7), control=0.1)
    rate, tuned = study(RATE, (0.9, 0.9, 0.9, 0.9, 0.7)), study(TUNED, (0.9, 0.9, 0.87, 0.87, 0.67))
    findings = judge(ticket, rate, tuned)
    assert [finding.verdict for finding in findings] == ["reproduced"] * 8
    numbers = [finding.numbers[0] for finding in findings]
    # 0.896 is within half a point of 0.9; means are over the three rounds with at most a quarter of the weights.
    assert numbers == pytest.approx(
        [12.5, 10.0, 100 * 0.086 / 3, 100 * 0.004 / 3, 8.0, 80.0, 1 - math.log(8), -math.log(8)]
    )


def test_what_is_found_where_they_do_not() -> None:
    """The last round is as good as the dense one again, which does not make up for those before."""
    ticket = study(TICKET, (0.9, 0.88, 0.85, 0.8, 0.9), control=-0.01, bound=1.0)
    rate, tuned = study(RATE, (0.9, 0.9, 0.84, 0.79, 0.89)), study(TUNED, (0.9, 0.9, 0.86, 0.81, 0.91))
    findings = judge(ticket, rate, tuned)
    assert [finding.verdict for finding in findings] == ["not reproduced"] * 8
    numbers = [finding.numbers[0] for finding in findings]
    assert numbers == pytest.approx([100.0, -1.0, -1.0, -1.0, 1.0, 100.0, 1.0, 0.0])


def test_studies_survive_json() -> None:
    one = study(TICKET, (0.9, 0.9, 0.9, 0.9, 0.9), control=0.1)
    assert TicketStudy.read(one.to_json()) == one


def test_presets_prune_as_they_say() -> None:
    assert set(PRESETS) == {"quick", "full", "digits"}
    for name, preset in PRESETS.items():
        assert set(preset.cases) == set(WAYS)
        asked = {study: pruning_of(study, full=name == "full") for study in WAYS}
        assert {one.rewind for one in asked.values()} == {"weights", "rate", "none"}
        assert len({one.shares for one in asked.values()}) == 1
        assert asked[TICKET].shares[-1] < 0.02
    case = Case(model="linear", limit=5, epochs=3, least=0.5)
    assert (count_epochs(TICKET, case), count_epochs(RATE, case)) == (3 + 2 * 6 * 3, 3 + 6 * 3)
    assert count_epochs(RATE, replace(case, limit=0)) == 3 + 22 * 3


class KilledError(Exception):
    pass


def test_a_run_on_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run_experiment("guha-lottery", preset="digits", seeds=1, out=tmp_path / "whole", engine=Inline())
    assert {finding.verdict for finding in whole.findings} == {"not judged"}
    assert whole.page.is_file()
    studies = {one.study: one for one in whole.studies}
    dense = [studies[name].rounds[0].test_accuracy for name in WAYS]  # type: ignore[attr-defined]
    assert len(set(dense)) == 1, "all start from one dense network"
    assert all(row.sealed is not None for row in studies[TICKET].rounds)  # type: ignore[attr-defined]

    seal, calls = lottery_studying._seal, 0

    def killed(*arguments: object) -> Sealed:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KilledError
        return seal(*arguments)  # type: ignore[arg-type]

    forecasts: list[Forecast] = []
    monkeypatch.setattr(lottery_studying, "_seal", killed)
    with pytest.raises(Exception, match="KilledError"):
        run_experiment("guha-lottery", preset="digits", seeds=1, out=tmp_path / "again", engine=Inline())
    again = run_experiment(
        "guha-lottery", preset="digits", seeds=1, out=tmp_path / "again", engine=Inline(), announce=forecasts.append
    )
    assert calls == 4 + 4, "the files of finished rounds are not made again"
    assert [one.to_json() for one in again.studies] == [one.to_json() for one in whole.studies]
    assert forecasts[0].networks == 1, "the other two were finished"
