"""What was read from one file: networks to compare, sections of the page, and figures of where the bits go."""

from __future__ import annotations

from dataclasses import dataclass

from netpact.reports.frame import Panel, Section
from netpact.reports.rows import Row


@dataclass(frozen=True)
class Found:
    rows: tuple[Row, ...] = ()
    sections: tuple[Section, ...] = ()
    bits: tuple[Panel, ...] = ()
