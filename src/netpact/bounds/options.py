"""How the bounds are computed: one record for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from netpact.bounds.margin import Gamma
from netpact.bounds.norms import check_reading
from netpact.certificates.inputs import failure_probability
from netpact.core.errors import PactError, one_of
from netpact.measurements import LayerMeasures, Quantity

_USUAL_QUANTILE = 0.1  # a tenth of the samples that are right is below the margin


def _with_bias(layer: LayerMeasures) -> tuple[Quantity | None, Quantity | None]:
    return layer.layer_cushion_with_bias, layer.min_interlayer_cushion_with_bias


def _plain(layer: LayerMeasures) -> tuple[Quantity | None, Quantity | None]:
    return layer.arora_layer_cushion, layer.min_interlayer_cushion


def _from_initial(layer: LayerMeasures) -> tuple[Quantity | None, Quantity | None]:
    return layer.cushion_from_initial, layer.min_interlayer_cushion


# With biases Lemma 3 holds for the first only. The second are those of the paper, the third have |A - A_0|_F in the
# place of |A|_F: the initial weights are in the helper string, and their difference is what is projected.
CUSHIONS: Mapping[str, Callable[[LayerMeasures], tuple[Quantity | None, Quantity | None]]] = MappingProxyType(
    {"with-bias": _with_bias, "plain": _plain, "from-initial": _from_initial}
)


@dataclass(frozen=True, kw_only=True)
class EstimateOptions:
    """gamma         the margin: a number, a quantile of the training margins, or a grid declared beforehand
    convolutions  "unrolled": a convolution is the linear map that it is; "reshaped": its filters as one matrix
    cushions      "with-bias": of outputs with their biases, as Lemma 3 needs; "plain": as printed; "from-initial":
                  relative to the initial weights, if the measurements had them
    zeta          the share of the samples that the measurements may leave out; it is added to the bound
    delta         the failure probability, where a bound states one
    """

    gamma: Gamma = field(default_factory=lambda: Gamma(right_quantile=_USUAL_QUANTILE))
    convolutions: str = "unrolled"
    cushions: str = "with-bias"
    zeta: float = 0.0
    delta: float = 0.05

    def __post_init__(self) -> None:
        check_reading(self.convolutions)
        if not isinstance(self.cushions, str) or self.cushions not in CUSHIONS:
            raise one_of(self.cushions, CUSHIONS, option="cushions")
        if not 0 <= self.zeta < 1:
            raise PactError(f"a share from 0 up and below 1 is needed, got {self.zeta!r}", where="zeta")
        failure_probability(self.delta)
