"""Ranks that keep the outputs within a share eps of themselves: FBRC and FBR of Li et al. 2020, Algorithms 3 and 4.

From the last layer to the first, layer k keeps the smallest number j of its largest components for which

    L_k rho_k xi_j^k  prod_{l > k} g_l  <=  (eps / n)  prod_{i >= k} zeta_i |M_i|_F,

    g_l = L_l t_l, at the rank that was chosen for layer l before, and 1 more where something goes around it

with n layers, and L the Lipschitz constant of what follows a layer. Then |f - f^| <= eps |f| on the samples of the
properties (Lemmas D.4, E.8 and F.3 in valid form): the error is a sum of n terms, and each is at most eps / n.

As the paper prints it, (85) and (86) have no L, and all layers have the 1 more if the network has skips; (87), of fully
connected networks, has |M_k|_F for the product of all |M_i|_F. The definitions are the printed ones too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from netpact.core.checks import check_flag, check_instance, check_number
from netpact.core.display import Displayed
from netpact.core.errors import PactError
from netpact.measurements import LayerTensor, TensorProperties

_OUTWARD = 1e-9  # of the logarithms: sums of a few numbers of at most a few thousand


@dataclass(frozen=True)
class LayerRank:
    """rank        components that are kept
    components  that there are
    whole       the layer stays as it is: that was asked for, or no rank is enough for what a decomposition leaves out
    used        the share of eps / n that dropping the others may take
    parameters  of the kept components, by the paper's count: rank (d_1 + ... + d_N + 1)
    """

    name: str
    rank: int
    components: int
    whole: bool
    used: float
    parameters: int

    def __str__(self) -> str:
        kept = "stays as it is" if self.whole else f"keeps {self.rank} of {self.components} components"
        return f"{self.name} {kept}"


@dataclass(frozen=True, repr=False)
class MarginRanks(Displayed):
    """eps      |f - f^| <= eps |f| on the samples
    layers   in the order they run
    printed  by the paper's formulas and definitions as printed, from which nothing follows
    """

    eps: float
    layers: tuple[LayerRank, ...]
    printed: bool = False

    @property
    def ranks(self) -> dict[str, int]:
        """By name, of the layers that do not stay as they are."""
        return {layer.name: layer.rank for layer in self.layers if not layer.whole}

    @property
    def parameters(self) -> int:
        return sum(layer.parameters for layer in self.layers)

    def to_json(self) -> dict[str, object]:
        return {**self.display_facts(), "layers": self.display_rows()}

    def display_facts(self) -> dict[str, object]:
        return {"eps": self.eps, "printed": self.printed, "parameters": self.parameters}

    def display_rows(self) -> list[dict[str, object]]:
        return [dict(vars(layer)) for layer in self.layers]

    def display_text(self) -> str:
        return "\n".join([f"eps {self.eps:.3g}", *(f"  {layer}" for layer in self.layers)])


def find_ranks(
    properties: TensorProperties,
    *,
    eps: float | None = None,
    margin: float | None = None,
    keep: Collection[str] = (),
    as_printed: bool = False,
) -> MarginRanks:
    """The ranks for a relative error of the outputs, or for decisions that have at least a margin.

    eps         |f - f^| <= eps |f| on the samples
    margin      eps = margin / (2 max |f|): no decision with a larger margin changes
    keep        names of layers that stay as they are: the layers before them must know of their whole norm
    as_printed  by the paper's formulas and definitions, for comparison
    """
    check_instance(properties, TensorProperties, where="properties")
    error = _relative(properties, eps, margin)
    for name in keep:
        properties.layer(name)
    if check_flag(as_printed, where="as_printed"):
        properties = properties if properties.printed else properties.as_printed()
    elif properties.printed:
        raise PactError("these are the paper's own definitions", where="properties", hint="give as_printed=True")
    condition = _Printed(properties.layers) if as_printed else _Valid()
    limit, chosen = math.log(error / len(properties.layers)), list[LayerRank]()
    for layer in reversed(properties.layers):
        found, limit = _choose(layer, condition, limit, whole=layer.name in keep)
        chosen.append(found)
    return MarginRanks(error, tuple(reversed(chosen)), as_printed)


def _relative(properties: TensorProperties, eps: float | None, margin: float | None) -> float:
    if (eps is None) == (margin is None):
        raise PactError("give either eps or margin", where="eps")
    if margin is None:
        return check_number(eps, where="eps", above=0)
    check_number(margin, where="margin", above=0)
    if not properties.output_norm:
        raise PactError("all outputs are 0: there is no margin to keep", where="margin")
    return margin / (2 * properties.output_norm)


class _Valid:
    """Logarithms of the three sides of a layer: what it may lose by j, what it can enlarge, what is left of it."""

    def lost(self, layer: LayerTensor) -> Tensor:
        return (layer.lipschitz * layer.reshaping * layer.noise()).log()

    def enlarged(self, layer: LayerTensor, norm: float) -> float:
        return _log(layer.lipschitz * norm + layer.skip)

    def left(self, layer: LayerTensor) -> float:
        return _log(layer.cushion) + _log(layer.frobenius)

    def left_by_later(self, layer: LayerTensor) -> float:
        return self.left(layer)


class _Printed(_Valid):
    def __init__(self, layers: Iterable[LayerTensor]) -> None:
        listed = tuple(layers)
        self._connected = all(layer.kind == "linear" for layer in listed)
        self._skips = any(layer.skip for layer in listed)

    def lost(self, layer: LayerTensor) -> Tensor:
        return ((layer.reshaping if self._connected else 1.0) * layer.noise()).log()

    def enlarged(self, layer: LayerTensor, norm: float) -> float:
        return _log(norm + self._skips)

    def left_by_later(self, layer: LayerTensor) -> float:
        return _log(layer.cushion) if self._connected else self.left(layer)


def _choose(layer: LayerTensor, condition: _Valid, limit: float, *, whole: bool) -> tuple[LayerRank, float]:
    """The layer's rank, and the limit for the layer before it. limit: the logarithm of what the layers behind allow."""
    own, lost = limit + condition.left(layer), condition.lost(layer)
    # What loses nothing, with a logarithm of -inf, is enough even where nothing is allowed.
    enough = torch.nonzero(lost[1:] <= own - _OUTWARD).flatten()
    whole = whole or not len(enough)
    rank = layer.rank if whole else int(enough[0]) + 1
    norm = float(layer.tensorization()[rank]) + (layer.residual if whole else 0.0)
    used = 0.0 if whole or lost[rank] == -math.inf else math.exp(float(lost[rank]) - own)
    sides = sum(len(factor) for factor in layer.components.factors) + 1
    found = LayerRank(layer.name, rank, layer.rank, whole, used, rank * sides)
    # Behind layers that give out nothing, nothing can go wrong: 0 / 0 stands for that.
    enlarged, left = condition.enlarged(layer, norm), condition.left_by_later(layer)
    return found, limit if enlarged == -math.inf else limit + left - enlarged


def _log(number: float) -> float:
    return math.log(number) if number > 0 else -math.inf
