"""netpact report: files of every kind that netpact writes, compared on one page."""

from netpact.overview.gathering import Overview, gather

__all__ = ["Overview", "gather"]
