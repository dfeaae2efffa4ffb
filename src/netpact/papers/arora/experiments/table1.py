"""Table 1: effective parameters of each layer (section 6.3)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from netpact.experiments import EXPERIMENTS, Experiment, Question
from netpact.papers.arora.comparing import Seeded, earlier, later
from netpact.papers.arora.layer_study import LayerStudy, StudyLayer
from netpact.papers.arora.presets import VGG
from netpact.papers.arora.studying import PaperPlan
from netpact.reports.frame import frame_table
from netpact.reports.text import count, escape

_AS_LOW = 5.0  # percent: all four of the later layers that the paper lists are below it
_WHOLE = 100.0  # percent from here on are printed without decimals
# As printed, in percent: layers 1, 4, 6 and layers 9, 12, 15, 18 of VGG-19. Not all layers are listed.
_EARLIER, _LATER = (95.18, 437.18, 586.25), (3.129, 0.963, 1.126, 1.927)


def _log_median(percents: Sequence[float]) -> float:
    return statistics.median(math.log(percent) for percent in percents)


def _later_against_earlier(one: Seeded) -> float:
    halves = ([layer.percent for layer in half(one[VGG].layers)] for half in (later, earlier))
    return _quotient(*halves)


def _quotient(after: Sequence[float], before: Sequence[float]) -> float:
    return math.exp(_log_median(after) - _log_median(before))


def _least_percent(one: Seeded) -> float:
    return min(layer.percent for layer in later(one[VGG].layers))


def _show(found: Experiment) -> list[str]:
    studies: tuple[LayerStudy, ...] = found.chosen(VGG)
    rows = [
        (escape(layer.name), count(layer.parameters), *(_percent(one.layers[place]) for one in studies))
        for place, layer in enumerate(studies[0].layers)
    ]
    heads = ("layer", "actual", *(f"seed {one.seed}" for one in studies))
    return [frame_table("Effective parameters, in percent of the actual ones", heads, rows)]


def _percent(layer: StudyLayer) -> str:
    if layer.log10_effective is None:
        return "infinite"
    return f"{layer.percent:,.0f} %" if layer.percent >= _WHOLE else f"{layer.percent:.2f} %"


EXPERIMENTS.add(
    PaperPlan(
        name="arora-table1",
        title="Table 1: effective parameters of each layer",
        studies=(VGG,),
        questions=(
            Question(
                "Later layers are more compressible than earlier ones (6.3, Table 1)",
                "effective / actual parameters, median of the later half over that of the earlier half: < 1",
                _later_against_earlier,
                published=_quotient(_LATER, _EARLIER),
            ),
            Question(
                "Compression can be as low as 1 % in later layers (caption of Table 1)",
                f"effective / actual parameters in percent, least of the later half: < {_AS_LOW:g}",
                _least_percent,
                published=min(_LATER),
            ),
        ),
        show=_show,
    )
)
