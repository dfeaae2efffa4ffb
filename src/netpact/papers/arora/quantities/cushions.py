"""What Arora et al. 2018 read off the norms at one layer: cushion, activation contraction, noise sensitivity."""

from __future__ import annotations

from netpact.measurements.definition import QUANTITIES, OfLayer, OverLayers
from netpact.measurements.passes import Context
from netpact.measurements.quantity import LEAST, MOST, Numbers, Quantity, divide, of_weights, over_samples
from netpact.measurements.streaming import SAMPLE_NORMS
from netpact.measurements.structure import WeightLayer
from netpact.measurements.weights import INITIAL, frobenius, matrix_frobenius


def _plain(layer: WeightLayer, context: Context) -> Quantity:
    """mu_i = min |A h| / (|A|_F |h|), without the bias."""
    return _cushion(layer, context, context[SAMPLE_NORMS].layers[layer.index].linear, size=frobenius(layer))


def _with_bias(layer: WeightLayer, context: Context) -> Quantity:
    """min |x^i| / (|A|_F |h|)."""
    return _cushion(layer, context, context[SAMPLE_NORMS].layers[layer.index].output, size=frobenius(layer))


def _from_initial(layer: WeightLayer, context: Context) -> Quantity | None:
    """min |A h| / (|A - A_0|_F |h|)."""
    if not context[INITIAL]:
        return None
    linear = context[SAMPLE_NORMS].layers[layer.index].linear
    return _cushion(layer, context, linear, size=context[INITIAL][layer.index])


def _cushion(layer: WeightLayer, context: Context, above: Numbers, *, size: float) -> Quantity:
    received = context[SAMPLE_NORMS].layers[layer.index].received
    return over_samples(divide(above, size * received, side=LEAST), side=LEAST, complete=True)


def _contraction(layer: WeightLayer, context: Context) -> Quantity:
    """c_i = max |x^(i-1)| / |h^(i-1)|, 1 where the network's input comes in."""
    if layer.follows is None:
        return of_weights(1.0)
    norms = context[SAMPLE_NORMS].layers
    lost = divide(norms[layer.follows].output, norms[layer.index].received, side=MOST)
    return over_samples(lost, side=MOST, complete=True)


def _sensitivity(layer: WeightLayer, context: Context) -> Quantity:
    """psi_i = max |M|_F^2 |h|^2 / |M h|^2 of the layer as a matrix M."""
    own, matrix = context[SAMPLE_NORMS].layers[layer.index], matrix_frobenius(layer, seed=context.options.seed)
    found = divide((matrix.value * own.received) ** 2, own.linear**2, side=MOST)
    errors = None if matrix.exact else found * (2 * matrix.relative_error)
    return over_samples(found, side=MOST, complete=True, errors=errors)


for row in (
    OfLayer(
        "arora_layer_cushion",
        _plain,
        title="layer cushion",
        symbol="mu",
        meaning="noise in the weights is damped more",
        needs=(SAMPLE_NORMS,),
        short="cushion",
        reference="Arora et al. 2018, Definition 4",
    ),
    OfLayer("layer_cushion_with_bias", _with_bias, title="layer cushion with bias", needs=(SAMPLE_NORMS,)),
    OfLayer("cushion_from_initial", _from_initial, title="cushion from the start", needs=(SAMPLE_NORMS, INITIAL)),
    OverLayers(
        "activation_contraction",
        _contraction,
        title="activation contraction",
        symbol="c",
        meaning="less is lost before the layer",
        side=MOST,
        needs=(SAMPLE_NORMS,),
        short="contraction",
        reference="Arora et al. 2018, Definition 6",
    ),
    OfLayer("noise_sensitivity", _sensitivity, title="noise sensitivity", side=MOST, needs=(SAMPLE_NORMS,)),
):
    QUANTITIES.add(row)
