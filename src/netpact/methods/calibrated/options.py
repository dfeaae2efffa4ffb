"""How a network is rounded on calibration inputs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Calibrated:
    """bits         of a symbol before entropy coding: the step of a channel is the best one for so many
    tolerance    instead of bits: the mean squared change of the logits, as a share of their variance. Steps follow
    rate         the price of a bit, in squared steps
    per_channel  a step for each output channel, not for each layer
    inputs       how many calibration inputs are looked at, drawn from the samples
    """

    bits: int | None
    tolerance: float | None
    rate: float
    per_channel: bool
    inputs: int
