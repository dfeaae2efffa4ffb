"""What a layer with weights does to the bound on the difference of two networks."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from netpact.algebra.outward import round_up, round_up_float
from netpact.core.errors import PactError
from netpact.deviations.deviation import Deviation, make_deviation, size_of
from netpact.deviations.layer_bounds import LayerBounds
from netpact.network.kinds import KINDS
from netpact.network.rounding.constants import Constants
from netpact.network.rounding.tolerance import Spread, value_of


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
    h, walk, kind = x.held, x.walk, KINDS.of(layer)
    result = _run(layer, h)
    if value_of(h).dim() not in kind.types[type(layer)]:
        walk.unknown.append(f"{name} on a tensor of shape {tuple(value_of(h).shape)}")
        return make_deviation(result, torch.full_like(x.bound, math.inf), walk)
    size, distance = bounds.size, bounds.distance
    out = value_of(result)
    entries = out[0].numel()
    root = round_up_float(math.sqrt(entries // size.biases))
    reach = size_of(h)
    felt = round_up(reach + x.bound) * kind.copies(layer, tuple(value_of(h).shape))
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
    gain = max(1.0, size.roughness, size.steepest)  # no partial sum of the other network is larger than this allows
    bound = walk.other.limit(round_up(bound + noise + tiny), felt, gain=gain, plus=gain * size.mean + size.offset)
    return make_deviation(result, bound, walk)


def _run(layer: nn.Module, h: Spread) -> Spread:
    with Constants(layer):
        found: Spread = layer(h)
    return found
