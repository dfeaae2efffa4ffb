"""How a network is rounded on calibration inputs."""

from __future__ import annotations

from dataclasses import dataclass

from netpact.core.errors import PactError

ROUNDINGS = ("nearest", "second-order")


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


def uneven_grid(where: str) -> PactError:
    return PactError(
        "second-order rounding takes an even grid for each layer",
        where=where,
        hint='grid="uniform" and shared=False, or rounding="nearest" without a tolerance',
    )


def no_inputs(method: str) -> PactError:
    return PactError(
        "second-order rounding looks at calibration inputs, and there are none",
        where="samples",
        hint=f"compress(network, {method}, samples=data)",
    )
