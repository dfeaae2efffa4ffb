"""What attention does to the spread: softmax(q k^T scale + mask) v, as a function and as multi-head attention.

Kernels differ: the scale is multiplied into q, into the product, or its root into both; the mask is added to the sum of
products at its end or its beginning; keys are taken in blocks of any size, each with the largest number met so far
(`exponent_units`); what is summed is divided by the sum of exponentials at the end. With d features a score is a sum of
d products and the masks, and five roundings for the scale:

    gamma_{d+8} (|q| |k| scale + |masks|)

Below the smallest normal number the scaled q or k may be lost where it meets a large k or q.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from netpact.network.rounding.products import matmul_rule
from netpact.network.rounding.softmax import bound_softmax
from netpact.network.rounding.sum_rules import linear_rule
from netpact.network.rounding.tolerance import (
    Constant,
    NoRuleError,
    Rounding,
    Spread,
    as_constant,
    make_spread,
    spread_of,
    value_of,
)

SCORE_ROUNDINGS = 8  # beside those of the products: five for the scale, three for two masks and their sum
Masks = Sequence[tuple[Tensor, "Tensor | None"]]


def attention_rule(
    r: Rounding,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Tensor, Tensor]:
    """torch's scaled_dot_product_attention."""
    if dropout_p or enable_gqa:
        raise NoRuleError("with dropout or shared heads")
    masks = [] if attn_mask is None else [as_mask(attn_mask, shown=True)]
    if is_causal:
        rows, columns = value_of(query).shape[-2], value_of(key).shape[-2]
        masks.append((~torch.ones(rows, columns, dtype=torch.bool).tril(), None))
    _, result = attend(r, (query, key, value), masks, scale, safe=True)
    return value_of(result), spread_of(result)


def as_mask(mask: Tensor, *, shown: bool) -> tuple[Tensor, Tensor | None]:
    """Where nothing is to be seen, and numbers that are added elsewhere. shown: a true entry is one to be seen."""
    plain = value_of(mask)
    if not plain.is_floating_point():
        hidden = plain.bool()
        return (~hidden if shown else hidden), None
    gone = torch.isneginf(plain) & (spread_of(mask) == 0)
    return gone, make_spread(torch.where(gone, 0.0, plain), spread_of(mask))


def attend(
    r: Rounding, given: Sequence[Tensor], masks: Masks, scale: float | None, *, safe: bool
) -> tuple[Spread, Spread]:
    """The probabilities and the result.

    safe  where no key is to be seen: 0 in this torch, elsewhere no number at all, so that there is no bound
    """
    query, key, value = given
    x, s = score_rule(r, query, key, masks, scale)
    seen, wide = bound_softmax(r, x, s, -1)
    if safe:
        blind = torch.isneginf(x).all(-1, keepdim=True)
        seen, wide = torch.where(blind, 0.0, seen), torch.where(blind, torch.inf, wide)
    probabilities = make_spread(seen, wide)
    result, spread = matmul_rule(r, probabilities, value)
    # Before the division by the sum of exponentials, every key may count in full.
    felt = (value_of(value).abs() + spread_of(value)).amax(-2, keepdim=True)
    return probabilities, make_spread(result, r.limit(spread, felt, gain=x.shape[-1]))


def score_rule(r: Rounding, query: Tensor, key: Tensor, masks: Masks, scale: float | None) -> tuple[Tensor, Tensor]:
    """q k^T scale + masks and its spread; -inf without any where nothing is to be seen."""
    q, k, s, t = value_of(query), value_of(key), spread_of(query), spread_of(key)
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    most, features = max(1.0, abs(factor)), q.shape[-1]
    wide, tall = q.abs() + s, (k.abs() + t).mT
    sizes = wide @ tall
    x = (q @ k.mT) * factor
    spread = (q.abs() @ t.mT + s @ tall) * abs(factor)
    spread = r.limit(spread, sizes + wide.amax(-1, keepdim=True) + tall.amax(-2, keepdim=True), gain=most)
    lost = r.underflow(features + 1) * most * (1 + wide.sum(-1, keepdim=True) + tall.sum(-2, keepdim=True))
    felt = sizes * abs(factor)
    for _, added in masks:
        if added is not None:
            x, spread = x + value_of(added), spread + spread_of(added)
            felt = felt + value_of(added).abs() + spread_of(added)
    spread = spread + r.gamma(features + SCORE_ROUNDINGS) * felt + lost
    for gone, _ in masks:
        x, spread = torch.where(gone, -torch.inf, x), torch.where(gone, 0.0, spread)
    return x, spread


