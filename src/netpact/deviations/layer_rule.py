"""What a layer with weights does to the bound on the difference of two networks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from netpact.core.errors import PactError
from netpact.deviations.deviation import Deviation, make_deviation, size_of
from netpact.deviations.layer_bounds import LayerBounds
from netpact.deviations.lipschitz import copying_norm
from netpact.deviations.outward import round_up, round_up_float
from netpact.layers import ChannelAffine
from netpact.network.rounding.constants import Constants
from netpact.network.rounding.sum_rules import LEAST_VARIANCE
from netpact.network.rounding.tolerance import Spread, value_of

_STEEPEST = LEAST_VARIANCE**-0.5  # what batch norm multiplies by before its weight can make it smaller

# Axes that a layer's input has, the samples' first: a layer that takes them for something else would mix samples.
_AXES: dict[type[nn.Module], Callable[[int], bool]] = {
    nn.Linear: lambda axes: axes >= 2,
    nn.Conv2d: lambda axes: axes == 4,
    nn.BatchNorm1d: lambda axes: axes in (2, 3),
    nn.BatchNorm2d: lambda axes: axes == 4,
    ChannelAffine: lambda axes: axes >= 2,
}


def follow_layer(name: str, layer: nn.Module, bounds: LayerBounds, x: Any) -> Any:
    """A layer with weights: W for the network that is run, W^ for the other one.

        e_out = |W^| e_in + |W - W^| |h_in(x)| + |b - b^| sqrt(places)
                + gamma (|W^|_abs (|h_in(x)| + e_in) + |b^| sqrt(places))

    |h_in(x)| is of the network that is run, |W^|_abs the layer with |W^| in place of W^ (what its rounding depends on),
    places the number of outputs that share one bias: height times width for images. Where both networks are known,
    |(W - W^) h_in(x) + b - b^| itself takes the place of the second and third term.
    """
    if not isinstance(x, Deviation):
        raise PactError(f"{name}: it is run on something that does not come from the input", where="network")
    h, walk = x.held, x.walk
    result = _run(layer, h)
    if not _AXES[type(layer)](value_of(h).dim()):
        walk.unknown.append(f"{name} on a tensor of shape {tuple(value_of(h).shape)}")
        return make_deviation(result, torch.full_like(x.bound, math.inf), walk)
    size, distance = bounds.size, bounds.distance
    out = value_of(result)
    entries = out[0].numel()
    root = round_up_float(math.sqrt(entries // _count_biases(layer)))
    reach = size_of(h)
    felt = round_up(reach + x.bound) * _padding_norm(layer, h)
    added = distance.weights * reach + distance.shift * root
    if bounds.difference is not None:
        # The difference's entries are rounded: those of linear and convolution layers by 2^-53 of themselves, far
        # within the rounding bound of its run; those of batch norm by up to 9 units of 2^-53 of the two layers' scales
        # and offsets, for which gamma has 10 to spare: its share for a run of our own, of which there is none.
        added = torch.minimum(round_up(added), size_of(_run(bounds.difference, h)))
    bound = size.gain * x.bound + added
    noise = walk.other.gamma(size.terms) * (size.roughness * felt + size.offset * root)
    # Products and weights that may be flushed to zero, in every entry.
    tiny = walk.other.underflow(size.terms) * (round_up_float(math.sqrt(entries)) * (1 + felt) + size.mean * root)
    # No partial sum of the other network is larger than this, batch norm's own steps included.
    gain = max(1.0, size.roughness, _STEEPEST if size.is_norm else 0.0)
    bound = walk.other.limit(round_up(bound + noise + tiny), felt, gain=gain, plus=gain * size.mean + size.offset)
    return make_deviation(result, bound, walk)


def _run(layer: nn.Module, h: Spread) -> Spread:
    with Constants(layer):
        found: Spread = layer(h)
    return found


def _count_biases(layer: nn.Module) -> int:
    """Each of them is added to equally many entries of a sample."""
    assert isinstance(layer, (nn.Linear, nn.Conv2d, nn.BatchNorm1d, nn.BatchNorm2d, ChannelAffine))
    if isinstance(layer, nn.Linear):
        return layer.out_features
    if isinstance(layer, nn.Conv2d):
        return layer.out_channels
    return layer.channels if isinstance(layer, ChannelAffine) else layer.num_features


def _padding_norm(layer: nn.Module, h: Spread) -> float:
    """Padding by copies of entries makes the input of the sums larger; zeros do not."""
    if not isinstance(layer, nn.Conv2d) or layer.padding_mode == "zeros":
        return 1.0
    amounts, mode = layer._reversed_padding_repeated_twice, layer.padding_mode
    shape = (1, 1, *value_of(h).shape[2:])
    norms = copying_norm(lambda image: functional.pad(image, amounts, mode=mode), shape)
    assert norms is not None
    return norms[0]
