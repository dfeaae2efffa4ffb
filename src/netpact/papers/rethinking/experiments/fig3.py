"""Figure 3: the error of trained weights grows linearly with sqrt(d_M / n) (section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Plan, Question
from netpact.papers.rethinking.presets import LINES, NUMBERS, PAPER, PLAIN, TUCKER, VAR, name_line
from netpact.papers.rethinking.simulation.lines import Line, LineStudy, simulate_line
from netpact.reports.charts.curves import Curve, draw_curves
from netpact.reports.frame import frame_table

_KINDS = {
    PLAIN: "plain networks, independent inputs (Figure 3, 1)",
    VAR: "plain networks, VAR(1) inputs (Figure 3, 2)",
    TUCKER: "Tucker networks, independent inputs (Figure 3, 3)",
}
_SAID = "{} grows linearly with sqrt(d_M / n): {}"
_FINITE = "The prediction error is linear in sqrt(d_M / (n - d_M - 1)) (not in the paper): {}"
_RULE = "least R^2 of the line over the settings S1 to S4: >= 0.98"


def _straight(kind: str, prediction: bool, one: Mapping[str, LineStudy], *, finite: bool = False) -> float:
    studies = (one[name_line(number, kind)] for number in NUMBERS)
    return min(study.line(prediction=prediction, finite=finite).r_squared for study in studies)


def _show(found: Experiment) -> list[Panel | str]:
    names = [name_line(number, kind) for kind in _KINDS for number in NUMBERS]
    rows = [_row(study) for name in names for study in found.chosen(name)]
    heads = ("setting", "seed", "d_M", "c_u", "|W^ - W*|_F", "prediction error", "finite samples", "missed")
    note = (
        "Slope (R^2) against sqrt(d_M / n); finite samples: the prediction error against sqrt(d_M / (n - d_M - 1)), as "
        "for ordinary least squares. Missed: training sets in which the start at the true weights alone found the "
        "lowest squared error."
    )
    parts: list[Panel | str] = [frame_table("Lines", heads, rows, note=note)]
    for kind in _KINDS:
        studies: list[LineStudy] = [found.chosen(name_line(number, kind))[0] for number in NUMBERS]
        if all(study.determined for study in studies):
            parts.append(_panel(kind, studies, prediction=False))
        parts.append(_panel(kind, studies, prediction=True))
    return parts


def _row(study: LineStudy) -> tuple[str, ...]:
    return (
        study.study,
        str(study.seed),
        str(study.complexity),
        f"{study.least:.3g}",
        _told(study.line(prediction=False)) if study.determined else "not determined",
        _told(study.line(prediction=True)),
        _told(study.line(prediction=True, finite=True)),
        f"{study.missed:.0%}",
    )


def _told(line: Line) -> str:
    return f"{line.slope:.2f} ({line.r_squared:.4f})"


def _panel(kind: str, studies: list[LineStudy], *, prediction: bool) -> Panel:
    what = "prediction error" if prediction else "estimation error"
    curves = [
        Curve(
            f"S{number} (d_M = {study.complexity})",
            tuple(sorted((one.root, one.prediction if prediction else one.estimation) for one in study.points)),
        )
        for number, study in zip(NUMBERS, studies, strict=True)
    ]
    heading = f"{what.capitalize()}: {_KINDS[kind]}"
    return Panel(
        heading,
        f"Mean over {studies[0].replicates} training sets for each size. Seed {studies[0].seed}.",
        lambda width: draw_curves(
            curves, name=f"{kind}-{what.split()[0]}", title=heading, x_title="sqrt(d_M / n)", y_title=what, width=width
        ),
    )


EXPERIMENTS.add(
    Plan(
        name="rethinking-fig3",
        title="Figure 3: the error of trained weights against sqrt(d_M / n)",
        paper=PAPER,
        presets=LINES,
        studies=tuple(name_line(number, kind) for kind in _KINDS for number in NUMBERS),
        task=simulate_line,
        record=LineStudy,
        questions=(
            *(
                Question(_SAID.format("The estimation error", _KINDS[kind]), _RULE, partial(_straight, kind, False))
                for kind in (PLAIN, VAR)
            ),
            *(
                Question(_SAID.format("The prediction error", about), _RULE, partial(_straight, kind, True))
                for kind, about in _KINDS.items()
            ),
            *(
                Question(_FINITE.format(about), _RULE, partial(_straight, kind, True, finite=True))
                for kind, about in _KINDS.items()
            ),
        ),
        show=_show,
    )
)
