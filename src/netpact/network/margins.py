"""Margins: by how much the right class wins, sample by sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from netpact.core.checks import check_number
from netpact.core.display import Displayed, Row
from netpact.core.errors import PactError
from netpact.core.percent import percent
from netpact.core.progress import Progress
from netpact.datasets import Data, Samples, as_data
from netpact.datasets.arrays import rows_in_cache
from netpact.models import AnyModule
from netpact.network.rounding.counting import Logits, margins_between, refuse_bad_logits
from netpact.network.tracing import Network, trace

_SHARES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)  # that a summary gives


@dataclass(frozen=True, eq=False, repr=False)
class Margins(Displayed):
    """One number for each sample, in the samples' order.

    margins    f(x)[y] - max over j != y of f(x)[j]; a tie is 0, and an error
    norms      |f(x)|_2
    sup_norms  |f(x)|_inf
    """

    margins: NDArray[np.float64]
    norms: NDArray[np.float64]
    sup_norms: NDArray[np.float64]
    name: str

    @property
    def count(self) -> int:
        return len(self.margins)

    def share_below(self, gamma: float) -> float:
        """The share of samples whose margin is not above gamma; at gamma = 0 this is the error.

        L_gamma(f) = (1/m) #{margin <= gamma}
        """
        if np.isnan(gamma):
            raise PactError("must be a number, got NaN", where="gamma")
        return int(np.count_nonzero(self.margins <= gamma)) / self.count

    def quantile(self, share: float) -> float:
        """The largest margin such that at most this share of samples is strictly below it: one that a sample has."""
        check_number(share, where="share", least=0, most=1)
        return float(np.sort(self.margins)[min(int(share * self.count), self.count - 1)])

    def display_facts(self) -> Row:
        about = {"samples": self.name, "count": self.count, "error": self.share_below(0.0)}
        return about | {f"margin_{percent(share, places=0)}": self.quantile(share) for share in _SHARES}

    def to_json(self) -> dict[str, object]:
        return {
            "samples": self.name,
            "count": self.count,
            "error": self.share_below(0.0),
            "margin_quantiles": {str(share): self.quantile(share) for share in _SHARES},
            "largest_norm": float(self.norms.max()),
            "largest_sup_norm": float(self.sup_norms.max()),
        }

    def display_text(self) -> str:
        quantiles = ", ".join(f"{percent(share, places=0)} {self.quantile(share):.4g}" for share in _SHARES)
        return f"{self.count:,} margins on {self.name}: {quantiles}; {percent(self.share_below(0.0), places=2)} errors"


@torch.no_grad()
def measure_margins(
    network: Network | AnyModule, samples: Samples | Data, *, progress: Progress | None = None
) -> Margins:
    """Run the network in float32, batch by batch, and keep three numbers for each sample.

    network  a traced network, or what trace takes
    samples  those to run it on; of Data the training part
    """
    samples = as_data(samples).train
    network = network if isinstance(network, Network) else trace(network, samples)
    network.check_fits(samples)
    found: list[NDArray[np.float64]] = []
    seen = 0
    for inputs, labels in samples.batches(rows_in_cache(samples.input_shape)):
        logits = network.module(torch.from_numpy(inputs)).double()
        refuse_bad_logits(Logits(logits, torch.zeros_like(logits)), labels, np.arange(seen, seen + len(labels)))
        three = (
            margins_between(logits, logits, torch.from_numpy(labels)),
            torch.linalg.vector_norm(logits, dim=1),
            logits.abs().amax(dim=1),
        )
        found.append(torch.stack(three).numpy())
        seen += len(labels)
        if progress is not None:
            progress(seen, samples.count)
    margins, norms, sup_norms = np.concatenate(found, axis=1)
    return Margins(margins, norms, sup_norms, samples.name)
