"""What is left of long work: told from how fast its last part went, on a clock that the tests turn."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from rich.progress import Progress

from netpact.cli.console import TimeLeftColumn
from netpact.cli.live_table import LiveTable
from netpact.comparisons.comparing import Step
from netpact.comparisons.costs import Forecast
from netpact.core.progress import TimeLeft, time_words


def after(reports: list[tuple[float, float]], *, total: float = 100, now: float) -> float | None:
    """(time, done) pairs, and the time of asking; work begins at 0."""
    left = TimeLeft(0.0)
    for when, done in reports:
        left.hear(done, total, when)
    return left.seconds(now)


def test_even_work() -> None:
    reports = [(0.5 * step, float(step)) for step in range(1, 41)]
    assert after(reports, now=20.0) == pytest.approx(30.0)
    assert after(reports, now=20.25) == pytest.approx(29.75)  # it counts down between two reports


def test_nothing_is_said_in_the_first_two_seconds_or_before_the_first_step() -> None:
    reports = [(0.1 * step, float(step)) for step in range(1, 19)]
    assert after(reports, now=1.9) is None
    assert after(reports, now=2.0) is not None
    assert after([], now=50.0) is None


def test_the_last_part_decides() -> None:
    """A hundred times slower in the second half: the first half is forgotten once as much time went by."""
    quick = [(0.01 * step, float(step)) for step in range(1, 51)]
    slow = [(0.5 + step, 50.0 + step) for step in range(1, 11)]
    assert after(quick + slow, now=10.5) == pytest.approx(40.0)


def test_what_was_finished_before_counts_for_nothing() -> None:
    """A resumed run: half of the work is reported at once, then each step takes ten seconds."""
    resumed = [(0.1, 50.0)]
    assert after(resumed, now=9.0) is None
    assert after([*resumed, (10.1, 51.0)], now=10.1) == pytest.approx(490.0)


def test_a_step_that_takes_long_is_not_told_as_nearly_done() -> None:
    """Two steps of ten seconds; the third and last one has run for a minute."""
    reports = [(10.0, 1.0), (20.0, 2.0)]
    assert after(reports, total=3, now=25.0) == pytest.approx(5.0)
    told = [after(reports, total=3, now=now) for now in (30.0, 50.0, 80.0)]
    assert told == [pytest.approx(0.0), pytest.approx(20.0), pytest.approx(50.0)]


def test_another_total_or_a_step_back_begins_anew() -> None:
    left = TimeLeft(0.0)
    for when in range(1, 11):
        left.hear(when, 20, float(when))
    assert left.seconds(10.0) == pytest.approx(10.0)
    left.hear(10, 40, 10.0)
    assert left.seconds(13.0) is None
    left.hear(11, 40, 13.0)
    assert left.seconds(13.0) == pytest.approx(87.0)
    left.hear(0, 40, 14.0)
    assert left.seconds(17.0) is None


def test_a_million_reports_take_little_memory_and_change_nothing() -> None:
    left = TimeLeft(0.0)
    for step in range(1, 100_001):
        left.hear(step, 200_000, step / 1000)
    assert left.seconds(100.0) == pytest.approx(100.0, rel=0.01)
    assert len(left._reports) < 1000


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 second"),
        (40.4, "40 seconds"),
        (89.0, "89 seconds"),
        (95.0, "2 minutes"),
        (7000.0, "117 minutes"),
        (5 * 3600.0, "5 hours"),
        (3 * 86400.0, "3 days"),
    ],
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert time_words(seconds) == words


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def shown(bar: Progress) -> str:
    out = StringIO()
    Console(file=out, width=120).print(bar.get_renderable())
    return out.getvalue().strip()


def test_bars_tell_what_is_left(clock: Clock) -> None:
    bar = Progress("{task.description}", TimeLeftColumn(), auto_refresh=False, get_time=clock, disable=True)
    task = bar.add_task("counting", total=None)
    assert shown(bar) == "counting"
    for done in range(1, 11):
        clock.now += 30
        bar.update(task, completed=done, total=20)
        shown(bar)
    assert shown(bar) == "counting about 5 minutes left"
    bar.update(task, completed=20)
    assert shown(bar) == "counting"


def test_a_bar_of_another_work_begins_anew(clock: Clock) -> None:
    bar = Progress("{task.description}", TimeLeftColumn(), auto_refresh=False, get_time=clock, disable=True)
    task = bar.add_task("first", total=10)
    for done in (1, 2, 3):
        clock.now += 10
        bar.update(task, completed=done)
        shown(bar)
    assert shown(bar) == "first about 70 seconds left"
    bar.update(task, description="second", completed=5)
    clock.now += 3
    assert shown(bar) == "second"
    clock.now += 20
    bar.update(task, completed=6)
    assert shown(bar) == "second about 80 seconds left"


def test_a_budget_is_counted_down(clock: Clock) -> None:
    bar = Progress("{task.description}", TimeLeftColumn(), auto_refresh=False, get_time=clock, disable=True)
    bar.add_task("trials", total=None, budget=600.0)
    clock.now += 240
    assert shown(bar) == "trials about 6 minutes left"


def test_a_comparison_tells_what_is_left_of_all_of_it(clock: Clock) -> None:
    table = LiveTable("net on data", clock)
    for share, seconds in ((0.1, 0), (0.2, 60), (0.3, 60), (0.5, 120)):
        clock.now += seconds
        table.show(Step("compress", 1, 9, (), share))
    out = StringIO()
    Console(file=out, width=120).print(table.render())
    assert "compressing: 1 of 9, about 5 minutes left" in out.getvalue()


def test_the_share_of_a_comparison_is_by_time_not_by_count() -> None:
    told = Forecast({"quick": 10.0, "slow": 70.0}, {"certify": 10.0, "measure": 10.0}, certificates=1, jobs=2)
    assert told.seconds == 100
    assert told.share("compress", 0.5, {"quick"}) == pytest.approx(0.1)
    assert told.share("certify", 0.5, {"quick", "slow"}) == pytest.approx(0.85)
    assert told.share("measure", 0.0, {"quick", "slow"}) == pytest.approx(0.9)
