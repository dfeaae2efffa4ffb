"""What Figures 3 and 8 show of each convolution: rank, tensorization factor, tensor noise bound, layer cushion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from netpact.datasets import Data
from netpact.measurements import LayerTensor, tensor_properties
from netpact.methods.ranks_from_margin import find_ranks

EPS = 0.1  # of the outputs, for the ranks; the paper does not print its margin
QUARTER = 4  # j is a quarter of the components: the paper's j are ranks that it found in one of its networks


@dataclass(frozen=True)
class LayerProperties:
    """components     R
    kept           by Algorithm 3 with the paper's definitions as printed; kept_validly: with the corrected ones
    tensorization  t_j; noise: xi_j, for j = R / 4; whole: t_R
    cushion        zeta, without the printed factor
    """

    name: str
    components: int
    kept: int
    kept_validly: int
    tensorization: float
    noise: float
    whole: float
    cushion: float

    @property
    def relative_noise(self) -> float:
        """xi_j / t_R: what is dropped, whatever the scale of the layer."""
        return self.noise / self.whole if self.whole else math.nan

    @staticmethod
    def read(record: Mapping[str, Any]) -> LayerProperties:
        return LayerProperties(**record)


def measure_properties(module: nn.Module, data: Data) -> tuple[LayerProperties, ...]:
    """Of every convolution, on all training samples, with batch norm folded."""
    found = tensor_properties(module, data)
    printed, valid = (
        {layer.name: layer.rank for layer in find_ranks(found, eps=EPS, as_printed=flag).layers}
        for flag in (True, False)
    )
    return tuple(
        _describe(layer, printed[layer.name], valid[layer.name]) for layer in found.layers if layer.kind == "conv2d"
    )


def _describe(layer: LayerTensor, kept: int, validly: int) -> LayerProperties:
    place = max(1, layer.rank // QUARTER)
    sizes, noise = layer.tensorization(), layer.noise()
    return LayerProperties(
        layer.name,
        components=layer.rank,
        kept=kept,
        kept_validly=validly,
        tensorization=float(sizes[place]),
        noise=float(noise[place]),
        whole=float(sizes[-1]),
        cushion=layer.cushion,
    )
