"""What is shown to a reader: the terminal table, the figure and the self-contained HTML page."""

from netpact.reports.charts.figure import Figure, save_figures
from netpact.reports.charts.scatter import draw_scatter
from netpact.reports.page import render_page
from netpact.reports.rows import Provenance, Row, find_best
from netpact.reports.table import table

__all__ = ["Figure", "Provenance", "Row", "draw_scatter", "find_best", "render_page", "save_figures", "table"]
