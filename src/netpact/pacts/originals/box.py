"""A box around the network in a file: how far each layer of another network may be from it, as a short message."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import nn

from netpact.coding import Coder, Decoder, Encoder, ShortFloat, code_flag, code_short_float
from netpact.core.errors import PactError
from netpact.deviations import LayerBounds, LayerDistance, measure_distance, widen
from netpact.network.kinds import KINDS

_WHERE = "box"
_STEPS = 16  # mantissas of a short float


@dataclass(frozen=True)
class Side:
    """One layer's share of the box; None stands for exactly 0.

    weights  at least |W - W^|_op, for every image size
    shift    at least |b - b^|_2; always None for a layer without biases
    """

    weights: ShortFloat | None
    shift: ShortFloat | None

    @property
    def distance(self) -> LayerDistance:
        return LayerDistance(
            weights=0.0 if self.weights is None else self.weights.value,
            shift=0.0 if self.shift is None else self.shift.value,
        )


Box = tuple[Side, ...]  # one side for each layer with weights, in the order in which the module lists them


def make_box(compressed: nn.Module, original: nn.Module) -> Box:
    """The smallest box that can be written down with the original network in it."""
    others = _layers(original)
    sides = []
    for name, layer in _layers(compressed).items():
        distance = measure_distance(layer, others[name])
        sides.append(Side(_at_least(distance.weights, name), _at_least(distance.shift, name)))
    return tuple(sides)


def escapes(box: Box, compressed: nn.Module, original: nn.Module) -> Iterator[str]:
    """Where the original network is not proven to be in the box."""
    others = _layers(original)
    for side, (name, layer) in zip(box, _layers(compressed).items(), strict=True):
        found, allowed = measure_distance(layer, others[name]), side.distance
        if found.weights > allowed.weights:
            yield f"{name}: |W - W^| is {found.weights:.6g}, the box allows {allowed.weights:.6g}"
        if found.shift > allowed.shift:
            yield f"{name}: |b - b^| is {found.shift:.6g}, the box allows {allowed.shift:.6g}"


def layer_bounds(box: Box, compressed: nn.Module) -> dict[str, LayerBounds]:
    """What is known of the layers of any network in the box."""
    return {
        name: widen(layer, side.distance) for side, (name, layer) in zip(box, _layers(compressed).items(), strict=True)
    }


def encode_box(box: Box, compressed: nn.Module) -> bytes:
    encoder = Encoder()
    _code(encoder, box, compressed)
    return encoder.to_bytes()


def decode_box(message: bytes, compressed: nn.Module) -> Box:
    """Read an untrusted box. Only what encode_box writes is accepted, so trailing bytes are refused."""
    try:
        box = _code(Decoder(message), None, compressed)
    except PactError as error:
        raise PactError(error.what, where=_WHERE, hint=error.hint) from error
    if encode_box(box, compressed) != message:
        raise PactError("these bytes are not the message of the box they decode to", where=_WHERE)
    return box


def _code(coder: Coder, known: Box | None, compressed: nn.Module) -> Box:
    """Layers in the order of the module: the weights' side, then the shift's where the layer has one."""
    layers = _layers(compressed)
    if known is not None and len(known) != len(layers):
        raise PactError(f"{len(layers)} layers, but the box has {len(known)} sides", where=_WHERE)
    sides = []
    for index, layer in enumerate(layers.values()):
        side = None if known is None else known[index]
        weights = _code_length(coder, side is not None, None if side is None else side.weights)
        shift = None
        if KINDS.of(layer).shifts(layer):
            shift = _code_length(coder, side is not None, None if side is None else side.shift)
        elif side is not None and side.shift is not None:
            raise PactError("a layer without biases has no shift", where=_WHERE)
        sides.append(Side(weights, shift))
    return tuple(sides)


def _code_length(coder: Coder, writes: bool, value: ShortFloat | None) -> ShortFloat | None:
    """Is it 0? If not, which one is it?"""
    if code_flag(coder, value is None if writes else None):
        return None
    return code_short_float(coder, value)


def _at_least(number: float, name: str) -> ShortFloat | None:
    """The least short float that is not below a number."""
    if number == 0:
        return None
    near = ShortFloat.nearest(number)
    if near.value < number:
        last = near.mantissa == _STEPS - 1
        try:
            near = ShortFloat(near.exponent + last, 0 if last else near.mantissa + 1)
        except PactError as error:
            raise PactError(f"the original is too far from the compressed network: {number:.4g}", where=name) from error
    return near


def _layers(module: nn.Module) -> dict[str, nn.Module]:
    return {name: part for name, part in module.named_modules() if KINDS.find(part) is not None}
