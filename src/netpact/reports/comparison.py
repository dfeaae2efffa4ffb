"""The table over methods: one line a network; what is proven, measured and estimated is told apart at a glance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from netpact.core.percent import percent, percent_up
from netpact.reports.rows import Row, find_best
from netpact.reports.table import error_words
from netpact.reports.terms import bound_term, term
from netpact.reports.text import count, escape

CHECKS = {True: "agreed", False: "refused", None: "not tried"}
_CERTIFICATE, _DEVIATION, _ESTIMATE, _MEASURED, _SIZE = "certificate", "deviation", "estimate", "measured", "size"
# The mark of each kind stands before its numbers too: colour is never all that tells them apart.
GROUPS = {
    _CERTIFICATE: term("◆ certificate", "certificate"),
    _MEASURED: "measured",
    _SIZE: "size and speed",
    _DEVIATION: term("▲ deviation bound", "deviation"),
    _ESTIMATE: term("≈ estimates", "estimate"),
}
_MANY = 20  # rows: a longer table scrolls below its head
LEGEND = (
    '<ul class="legend"><li class="is-certificate">◆ certificate: proven for new samples</li>'
    '<li class="is-deviation">▲ deviation bound: proven for the samples it names</li>'
    '<li class="is-estimate">≈ estimate: not proven</li></ul>'
)


@dataclass(frozen=True)
class Column:
    """head, cell: HTML. number: what the column is sorted by, None last. needed: shown even if nothing is known."""

    group: str
    head: str
    cell: Callable[[Row], str]
    number: Callable[[Row], float | str | None]
    needed: bool = False


def _columns(rows: Sequence[Row]) -> Iterator[Column]:
    """What a narrow screen shows without scrolling comes first."""
    yield Column(_CERTIFICATE, "bound", _bound_cell, _bound_number, needed=True)
    if any(row.bound is not None for row in rows):
        yield Column(
            _CERTIFICATE, "check", _check_cell, lambda row: CHECKS[row.agreed] if row.bound is not None else None
        )
    yield Column(_CERTIFICATE, term("bits", "code-bits"), lambda row: _count(row.code_bits), lambda row: row.code_bits)
    yield Column(_MEASURED, "train<br>error", _train_cell, lambda row: row.train_error, needed=True)
    yield Column(_MEASURED, "test<br>error", _test_cell, lambda row: row.test_error, needed=True)
    yield Column(_MEASURED, term("fidelity", "fidelity"), lambda row: _share(row.fidelity), lambda row: row.fidelity)
    yield Column(_SIZE, "bytes", lambda row: count(row.message_bytes), lambda row: row.message_bytes, needed=True)
    yield Column(_SIZE, "parameters", lambda row: _count(row.parameters), lambda row: row.parameters, needed=True)
    yield Column(_SIZE, term("FLOPs", "flops"), lambda row: _count(row.flops), lambda row: row.flops)
    yield Column(
        _SIZE,
        f"{term('samples/s', 'speed')}",
        lambda row: "–" if row.samples_per_second is None else count(round(row.samples_per_second)),
        lambda row: row.samples_per_second,
    )
    yield Column(_DEVIATION, "of the<br>logits", _deviation_cell, lambda row: row.deviation)
    for name in dict.fromkeys(name for row in rows for name in row.estimates):
        yield _estimate_column(name)


def _estimate_column(name: str) -> Column:
    def cell(row: Row) -> str:
        power = row.estimates.get(name)
        return "–" if power is None else f'<span class="is-estimate">≈ {estimate_text(power)}</span>'

    return Column(_ESTIMATE, bound_term(escape(name), name), cell, lambda row: row.estimates.get(name))


def estimate_text(power: float) -> str:
    """The error that a bound comes to, from its log10: plain up to 10,000, a power of ten above."""
    return f"{10**power:.3g}" if power < 4 else f"1e{power:.1f}"


def compare_rows(rows: Sequence[Row], *, label: str = "All networks") -> str:
    """The whole table, without a heading. The smallest proven bound is highlighted."""
    columns = [one for one in _columns(rows) if one.needed or any(one.number(row) is not None for row in rows)]
    groups = [(key, sum(one.group == key for one in columns)) for key in GROUPS]
    top = "".join(
        f'<th scope="colgroup" colspan="{wide}" class="is-{key}">{GROUPS[key]}</th>' for key, wide in groups if wide
    )
    heads = "".join(f'<th scope="col">{one.head}</th>' for one in columns)
    best = find_best(rows)
    lines = "\n".join(_line(row, columns, best=row is best) for row in rows)
    tall = " tall" if len(rows) > _MANY else ""
    return f"""<div class="scroll{tall}" role="region" aria-label="{escape(label)}" tabindex="0">
