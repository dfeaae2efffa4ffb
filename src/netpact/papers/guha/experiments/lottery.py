"""Section 6: lottery tickets, found by iterative pruning. The paper has no experiment; the findings are others'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean

from netpact.core.percent import percent, percent_up
from netpact.experiments import EXPERIMENTS, Experiment, Panel, Plan, Question
from netpact.papers.guha.lottery_presets import PRESETS, RATE, TICKET, TUNED, count_epochs
from netpact.papers.guha.lottery_studying import Sealed, TicketRound, TicketStudy, study_ticket
from netpact.reports.charts.curves import Curve, draw_curves
from netpact.reports.frame import frame_table
from netpact.reports.text import count

Seeded = Mapping[str, TicketStudy]  # the networks of one seed
_POINTS, _LOST = 100, 0.5  # points of test accuracy that count as none
_SPARSE = 0.26  # comparisons are made in the rounds in which at most a quarter of the weights is left


def smallest_match(one: Seeded) -> float:
    """In percent of the weights: the last round before the accuracy first falls by more than half a point."""
    rounds = one[TICKET].rounds
    share = rounds[0].share
    for row in rounds[1:]:
        if _POINTS * (rounds[0].test_accuracy - row.test_accuracy) > _LOST:
            break
        share = row.share
    return _POINTS * share


def gain_over_control(one: Seeded) -> float:
    rows = _sparse(one[TICKET])
    return _POINTS * fmean(row.test_accuracy - row.control for row in rows if row.control is not None)


def gain(better: str, worse: str, one: Seeded) -> float:
    pairs = zip(_sparse(one[better]), _sparse(one[worse]), strict=True)
    return _POINTS * fmean(first.test_accuracy - second.test_accuracy for first, second in pairs)


def best_bound(one: Seeded) -> float:
    return _POINTS * min(row.sealed.bound for row in one[TICKET].rounds if row.sealed is not None)


def smaller_file(one: Seeded) -> float:
    """How many times: the dense network's file over that of the smallest ticket which matches it."""
    found = _matching(one)
    return found[0].message_bytes / found[-1].message_bytes


def log_theorem(one: Seeded) -> float:
    """Of the smallest ticket that matches the dense network."""
    return _matching(one)[-1].log_theorem


def change_of_theorem(one: Seeded) -> float:
    found = _matching(one)
    return found[-1].log_theorem - found[0].log_theorem


def _matching(one: Seeded) -> list[Sealed]:
    """From the dense network to the smallest ticket that matches it."""
    least = smallest_match(one) / _POINTS - 1e-9
    return [row.sealed for row in one[TICKET].rounds if row.share >= least and row.sealed is not None]


def _sparse(study: TicketStudy) -> Sequence[TicketRound]:
    return [row for row in study.rounds if row.share <= _SPARSE] or study.rounds[-1:]


def _show(found: Experiment) -> list[Panel | str]:
    kinds = [found.chosen(name) for name in (TICKET, RATE, TUNED)]
    tables = [_table(one) for one in zip(*kinds, strict=True)]
    return [_panel({study.study: study for study, *_ in kinds}), *tables]


def _panel(first: Seeded) -> Panel:
    def curve(name: str, study: str) -> Curve:
        rounds = enumerate(first[study].rounds)
        return Curve(name, tuple((float(number), _POINTS * row.test_accuracy) for number, row in rounds))

    controls = [(number, row.control) for number, row in enumerate(first[TICKET].rounds) if row.control is not None]
    curves = [
        curve("back to the initial weights", TICKET),
        Curve("new initial weights", tuple((float(number), _POINTS * value) for number, value in controls)),
        curve("back to the learning rate", RATE),
        curve("fine-tuned", TUNED),
    ]
    title = "Test accuracy against rounds of pruning"
    return Panel(
        title,
        f"In percent. Each round has fewer weights, see the tables. Seed {first[TICKET].seed}.",
        lambda width: draw_curves(
            curves, name="lottery", title=title, x_title="round", y_title="test accuracy", width=width
        ),
    )


def _table(studies: Sequence[TicketStudy]) -> str:
    by_name = {study.study: study for study in studies}
    rows = []
    for ticket, rate, tuned in zip(*(by_name[name].rounds for name in (TICKET, RATE, TUNED)), strict=True):
        sealed = ticket.sealed
        rows.append(
            (
                percent(ticket.share, places=2),
                percent(ticket.test_accuracy, places=2),
                "–" if ticket.control is None else percent(ticket.control, places=2),
                percent(rate.test_accuracy, places=2),
                percent(tuned.test_accuracy, places=2),
                "–" if sealed is None else count(sealed.message_bytes),
                "–" if sealed is None else percent(sealed.accuracy, places=2),
                "–" if sealed is None else percent_up(sealed.bound),
                "–" if sealed is None else f"{sealed.log_theorem:.2f}",
            )
        )
    heads = (
        "weights left",
        "ticket, test accuracy",
        "new initial weights",
        "learning-rate rewinding",
        "fine-tuning",
        "ticket, bytes of the file",
        "its test accuracy",
        "its certified bound on the error",
        "ln of Theorem 6.2",
    )
    study = by_name[TICKET]
    return frame_table(f"{study.model}, seed {study.seed}", heads, rows)


_MEAN = "mean over the rounds with at most a quarter of the weights"
EXPERIMENTS.add(
    Plan(
        name="guha-lottery",
        title="Section 6: lottery tickets found by iterative pruning",
        paper="Guha et al. 2023",
        presets=PRESETS,
        studies=(TICKET, RATE, TUNED),
        task=study_ticket,
        record=TicketStudy,
        questions=(
            Question(
                "A winning ticket of 10 to 20 % of the weights, or fewer, matches the dense network "
                "(Frankle and Carbin 2019, abstract)",
                f"percent of the weights that lose at most {_LOST:g} points of test accuracy: <= 20",
                smallest_match,
            ),
            Question(
                "It needs its initial weights: with new ones the same connections learn worse "
                "(Frankle and Carbin 2019, section 2)",
                f"points of test accuracy, ticket minus new initial weights, {_MEAN}: > 0",
                gain_over_control,
            ),
            Question(
                "Back to early weights is better than fine-tuning (Renda et al. 2020, section 4)",
                f"points of test accuracy, ticket minus fine-tuning, {_MEAN}: > 0",
                partial(gain, TICKET, TUNED),
            ),
            Question(
                "Back to the learning rate alone is as good as back to the weights (Renda et al. 2020, section 4)",
                f"points of test accuracy, learning-rate rewinding minus ticket, {_MEAN}: >= -0.1",
                partial(gain, RATE, TICKET),
            ),
            Question(
                "A ticket is a small file: here, with 5 bits a weight before entropy coding (section 6: few nonzero "
                "parameters)",
                "bytes of the dense network's file over the smallest ticket's that matches it: >= 4",
                smaller_file,
            ),
            Question(
                "A ticket has a strong generalization bound (section 1): here the certified bound of its file",
                "lowest certified bound on the error over the rounds, in percent (guessing: 90): < 90",
                best_bound,
            ),
            Question(
                "A ticket has a strong generalization bound (section 1): here Theorem 6.2, constants left out",
                "ln of its bound on the error for the smallest ticket that matches the dense network: < 0",
                log_theorem,
            ),
            Question(
                "Theorem 6.2 counts the few parameters of the target (section 6): here of the ticket",
                "ln of its bound, smallest ticket that matches the dense network minus dense network: < 0",
                change_of_theorem,
            ),
        ),
        epochs=count_epochs,
        show=_show,
    )
)
