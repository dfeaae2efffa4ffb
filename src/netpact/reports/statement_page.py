"""The page of one file: every statement in it, what was checked, and what holds jointly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netpact.certificates import (
    BoxCertificate,
    Certificate,
    FreshStatement,
    OriginalCertificate,
    SelectionCertificate,
    Statement,
)
from netpact.certificates.beside import joint_sentence
from netpact.core.percent import confidence, percent_up
from netpact.core.version import __version__
from netpact.reports.frame import frame_facts, frame_page, frame_table
from netpact.reports.text import count, escape

NAMES: Mapping[str, str] = {
    "certificate": "The network in the file",
    "original": "The original network",
    "fidelity": "Both networks",
    "hold_out": "The network in the file, on held-out samples",
    "selection": "The classifier that the recipe makes",
    "original_hold_out": "The original network, on held-out samples",
}


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What verify says about a statement: agreed, refused, undecided or not checked; and why, or with which notes."""

    verdict: str
    words: str


def render_statements(
    statements: Mapping[str, Statement],
    *,
    file: str,
    command: str,
    checked: Mapping[str, Checked] | None = None,
) -> str:
    """The whole page as text.

    statements  by their names in a file; in a verifier's words where they were checked
    command     that made the page
    checked     what came of checking each; None where nothing was checked
    """
    body = "\n".join(
        [
            f"<h1>{escape(file)}</h1>",
            *(_claim(name, one, None if checked is None else checked.get(name)) for name, one in statements.items()),
            _joint(statements, checked),
            _table(statements),
            *(_premises(name, one) for name, one in statements.items()),
            _checking(file, checked),
            frame_facts((("netpact", escape(__version__)), ("command", f"<code>{escape(command)}</code>"))),
        ]
    )
    return frame_page(body, title=f"netpact: {file}", version=__version__)


def _claim(name: str, statement: Statement, checked: Checked | None) -> str:
    """A statement, unless it was refused; its label says what kind it is, and its colour too."""
    kind = "As run: not proven for other machines" if statement.as_run else "Proven"
    looks = [
        "claim",
        *(["ran"] if statement.as_run else []),
        *([] if name in ("certificate", "selection") else ["further"]),
    ]
    if statement.is_vacuous:
        kind += ", and vacuous" if statement.as_run else ", but vacuous"
    if checked is not None:
        kind = f"{kind}, verified" if _agreed(checked) else checked.verdict.capitalize()
    stands = checked is None or _agreed(checked)
    if statement.is_vacuous or not stands:
        looks.append("weak")
    said = statement.sentence() if checked is None or stands else checked.words
    return (
        f'<section class="{" ".join(looks)}"><p class="kind">{escape(NAMES[name])}: {escape(kind)}</p>'
        f'<p class="sentence">{escape(said)}</p></section>'
    )


def _joint(statements: Mapping[str, Statement], checked: Mapping[str, Checked] | None) -> str:
    standing = [one for name, one in statements.items() if checked is None or _agreed(checked.get(name))]
    said = joint_sentence(standing)
    return f'<p class="note">{escape(said)}</p>' if said else ""


def _agreed(checked: Checked | None) -> bool:
    return checked is not None and checked.verdict == "agreed"


def _table(statements: Mapping[str, Statement]) -> str:
    heads = ("statement", "bound", "confidence", "counted", "samples", "bits", "near<br>ties")
    return frame_table(
        "All numbers",
        heads,
        [_cells(name, one) for name, one in statements.items()],
        note="Bounds are rounded up, as the file states them; each holds separately.",
    )


def _cells(name: str, statement: Statement) -> tuple[str, ...]:
    counted = f"{count(getattr(statement, statement.counted))}<small>{statement.counted}</small>"
    samples, bits, near, arithmetic = _facts(statement)
    after = "<small>as run</small>" if statement.as_run else ""
    return (
        f"{escape(NAMES[name])}<small>{escape(arithmetic)}</small>",
        percent_up(statement.bound) + after,
        confidence(statement.delta),
        counted,
        samples,
        bits,
        near,
    )


def _facts(statement: Statement) -> tuple[str, str, str, str]:
    """Samples, bits, near ties, arithmetic."""
    if isinstance(statement, Certificate):
        near = count(statement.near_ties)
        return count(statement.samples), count(statement.code_bits), near, statement.arithmetic
    if isinstance(statement, FreshStatement):
        ways = dict.fromkeys(network.arithmetic for network in statement.networks)
        return count(statement.fresh.samples), "0", count(statement.near_ties), ", ".join(ways)
    if isinstance(statement, OriginalCertificate):
        part = statement.compressed
        ways = dict.fromkeys((part.arithmetic, statement.original_arithmetic))
        samples = f"{count(part.samples)} + {count(statement.unlabelled_samples)}"
        bits = part.code_bits if statement.hold_out_bits is None else statement.hold_out_bits
        return samples, f"{count(bits)} + 0", "–", ", ".join(ways)
    if isinstance(statement, SelectionCertificate):
        counted = f"{count(statement.samples)}<small>{count(statement.picked)} picked</small>"
        return counted, count(statement.code_bits), "0", "integers"
    assert isinstance(statement, BoxCertificate)
    return count(statement.compressed.samples), count(statement.code_bits), "–", statement.original_arithmetic


def _premises(name: str, statement: Statement) -> str:
    lines = "".join(f"<li>{escape(line)}</li>" for line in statement.assumptions)
    declared = "".join(f"<li>{escape(line)}</li>" for line in statement.declarations)
    return (
        f"<details><summary>{escape(NAMES[name])}: what is assumed and declared</summary><p>{escape(statement.theorem)}"
        f"</p><p>Assumed:</p><ul>{lines}</ul><p>Declared, and checked by nobody:</p><ul>{declared}</ul></details>"
    )


def _checking(file: str, checked: Mapping[str, Checked] | None) -> str:
    if checked is None:
        return (
            "<h2>How to check it</h2><p>Nothing on this page was checked again. <code>netpact verify "
            f"{escape(file)}</code> with the data, networks and fresh samples that the statements name recounts "
            "everything and recomputes each bound with a second implementation.</p>"
        )
    lines = "".join(
        f"<li>{escape(NAMES[name])}: {escape(one.verdict)}{escape(one.words and f'. {one.words}')}</li>"
        for name, one in checked.items()
    )
    return f"<h2>What verify said</h2><ul>{lines}</ul>"
