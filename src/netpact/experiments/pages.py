"""The page frame of experiments, one self-contained HTML file: findings, what the experiment shows, networks."""

from __future__ import annotations

from collections.abc import Sequence

from netpact.experiments.experiment import Experiment
from netpact.reports.frame import Panel as Panel
from netpact.reports.frame import frame_facts, frame_page, frame_table
from netpact.reports.text import escape


def render_experiment(experiment: Experiment, parts: Sequence[Panel | str], *, about: str) -> str:
    """The whole page as text. about: the paper, and what it shows; parts: figures and tables, in HTML already."""
    title = f"netpact experiment {experiment.name}"
    findings = [(f"{escape(one.claim)}<small>{escape(one.rule)}</small>", *one.cells()) for one in experiment.findings]
    listed = "".join(f"<li>{escape(str(one))}</li>" for one in experiment.studies)
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(about)}. {escape(experiment.note)} These are measurements and estimates, no certificates.</p>",
        frame_table("Findings", ("finding and rule", "paper", "each seed", "accuracy", "verdict"), findings),
        *(part.to_html() if isinstance(part, Panel) else part for part in parts),
        f"<h2>{experiment.things.capitalize()}</h2>\n<ul>{listed}</ul>",
        _footer(experiment),
    ]
    return frame_page("\n".join(body), title=title, version=experiment.version)


def _footer(experiment: Experiment) -> str:
    facts = {
        "netpact": experiment.version,
        "preset": experiment.preset,
        "data": experiment.data,
        "seeds": ", ".join(map(str, experiment.seeds)),
        "command": experiment.command,
        **{f"data of {name}": digest for name, digest in experiment.fingerprints.items()},
    }
    code = {name: name == "command" or name.startswith("data of ") for name in facts}
    return frame_facts(
        [
            (escape(name), f"<code>{escape(value)}</code>" if code[name] else escape(value))
            for name, value in facts.items()
        ]
    )
