"""Whether one network stands for another on given samples (Arora et al. 2018, Definitions 1 and 2), and Theorem 2.1."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from netpact.bounds.margin import margin_used
from netpact.certificates.inputs import failure_probability
from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.percent import percent
from netpact.datasets import Samples, as_samples

_BATCH = 512


@dataclass(frozen=True, eq=False)
class Compressibility:
    """How far g is from f on the samples, in the sup norm of the logits.

    holds          2 |f - g|_inf <= gamma on every sample: then no margin above gamma becomes an error
    holds_printed  |f - g|_inf <= gamma, as Definition 1 says: not enough for Theorem 2.1
    zeta           the share of the samples on which the first fails (Corollary A.1 adds it to the bound)
    """

    gamma: float
    errors: NDArray[np.float64]

    @property
    def worst(self) -> float:
        return float(self.errors.max())

    @property
    def holds(self) -> bool:
        return margin_used(self.worst, norm="sup") <= self.gamma

    @property
    def holds_printed(self) -> bool:
        return self.worst <= self.gamma

    @property
    def zeta(self) -> float:
        return float(np.mean(2.0 * self.errors > self.gamma))

    def to_json(self) -> dict[str, object]:
        return {
            "gamma": self.gamma,
            "samples": len(self.errors),
            "worst": self.worst,
            "holds": self.holds,
            "holds_printed": self.holds_printed,
            "zeta": self.zeta,
        }

    def __str__(self) -> str:
        verdict = (
            "compressible"
            if self.holds
            else f"not compressible, but for {percent(1 - self.zeta, places=2)} of the samples"
        )
        return (
            f"({self.gamma:g}, S)-{verdict}: |f - g|_inf is at most {self.worst:.4g} on {len(self.errors):,} samples, "
            f"{self.gamma / 2:g} is allowed"
        )


@torch.no_grad()
def compressible(f: nn.Module, g: nn.Module, samples: Samples | object, gamma: float) -> Compressibility:
    """Is f (gamma, S)-compressible to this g, with S the samples? Both run in float64, in eval mode."""
    check_number(gamma, where="gamma", above=0)
    first, second = (copy.deepcopy(module).double().eval() for module in (f, g))
    found = []
    for inputs, _ in as_samples(samples).batches(_BATCH):
        x = torch.from_numpy(inputs).double()
        one, other = first(x), second(x)
        if one.shape != other.shape:
            raise PactError(f"outputs of shape {tuple(one.shape)} and {tuple(other.shape)}", where="compressed network")
        found.append((one - other).abs().flatten(1).amax(dim=1))
    errors = torch.cat(found).numpy()
    if not np.isfinite(errors).all():
        raise PactError("NaN or infinite logits", where=f"sample {int(np.argmin(np.isfinite(errors)))}")
    return Compressibility(gamma, errors)


def finite_class_bound(
    *, margin_loss: float, log_count: float, samples: int, delta: float | None, zeta: float = 0.0
) -> float:
    """Theorem 2.1 and Corollary A.1 with their constants: the risk of a g out of exp(log_count) many, fixed beforehand.

        valid    L_gamma(f) + zeta + sqrt((log_count + ln(1/delta)) / (2m))     with probability 1 - delta
        printed  L_gamma(f) + zeta + sqrt(log_count / m)                        with probability 1 - exp(-log_count)

    q parameters of r values each: log_count = q ln r. The printed form is delta=None; its failure probability is the
    one that the proof gives. f is compressible to g in the sense of `compressible`, factor 2 included, but for a share
    zeta of the samples.
    """
    check_integer(samples, where="samples", least=1)
    if not log_count >= 0:
        raise PactError(f"must be a number >= 0, got {log_count!r}", where="log_count")
    if delta is None:
        return margin_loss + zeta + math.sqrt(log_count / samples)
    return margin_loss + zeta + math.sqrt((log_count - math.log(failure_probability(delta))) / (2.0 * samples))
