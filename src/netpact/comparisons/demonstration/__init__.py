"""The whole way of the data on one data set, and the pages that show it."""

from netpact.comparisons.demonstration.running import Demonstration, demonstrate

__all__ = ["Demonstration", "demonstrate"]