def multi_head_rule(
    r: Rounding,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    heads: int,
    weight: Tensor | None,
    bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_weight: Tensor,
    out_bias: Tensor | None,
    **named: Any,
) -> Any:
    """torch's multi_head_attention_forward: three linear maps, attention head by head, a linear map.

    Tensors come as (places, samples, features).
    """
    if bias_k is not None or bias_v is not None or add_zero_attn or named.get("static_k") is not None:
        raise NoRuleError("with keys and values of its own")
    if (dropout_p and named.get("training", True)) or value_of(query).dim() != 3:
        raise NoRuleError("in training mode, or of one sample")
    weights = _input_weights(weight, named, embed_dim)
    biases = [None] * 3 if bias is None else [_part(bias, index, embed_dim) for index in range(3)]
    split = [
        _by_heads(make_spread(*linear_rule(r, tensor, own, shift)), heads)
        for tensor, own, shift in zip((query, key, value), weights, biases, strict=True)
    ]
    masks = []
    padding, mask = named.get("key_padding_mask"), named.get("attn_mask")
    for given, is_padding in ((padding, True), (mask, False)):
        if given is not None:
            gone, added = as_mask(given, shown=False)
            masks.append((spread_mask(gone, heads, is_padding), spread_mask(added, heads, is_padding)))
    seen, result = attend(r, split, masks, None, safe=not named.get("need_weights", True))
    samples, places = value_of(query).shape[1], value_of(query).shape[0]
    joined = [part.permute(2, 0, 1, 3).reshape(places, samples, -1) for part in (value_of(result), spread_of(result))]
    found, spread = linear_rule(r, make_spread(*joined), out_weight, out_bias)
    if not named.get("need_weights", True):
        return (found, None), (spread, None)
    shown, wide = value_of(seen), spread_of(seen)
    if named.get("average_attn_weights", True):
        shown, wide = shown.mean(1), (wide + r.gamma(heads + 1) * (shown + wide)).mean(1)
    return (found, shown), (spread, wide)


def _input_weights(weight: Tensor | None, named: dict[str, Any], width: int) -> list[Tensor]:
    if not named.get("use_separate_proj_weight"):
        if weight is None:
            raise NoRuleError("without weights")
        return [_part(weight, index, width) for index in range(3)]
    return [named[f"{which}_proj_weight"] for which in "qkv"]


def _part(tensor: Tensor, index: int, width: int) -> Tensor:
    """One of three parts of equal size, with its spread if it has one."""
    rows = slice(index * width, (index + 1) * width)
    if not isinstance(tensor, Spread):
        return tensor[rows]
    part = make_spread(value_of(tensor)[rows], spread_of(tensor)[rows])
    return as_constant(part) if isinstance(tensor, Constant) else part


def _by_heads(tensor: Spread, heads: int) -> Spread:
    """(places, samples, features) as (samples, heads, places, features of a head)"""
    places, samples, width = value_of(tensor).shape
    parts = (part.reshape(places, samples, heads, width // heads) for part in (value_of(tensor), spread_of(tensor)))
    value, spread = (part.permute(1, 2, 0, 3) for part in parts)
    return make_spread(value, spread)


def spread_mask(mask: Any, heads: int, is_padding: bool) -> Any:
    """To be lined up with (samples, heads, rows, columns)."""
    if mask is None:
        return None
    parts = []
    for part in (value_of(mask), spread_of(mask)) if isinstance(mask, Spread) else (mask,):
        if is_padding:  # (samples, columns)
            parts.append(part[:, None, None, :])
        else:  # (rows, columns) for all, or one for each sample and head
            parts.append(part if part.dim() == 2 else part.unflatten(0, (-1, heads)))
    return make_spread(*parts) if len(parts) == 2 else parts[0]