<table class="comparison sortable">
<thead><tr class="groups"><td></td>{top}</tr>
<tr><th scope="col">network</th>{heads}</tr></thead>
<tbody>
{lines}
</tbody></table></div>
<p class="note">Bounds are rounded up. {term("Vacuous", "vacuous")}: no better than guessing a class at random.
Highlighted: the smallest bound. Each certificate holds separately.{_counted_note(rows)}</p>"""


def _counted_note(rows: Sequence[Row]) -> str:
    """Where errors were counted on some of the samples."""
    numbers = sorted({row.counted for row in rows if row.counted is not None})
    if not numbers:
        return ""
    told = " or ".join(count(number) for number in numbers)
    return (
        f" ~: errors and fidelity are measured on {told} samples of each set, evenly spread over it; the errors of "
        "certified files on all."
    )


def _line(row: Row, columns: Sequence[Column], *, best: bool) -> str:
    cells = "".join(f'<td data-sort="{_sort_key(one.number(row))}">{one.cell(row)}</td>' for one in columns)
    start = '<tr class="best">' if best else "<tr>"
    return f'{start}<th scope="row" data-sort="{escape(row.name)}">{_name_cell(row)}</th>{cells}</tr>'


def _sort_key(value: float | str | None) -> str:
    return "" if value is None else escape(str(value))


def _name_cell(row: Row) -> str:
    notes = [escape(row.method)] if row.method and not row.name.startswith(row.method) else []
    notes += [escape(row.setting)] if row.setting else []
    # A file without a certificate has nothing to check; its name says no more than the row's.
    notes += [f"<code>{escape(row.file)}</code>"] if row.file is not None and row.bound is not None else []
    return escape(row.name) + "".join(f"<small>{note}</small>" for note in notes)


def _bound_number(row: Row) -> float | None:
    return row.expected_bound if row.bound is None else row.bound


def _bound_cell(row: Row) -> str:
    if row.bound is None and row.expected_bound is not None:
        words = f"<small>{term('expected', 'expected')}</small>"
        return f'<span class="is-estimate">≈ {percent(row.expected_bound)}</span>{words}'
    if row.bound is None:
        return "none"
    if row.agreed is False:
        return '<span class="is-wrong">refused</span>'
    if row.proven is None:
        return f'<span class="is-ran">{percent_up(row.bound)}</span><small>{term("as run", "as-run")}</small>'
    weak = "<small>vacuous</small>" if row.vacuous else ""
    return f'<span class="is-certificate">◆ {percent_up(row.proven)}</span>{weak}'


def _check_cell(row: Row) -> str:
    return "–" if row.bound is None else CHECKS[row.agreed]


def _test_cell(row: Row) -> str:
    error, _, contradicts = error_words(row).partition("\n")
    few = "~" if row.counted is not None and row.test_error is not None else ""
    return few + error + (f'<small class="is-wrong">{contradicts}</small>' if contradicts else "")


def _deviation_cell(row: Row) -> str:
    if row.deviation is None:
        return f"none<small>{escape(row.deviation_note)}</small>" if row.deviation_note else "–"
    samples = f"<small>{count(row.deviation_samples or 0)} samples</small>"
    return f'<span class="is-deviation">▲ {_up(row.deviation)}</span>{samples}'


def _up(number: float) -> str:
    """Three digits, rounded up: what is shown is a bound too."""
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    step = 10.0 ** (math.floor(math.log10(number)) - 2)
    return f"{math.ceil(number / step - 1e-9) * step:.3g}"


def _train_cell(row: Row) -> str:
    """~: on some of the samples."""
    return f"{'~' if row.counted is not None and row.train_error is not None else ''}{_share(row.train_error)}"


def _share(share: float | None) -> str:
    return "–" if share is None else percent(share)


def _count(number: int | None) -> str:
    return "–" if number is None else count(number)
