"""Table 4: effective parameters of each layer, by Theorem 4.5 and by Arora et al. 2018 (appendix A.2)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Plan, Question
from netpact.papers.li.effective_study import EffectiveStudy, LayerNumbers, study_effective
from netpact.papers.li.presets import CP_VGG, PRESETS
from netpact.papers.li.published import TABLE_4
from netpact.reports.frame import frame_table
from netpact.reports.text import count, escape

# A component has one number more than its factors, and ranks are rounded: 1.0033 at most in the paper's own table, and
# more in layers of few channels.
_ROOM = 1.1

Seeded = Mapping[str, EffectiveStudy]
Ratio = Callable[[LayerNumbers], float]


def _valid(layer: LayerNumbers) -> float:
    return layer.valid / layer.weights


def _printed(layer: LayerNumbers) -> float:
    return layer.printed / layer.weights


def _arora(layer: LayerNumbers) -> float:
    return math.inf if layer.arora is None else 10.0**layer.arora / layer.weights


def _largest(ratio: Ratio, one: Seeded) -> float:
    return max(map(ratio, one[CP_VGG].convolutions))


def _later_against_earlier(ratio: Ratio, one: Seeded) -> float:
    return later_against_earlier([ratio(layer) for layer in one[CP_VGG].convolutions])


def later_against_earlier(ratios: Sequence[float]) -> float:
    """The median of the later half over that of the earlier half; of an even number the geometric mean of two."""
    half = len(ratios) // 2
    after, before = (statistics.median(map(math.log, part)) for part in (ratios[-half:], ratios[:half]))
    return math.exp(after - before)


def _excess_of_arora(one: Seeded) -> float:
    layers = one[CP_VGG].convolutions
    return log10_excess((_arora(layer) * layer.weights for layer in layers), (layer.valid for layer in layers))


def log10_excess(theirs: Iterable[float], ours: Iterable[float]) -> float:
    return math.log10(sum(theirs) / sum(ours))


def _show(found: Experiment) -> list[str]:
    studies: tuple[EffectiveStudy, ...] = found.chosen(CP_VGG)
    return [*map(_table, studies), _published_table()]


def _table(study: EffectiveStudy) -> str:
    rows = [
        (
            escape(layer.name),
            count(layer.weights),
            count(layer.components),
            _cell(layer.valid, layer.weights),
            _cell(layer.printed, layer.weights),
            _cell(_arora(layer) * layer.weights, layer.weights),
        )
        for layer in study.layers
    ]
    title = f"Effective parameters, seed {study.seed}: gamma = {study.gamma:.4g}, gamma / (2 max|f|) = {study.eps:.3g}"
    return frame_table(title, ("layer", "dense", "components", "valid", "as printed", "Arora et al."), rows)


def _published_table() -> str:
    rows = [
        (
            str(place),
            count(layer.weights),
            count(layer.rank),
            _cell(layer.ours, layer.weights),
            _cell(layer.arora, layer.weights),
        )
        for place, layer in enumerate(TABLE_4, start=1)
    ]
    heads = ("layer", "dense", "components kept", "Theorem 4.5", "Arora et al.")
    return frame_table("As the paper prints it: CP-VGG-16 on CIFAR-10", heads, rows)


def _cell(number: float, weights: int) -> str:
    return f"{number:,.0f} ({number / weights:.3g})" if math.isfinite(number) else "infinite"


_OURS = [layer.ours / layer.weights for layer in TABLE_4]
_HALVES = "effective / dense parameters, median of the later half over that of the earlier half: < 0.9"
EXPERIMENTS.add(
    Plan(
        name="li-table4",
        title="Table 4: effective parameters of each layer",
        paper="Li et al. 2020",
        presets=PRESETS,
        task=study_effective,
        record=EffectiveStudy,
        studies=(CP_VGG,),
        questions=(
            Question(
                "Our number of effective parameters is bounded by the number of parameters (A.2, Table 4)",
                f"effective / dense parameters by the valid form, the largest of a layer: <= {_ROOM:g}",
                partial(_largest, _valid),
                published=max(_OURS),
            ),
            Question(
                "That of Arora et al. is several times larger in some layers (A.2, Table 4)",
                "effective / dense parameters by Arora et al., the largest of a layer: > 2",
                partial(_largest, _arora),
                published=max(layer.arora / layer.weights for layer in TABLE_4),
            ),
            Question(
                "Later layers need fewer of their parameters (Table 4): ranks for which the lemma holds",
                _HALVES,
                partial(_later_against_earlier, _valid),
                published=later_against_earlier(_OURS),
            ),
            Question(
                "Later layers need fewer of their parameters (Table 4): ranks as printed",
                _HALVES,
                partial(_later_against_earlier, _printed),
                published=later_against_earlier(_OURS),
            ),
            Question(
                "All layers together need fewer than by Arora et al. (5.1, A.2)",
                "log10 of Arora's effective parameters over those of the valid form, all convolutions: > 0",
                _excess_of_arora,
                published=log10_excess((layer.arora for layer in TABLE_4), (layer.ours for layer in TABLE_4)),
            ),
        ),
        show=_show,
    )
)
