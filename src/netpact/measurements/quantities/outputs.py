"""Margins and sizes of the network's output."""

from __future__ import annotations

from netpact.measurements.definition import QUANTITIES, OfNetwork
from netpact.measurements.passes import Context
from netpact.measurements.quantity import LEAST, MOST, Quantity, over_samples
from netpact.measurements.streaming import SAMPLE_NORMS


def _margins(context: Context) -> Quantity:
    """f(x)[y] - max of the others."""
    return over_samples(context[SAMPLE_NORMS].margins, side=LEAST, complete=True)


def _norms(context: Context) -> Quantity:
    """|f(x)|_2."""
    return over_samples(context[SAMPLE_NORMS].logits, side=MOST, complete=True)


QUANTITIES.add(OfNetwork("margins", _margins, title="margin", needs=(SAMPLE_NORMS,)))
QUANTITIES.add(OfNetwork("max_output_norm", _norms, title="output norm", side=MOST, needs=(SAMPLE_NORMS,)))
