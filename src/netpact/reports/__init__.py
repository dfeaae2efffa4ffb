"""What is shown to a reader: the terminal table, the figure and the self-contained HTML page."""

from netpact.reports.figure import scatter_svg
from netpact.reports.page import render_page
from netpact.reports.rows import Provenance, Row, find_best
from netpact.reports.table import table

__all__ = ["Provenance", "Row", "find_best", "render_page", "scatter_svg", "table"]
