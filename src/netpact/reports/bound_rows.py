"""Estimates and certificates side by side: one row each, which always says of which kind it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import ClassVar, TypeAlias

from rich import box
from rich.table import Table
from rich.text import Text

from netpact.bounds import Estimate, Premise
from netpact.bounds.logs import power_text
from netpact.certificates import Certificate
from netpact.certificates.statement import KIND, KIND_AS_RUN
from netpact.core.errors import PactError
from netpact.core.json import finite
from netpact.reports.text import clean

_LN10 = math.log(10.0)
_PLAIN = 1e4  # an error below it is written out, one above it as a power of ten


@dataclass(frozen=True, kw_only=True)
class BoundRow:
    """A bound beside the estimates, which are rows themselves.

    kind   "certificate"; "estimate" for one of which only the capacity was kept
    log10  of the capacity C in  training error + sqrt(C / samples); that of a certificate is half its
           code_bits ln 2 + ln(1/delta), as in its Hoeffding form
    about  the network that it is about, where that is another than the page's: a certificate is about its file's
    """

    failing: ClassVar[tuple[Premise, ...]] = ()

    name: str
    kind: str
    value: float
    log10: float
    theorem: str
    samples: int
    assumptions: tuple[str, ...]
    ignored: tuple[str, ...]
    about: str = ""

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "kind": self.kind,
            "value": finite(self.value),
            "log10": finite(self.log10),
            "theorem": self.theorem,
            "assumptions": list(self.assumptions),
            "ignored": list(self.ignored),
            "samples": self.samples,
            "about": self.about,
        }


Row: TypeAlias = Estimate | BoundRow


def row_of_certificate(certificate: Certificate, *, name: str, about: str) -> BoundRow:
    capacity = 0.5 * (certificate.code_bits * math.log(2.0) - math.log(certificate.delta))
    return BoundRow(
        name=name,
        kind=certificate.kind,
        value=certificate.bound,
        log10=math.log(capacity) / _LN10,
        theorem=certificate.theorem,
        samples=certificate.samples,
        assumptions=certificate.assumptions,
        ignored=(),
        about=about,
    )


def sort_bounds(rows: Sequence[Row]) -> list[Row]:
    """The smallest capacity first."""
    if not rows:
        raise PactError("there is no bound to show", where="bounds")
    return sorted(rows, key=lambda row: (row.log10, row.name))


def least_by_paper(rows: Sequence[Estimate]) -> dict[str, float]:
    """log10 of the error that the lowest estimate of each paper comes to, by its name: `Row.estimates` of a report."""
    least: dict[str, Estimate] = {}
    for row in rows:
        paper = row.name.partition("-")[0]
        if math.isfinite(row.log_value) and (paper not in least or row.log_value < least[paper].log_value):
            least[paper] = row
    return {row.name: row.log_value / _LN10 for row in least.values()}


def error_text(row: Row) -> str:
    """An estimate as it is, also far above 1; a certificate is rounded up."""
    if row.kind in (KIND, KIND_AS_RUN):
        return str(Decimal(row.value).quantize(Decimal("0.0001"), ROUND_CEILING))
    if row.value < _PLAIN:
        return f"{row.value:.4g}"
    return power_text((row.log10 - math.log10(row.samples)) / 2, digits=1)


def bound_table(rows: Sequence[Row], *, title: str) -> Table:
    """Fits 80 columns: only the last one wraps. A star: premises that were checked fail."""
    result = Table(title=Text(clean(title)), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title_justify="left")
    result.add_column("bound", no_wrap=True, max_width=24)
    result.add_column("error", justify="right", no_wrap=True)
    result.add_column("kind", no_wrap=True)
    result.add_column("capacity", justify="right", no_wrap=True)
    result.add_column("from")
    for row in sort_bounds(rows):
        proven = row.kind == KIND
        about = row.about or "the network in its file"
        source = {KIND: f"proven for {about}", KIND_AS_RUN: f"as run, {about}"}.get(row.kind, row.theorem)
        name = clean(row.name) + ("*" if row.failing else "")
        cells = (name, error_text(row), row.kind, power_text(row.log10), clean(source))
        result.add_row(*(Text(cell) for cell in cells), style="bold" if proven else None)
    return result
