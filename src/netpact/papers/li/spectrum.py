"""The CP spectrum of each layer: read off a layer in CP form, found by decomposition in a dense one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from netpact.algebra import ALSOptions, CPDecomposition, polyadic_form
from netpact.algebra.cp_within import RankSearch, cp_within
from netpact.core.seed import Seed
from netpact.layers.components import CPChain
from netpact.layers.ranks import rank_for_share

RECONSTRUCTION = 1e-3  # Figure 4: "explicit CP decompositions with reconstruction error set to 1e-3"
ABOVE = 0.2  # its threshold, of the largest amplitude
_ALS = ALSOptions(sweeps=100, starts=1)
_GROWTH = 1.25  # from one rank that is tried to the next


@dataclass(frozen=True)
class LayerSpectrum:
    """parameters: of the dense layer; amplitudes: lambda, largest first; error: relative, of the decomposition.

    A layer in CP form has its own amplitudes, and no error. Components that training has brought to 0 count.
    """

    name: str
    parameters: int
    amplitudes: tuple[float, ...]
    error: float

    @cached_property
    def normalised(self) -> NDArray[np.float64]:
        """Over the largest one, from 1 downward."""
        found = np.array(self.amplitudes)
        return found / found[0] if found[0] > 0 else found

    def share_above(self, threshold: float) -> float:
        """Figure 4: the share of the components above a threshold."""
        return float((self.normalised > threshold).mean())

    @property
    def mean(self) -> float:
        """Of the normalised amplitudes: near 1 for a flat spectrum, near 0 for one with a few large ones."""
        return float(self.normalised.mean())

    @staticmethod
    def read(record: Mapping[str, Any]) -> LayerSpectrum:
        return LayerSpectrum(**{**record, "amplitudes": tuple(record["amplitudes"])})


def layer_spectra(module: nn.Module, *, seed: Seed) -> tuple[LayerSpectrum, ...]:
    """Of every convolution whose kernel is larger than one pixel, in order; batch norm stays apart."""
    found, inside = [], set[nn.Module]()
    for name, part in module.named_modules():
        if isinstance(part, CPChain):
            inside.update(part.modules())
            # spectrum() leaves out those of weight 0; the paper's shares are of all that the layer has.
            amplitudes = part.spectrum().tolist()
            padded = (*amplitudes, *[0.0] * (part.rank - len(amplitudes)))
            found.append(LayerSpectrum(name, math.prod(part.modes), padded, 0.0))
        elif isinstance(part, nn.Conv2d) and part not in inside and max(part.kernel_size) > 1 and part.groups == 1:
            form = decompose_to(part, seed=seed.child(name))
            found.append(LayerSpectrum(name, part.weight.numel(), tuple(form.weights.tolist()), form.relative_error))
    return tuple(found)


def decompose_to(layer: nn.Conv2d, *, error: float = RECONSTRUCTION, seed: Seed) -> CPDecomposition:
    """The first decomposition that is near enough, of ranks that grow from the one of as many numbers as the kernel.

    The exact form (Proposition 4.1) where they would reach its rank.
    """
    kernel = layer.weight.detach()
    exact = polyadic_form(kernel)
    ranks = RankSearch(exact.rank - 1, first=rank_for_share(layer), growth=_GROWTH, resolution=1.0)
    found = cp_within(kernel.flatten(2), error, ranks, options=_ALS, seed=seed) if ranks.most else None
    return exact if found is None else replace(found, shape=exact.shape)
