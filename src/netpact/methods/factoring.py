"""Layers of low rank as two layers: fewer multiplications, not only fewer bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from torch import nn

from netpact.coding import ShortFloat
from netpact.coding.format import Compressed, own_slots
from netpact.coding.forms import CodedTensor, Factor, LowRank, matrix_sides
from netpact.layers.rewrites import LowRankLayer, Step, can_factor
from netpact.methods.low_rank_fitting import code_length
from netpact.network import Network

_STEP_BITS = 40  # of a rewrite in the message, about
_UNIT = ShortFloat(exponent=0, mantissa=0)


def factor_layers(network: Network, coded: Mapping[str, CodedTensor], plain: Mapping[str, CodedTensor]) -> Compressed:
    """Every layer with a low-rank weight as two layers, where that takes fewer numbers than one, and fewer bits.

    A layer whose tensors are used elsewhere too stays one: the others would lose them.

    plain  the tensors without low rank
    """
    tensors, steps = dict(coded), list[Step]()
    owners = Counter(id(tensor) for part in network.module.modules() for tensor in part.parameters(recurse=False))
    lent = {id(network.module.get_parameter(name)) for name in network.strays}
    for number, (name, part) in enumerate(network.module.named_modules()):
        prefix = f"{name}." if name else ""
        product = tensors.get(f"{prefix}weight")
        if product is None or not isinstance(product.form, LowRank) or not can_factor(part):
            continue
        if any(owners[id(own)] > 1 or id(own) in lent for own in part.parameters()):
            continue
        first, second = split_factors(product, part)
        if len(product.symbols) >= part.weight.numel() or (
            code_length(first) + code_length(second) + _STEP_BITS >= code_length(plain[f"{prefix}weight"])
        ):
            continue
        del tensors[f"{prefix}weight"]
        tensors |= {f"{prefix}first.weight": first, f"{prefix}second.weight": second}
        if part.bias is not None:
            tensors[f"{prefix}second.bias"] = tensors.pop(f"{prefix}bias")
        # Each of the steps before has put two layers into the list.
        steps.append(Step(number + 2 * len(steps), LowRankLayer(product.form.rank)))
    rewrites = tuple(steps)
    order = [slot.name for slot in own_slots(network.module, rewrites)]
    return Compressed(network.architecture, {name: tensors[name] for name in order}, rewrites=rewrites)


def split_factors(product: CodedTensor, layer: nn.Linear | nn.Conv2d) -> tuple[CodedTensor, CodedTensor]:
    """The same symbols, so the same product exactly: weights of the first and of the second layer."""
    form = product.form
    assert isinstance(form, LowRank)
    rows, rank = matrix_sides(product.shape)[0], form.rank
    left, right = product.symbols[: rows * rank], product.symbols[rows * rank :]
    pixel = (1,) * (layer.weight.dim() - 2)
    first = CodedTensor(Factor(form.step, form.octaves[:-1]), right, (rank, *product.shape[1:]))
    return first, CodedTensor(Factor(_UNIT, form.octaves[:-1], second=True), left, (rows, rank, *pixel))
