"""Layers whose parameters are W and b themselves: sums of products, and a bias."""

from __future__ import annotations

from netpact.algebra.outward import length_up, round_up_float
from netpact.network.kinds.kind import Layer, LayerDistance, LayerSize, subtract_parameters
from netpact.network.kinds.table import KINDS


def size_of_sums(layer: Layer) -> LayerSize:
    """Linear and convolution layers. Sums of |W| over the taps bound the layer with |W|, for every image size:

        |conv(|W|)|_op <= | sum_taps |W_tap| |_2 <= | sum_taps |W_tap| |_F

    and a change D with |D|_op <= 1 for every image size has |D|_F <= sqrt(outputs), since |D|_F^2 is the mean of
    |symbol|_F^2 over all frequencies; summing over the taps costs another sqrt(taps) at most.
    """
    weight = layer.weight.detach().double()
    taps = weight[0, 0].numel()
    return LayerSize(
        gain=_gain(layer),
        roughness=length_up(weight.abs().flatten(2).sum(dim=2) if weight.dim() > 2 else weight),
        offset=length_of_bias(layer),
        spill=round_up_float((taps * len(weight)) ** 0.5),
        terms=weight[0].numel() + 1,
        biases=len(weight),
    )


def distance_of_sums(first: Layer, second: Layer) -> LayerDistance:
    """The size of the difference, each entry of which is rounded once: far below 1e-9 in every norm."""
    difference = subtract_parameters(first, second)
    weights, shift = _gain(difference) * (1 + 1e-9), length_of_bias(difference)
    return LayerDistance(weights=round_up_float(weights), shift=round_up_float(shift))


def _gain(layer: Layer) -> float:
    _, upper = KINDS.of(layer).norm(layer, None)
    assert upper is not None
    return upper


def length_of_bias(layer: Layer) -> float:
    bias = getattr(layer, "bias", None)
    return 0.0 if bias is None else length_up(bias.detach().double())
