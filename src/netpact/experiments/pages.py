"""An experiment as one self-contained HTML page: findings, figures, networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netpact.bounds import RULES
from netpact.experiments.experiment import Experiment, describe_accuracy, describe_numbers
from netpact.experiments.findings import Finding
from netpact.experiments.presets import ALEXNET, SHUFFLED, VGG
from netpact.experiments.records import CONTRACTION, CUSHION, DRAWN, Study, StudyLayer
from netpact.monitoring.drawing import draw_history
from netpact.reports.bound_page import draw_bars
from netpact.reports.bound_rows import BoundRow
from netpact.reports.distributions import Spread, draw_distributions
from netpact.reports.figure import Figure
from netpact.reports.page import both_widths, frame_facts, frame_page
from netpact.reports.text import count, escape

_WHOLE = 100.0  # percent from here on are told without decimals
_HEADINGS = {
    CUSHION: "Layer cushion",
    "min_interlayer_cushion_unclipped": "Minimal interlayer cushion, not clipped",
    CONTRACTION: "Activation contraction",
    "interlayer_smoothness": "Interlayer smoothness",
}


@dataclass(frozen=True)
class _Panel:
    """A figure with what stands above it; draw makes it as wide as asked."""

    heading: str
    words: str
    draw: Callable[[int], Figure]

    def to_html(self) -> str:
        return f"<h2>{self.heading}</h2>\n<p>{escape(self.words)}</p>\n{both_widths(self.draw)}"


def render_experiment(experiment: Experiment, *, about: str) -> str:
    """The whole page as text. Figures are of the first seed; the findings are about all."""
    title = f"netpact experiment {experiment.name}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(about)} (Arora et al. 2018). {escape(experiment.note)} These are measurements and estimates, no "
        "certificates.</p>",
        _findings(experiment.findings),
        *(part.to_html() if isinstance(part, _Panel) else part for part in _FIGURES[experiment.name](experiment)),
        _networks(experiment),
        _footer(experiment),
    ]
    return frame_page("\n".join(parts), title=title, version=experiment.version)


def draw_experiment(experiment: Experiment, *, width: int = 900) -> list[Figure]:
    """The figures of the page."""
    return [part.draw(width) for part in _FIGURES[experiment.name](experiment) if isinstance(part, _Panel)]


def _findings(findings: Sequence[Finding]) -> str:
    rows = [
        f'<tr><th scope="row">{escape(one.claim)}<small>{escape(one.rule)}</small></th>'
        f"<td>{escape(describe_numbers(one))}</td><td>{one.verdict}</td></tr>"
        for one in findings
    ]
    return _table("Findings", ("finding and rule", "each seed", "verdict"), rows)


def _networks(experiment: Experiment) -> str:
    items = "".join(f"<li>{escape(describe_accuracy(one))}</li>" for one in experiment.studies)
    return f"<h2>Networks</h2>\n<ul>{items}</ul>"


def _trained_and_random(experiment: Experiment) -> list[_Panel]:
    first = experiment.chosen(VGG)[0]
    words = f"Filled: {first.model}, trained; outline: the same layers with Gaussian weights. Seed {first.seed}."
    return [_spread(name, first.layers, first.random, words, tag="random") for name in DRAWN]


def _true_and_shuffled(experiment: Experiment) -> list[_Panel]:
    first, second = experiment.chosen(ALEXNET)[0], experiment.chosen(SHUFFLED)[0]
    words = f"Filled: {first.model}, true labels; outline: shuffled labels. Seed {first.seed}."
    return [_spread(name, first.layers, second.layers, words, tag="shuffled") for name in (CUSHION, CONTRACTION)]


def _bounds(experiment: Experiment) -> list[_Panel]:
    first = experiment.chosen(VGG)[0]
    rows = [_bound_row(first, name, power) for name, power in first.bounds.items()]
    return [
        _Panel(
            "Bounds compared",
            f"{first.model}, seed {first.seed}; depth, constants and logarithms are left out.",
            lambda width: draw_bars(rows, samples=first.samples, width=width),
        ),
        _Panel(
            "Bound over training",
            "log10 of the capacity, rescaled to the range of the generalization error.",
            lambda width: draw_history(first.epochs, "figure-2", width=width),
        ),
        *_true_and_shuffled(experiment),
    ]


def _budgets(experiment: Experiment) -> list[str]:
    studies = experiment.chosen(VGG)
    rows = []
    for place, layer in enumerate(studies[0].layers):
        cells = "".join(f"<td>{_percent(one.layers[place])}</td>" for one in studies)
        rows.append(f'<tr><th scope="row">{escape(layer.name)}</th><td>{count(layer.parameters)}</td>{cells}</tr>')
    heads = ("layer", "actual", *(f"seed {one.seed}" for one in studies))
    return [_table("Effective parameters, in percent of the actual ones", heads, rows)]


_FIGURES: Mapping[str, Callable[[Experiment], Sequence[_Panel | str]]] = {
    "arora-fig1": _trained_and_random,
    "arora-fig2": _bounds,
    "arora-table1": _budgets,
    "arora-corrupted": _true_and_shuffled,
}


def _spread(name: str, own: Sequence[StudyLayer], other: Sequence[StudyLayer], words: str, *, tag: str) -> _Panel:
    rows = []
    for one, two in zip(own, other, strict=True):
        if name in one.sampled and name in two.sampled and one.sampled[name].numbers and two.sampled[name].numbers:
            first, second = one.sampled[name], two.sampled[name]
            numbers = (np.array(first.numbers), np.array(second.numbers))
            rows.append(Spread(one.name, numbers[0], first.worst or 0.0, numbers[1], second.worst))
    heading = _HEADINGS[name]
    return _Panel(
        heading,
        f"{words} The tick below a row is the worst sample.",
        lambda width: draw_distributions(rows, name=f"{name}-{tag}", title=heading, axis_title=heading, width=width),
    )


def _bound_row(study: Study, name: str, power: float | None) -> BoundRow:
    log10 = float("inf") if power is None else power
    return BoundRow(
        name=name,
        kind="estimate",
        value=float("inf"),
        log10=log10,
        theorem=RULES[name].theorem,
        samples=study.samples,
        assumptions=(),
        ignored=RULES[name].ignored,
    )


def _percent(layer: StudyLayer) -> str:
    if layer.log10_effective is None:
        return "infinite"
    return f"{layer.percent:,.0f} %" if layer.percent >= _WHOLE else f"{layer.percent:.2f} %"


def _table(heading: str, heads: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f'<th scope="col">{escape(word)}</th>' for word in heads)
    return f"""<h2>{heading}</h2>
<div class="scroll" role="region" aria-label="{heading}" tabindex="0"><table>
<thead><tr>{head}</tr></thead>
<tbody>
{chr(10).join(rows)}
</tbody></table></div>"""


def _footer(experiment: Experiment) -> str:
    facts = [
        ("netpact", escape(experiment.version)),
        ("preset", escape(experiment.preset)),
        ("data", escape(experiment.data)),
        ("seeds", ", ".join(map(str, experiment.seeds))),
        ("command", f"<code>{escape(experiment.command)}</code>"),
    ]
    facts += [
        (f"data of {escape(name)}", f"<code>{escape(digest)}</code>")
        for name, digest in experiment.fingerprints.items()
    ]
    return frame_facts(facts)
