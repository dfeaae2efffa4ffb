"""Attention: what it does to the difference of two networks, sample by sample.

    S = scale Q K^T + masks,   P = softmax(S) along the keys,   O = P V

For one sample, all heads together, with e_Q, e_K, e_V for the differences of Q, K, V and the operator norms |Q|, |K|,
|V| of the network that is run, each the largest of the heads:

    e_S = scale (|K| e_Q + |Q| e_K + e_Q e_K) + e_masks
    e_P = min(slope e_S, sqrt(2 rows)),   slope = min(1/2, max P exp(sqrt(2) e_S))
    e_O = |V| e_P + min(|P| + e_P, sqrt(rows)) e_V

slope: the softmax of one row has the derivative diag(p) - p p^T, whose norm is at most 1/2 and at most max p; within e
no p_i grows by more than exp(sqrt(2) e). Two rows of probabilities are at most sqrt(2) apart. A row of the derivative
adds up to 0, and so does a row of a difference of probabilities: so K and V count without their mean over the keys, and
without keys that no row sees. |P|^2 is at most the largest sum of a column, as rows add up to 1 (Schur's test).

The other network's rounding is that of network/rounding/attention.py: it moves the scores, and the probabilities and
sums by relative errors.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from netpact.algebra.outward import SQRT2, matrix_norms_up, norm_up, round_up, round_up_float
from netpact.deviations.deviation import Deviation, LayerTensor, Walk, make_deviation, size_of
from netpact.deviations.layer_bounds import compare
from netpact.deviations.layer_rule import follow_layer
from netpact.deviations.step import Placed, Step, as_deviation
from netpact.network.rounding.attention import SCORE_ROUNDINGS, Masks, as_mask, attend, score_rule, spread_mask
from netpact.network.rounding.softmax import exponent_units
from netpact.network.rounding.tolerance import NoRuleError, Spread, make_spread, spread_of, value_of


@dataclass(frozen=True)
class _Mask:
    """As the rounding rules take it, (hidden, added), and how far the other network's is from it, by sample."""

    parts: tuple[Tensor, Spread | None]
    bound: Tensor


@dataclass(frozen=True)
class _Attended:
    """The result of the network that is run, and how far the other network's result and probabilities are from it."""

    held: Spread
    bound: Tensor
    probabilities: Tensor


def softmax_slope(largest: Tensor, bound: Tensor) -> Tensor:
    """Of a softmax whose probabilities are at most `largest`, wherever its input moves by at most `bound`."""
    return round_up(torch.minimum(largest * torch.exp(SQRT2 * bound), torch.tensor(0.5)))


def _attend(
    walk: Walk, given: Sequence[Deviation], told: Sequence[_Mask], scale: float | None, *, safe: bool
) -> _Attended:
    """Tensors come as (samples, heads..., places, features)."""
    query, key, value = given
    shapes = [value_of(entry.held).shape for entry in given]
    if any(shape[:-2] != shapes[0][:-2] for shape in shapes) or len(shapes[0]) < 3:
        raise NoRuleError("with shared heads, or across samples")
    own, other, samples = walk.own, walk.other, shapes[0][0]
    masks: Masks = [mask.parts for mask in told]
    factor = 1 / math.sqrt(shapes[0][-1]) if scale is None else abs(float(scale))
    rows, keys, features = math.prod(shapes[0][1:-1]), shapes[1][-2], shapes[0][-1]
    scores, spread = score_rule(own, query.held, key.held, masks, scale)
    probabilities, result = attend(own, [entry.held for entry in given], masks, scale, safe=safe)
    hidden = torch.isneginf(scores)
    seen = ~hidden.all(dim=-2)  # by at least one row

    # What the scores move by: the difference of the networks, and the other one's rounding
    a, b = size_of(query.held), _size(key.held, seen)
    norms = [_norm(query.held), _norm(key.held, seen)]
    moved = factor * (norms[1] * query.bound + norms[0] * key.bound + query.bound * key.bound)
    moved = moved + sum(mask.bound for mask in told)
    felt = factor * (a + query.bound) * (b + key.bound)
    for _, added in masks:
        if added is not None:
            shown = value_of(added).abs() + spread_of(added)
            felt = felt + norm_up(shown.expand(scores.shape))
    felt = felt + moved
    root = round_up_float(math.sqrt(rows * keys))
    most = max(1.0, factor)
    lost = other.underflow(features + 1) * most * root * (1 + math.sqrt(features) * (a + b + query.bound + key.bound))
    noise = other.gamma(features + SCORE_ROUNDINGS) * felt + lost
    highest = _largest(torch.where(hidden, 0.0, scores.abs() + spread)) + moved + noise
    exponents = other.gamma(1) * 2 * highest + other.gamma(exponent_units(keys))
    moved = round_up(moved + noise + exponents * root)

    # Probabilities, in real numbers of those scores; and with their own rounding
    likeliest = _largest(value_of(probabilities) + probabilities.spread)
    apart = torch.minimum(softmax_slope(likeliest, moved) * moved, torch.tensor(round_up_float(math.sqrt(2 * rows))))
    apart = round_up(apart)
    relative = other.gamma(keys + 4) * round_up_float(math.sqrt(rows)) + other.underflow(keys + 1) * root
    columns = _largest((value_of(probabilities) + probabilities.spread).sum(dim=-2)).sqrt()
    across = torch.minimum(round_up(columns) + apart, torch.tensor(round_up_float(math.sqrt(shapes[0][-2]))))

    # Results
    size = _size(value.held, seen) + value.bound
    width = round_up_float(math.sqrt(rows * shapes[2][-1]))
    total = _norm(value.held, seen) * apart + across * value.bound
    rounded = (relative + other.gamma(keys) * round_up_float(math.sqrt(rows))) * 2 * size + other.underflow(
        keys
    ) * width
    bound = other.limit(round_up(total + rounded), size_of(value.held) + value.bound, gain=float(keys))
    wide, tall = a + query.bound, size_of(key.held) + key.bound
    bound = other.limit(bound, wide * tall + wide + tall + felt, gain=2 * most)
    blind = hidden.all(dim=-1).reshape(samples, -1).any(dim=1)  # nothing to be seen: 0, or no number at all
    return _Attended(result, torch.where(blind, torch.inf, bound), round_up(apart + relative))


def _size(held: Spread, seen: Tensor) -> Tensor:
    """The norm of a sample's keys or values that are seen."""
    return norm_up(torch.where(seen[..., None], value_of(held).abs() + held.spread, 0.0))


def _largest(numbers: Tensor) -> Tensor:
    return numbers.flatten(1).amax(dim=1)


def _norm(held: Spread, seen: Tensor | None = None) -> Tensor:
    """The largest operator norm of a sample's matrices; of the keys that are seen, without their mean."""
    values, spread = value_of(held), held.spread
    if seen is not None:
        here = seen[..., None].expand(values.shape)
        mean = torch.where(here, values, 0.0).sum(-2, keepdim=True) / here.sum(-2, keepdim=True).clamp(min=1)
        values = torch.where(here, values - mean, 0.0)
        # The mean that is taken away may be any: its rounding and its spread are no matter. The difference is rounded.
        spread = torch.where(here, spread + 2.0**-52 * (value_of(held).abs() + mean.abs()), 0.0)
    matrices = matrix_norms_up(values).reshape(len(values), -1).amax(dim=1)
    return round_up(matrices + norm_up(spread))


def scaled_attention(step: Step) -> Tensor:
    """torch's scaled_dot_product_attention."""
    call = _arguments(functional.scaled_dot_product_attention, step, _SCALED)
    given = [as_deviation(call[name]) for name in ("query", "key", "value")]
    shape = tuple(value_of(step.result).shape[:-1])
    scores = (*shape, value_of(given[1].held).shape[-2])
    masks = [] if call["attn_mask"] is None else [_read_mask(call["attn_mask"], scores, lambda part: part, shown=True)]
    if call["is_causal"]:
        hidden = ~torch.ones(scores[-2:], dtype=torch.bool).tril()
        masks.append(_Mask((hidden, None), torch.zeros(scores[0], dtype=torch.float64)))
    return _attend(step.walk, given, masks, call["scale"], safe=True).bound


_SCALED = {"attn_mask": None, "dropout_p": 0.0, "is_causal": False, "scale": None, "enable_gqa": False}


def _arguments(function: Callable[..., Any], step: Step, defaults: dict[str, Any] | None = None) -> dict[str, Any]:
    """By name. torch's own function in C++ does not say what its arguments are called."""
    if defaults is not None:
        names = ("query", "key", "value", *defaults)
        return defaults | dict(zip(names, step.args, strict=False)) | step.kwargs
    call = inspect.signature(function).bind(*step.args, **step.kwargs)
    call.apply_defaults()
    return call.arguments


def _read_mask(
    mask: Any, scores: tuple[int, ...], line_up: Callable[[Any], Any], *, shown: bool, by_sample: bool = True
) -> _Mask:
    """A mask, or numbers that are added to the scores: of the program, of the sample, or a parameter.

    line_up    gives it the axes of the scores
    by_sample  whether its first axis counts the samples, where it comes from the input
    """
    bound = torch.zeros(scores[0], dtype=torch.float64)
    if isinstance(mask, Deviation):
        if mask.axis or not by_sample or mask.shape[0] != scores[0]:
            raise NoRuleError("with a mask across samples")
        # What is -inf here is so in the other network: any other number would be infinitely far away.
        copies = math.prod(scores[1:]) / max(1, value_of(mask.held)[0].numel())
        bound = round_up_float(math.sqrt(copies)) * mask.bound
        mask = mask.held
        if len(line_up(value_of(mask)).shape) != len(scores):
            raise NoRuleError("with a mask across samples")
    elif isinstance(mask, LayerTensor):
        one, other = mask.pair()
        apart = torch.where(one == other.to(one.dtype), 0.0, (one.double() - other).abs())
        bound = norm_up(line_up(apart).expand(scores))
        mask = one
    hidden, added = (line_up(part) for part in as_mask(mask, shown=shown))
    return _Mask((hidden, added), bound)


def multi_head(step: Step) -> list[Placed]:
    """torch's multi_head_attention_forward: three linear layers, attention head by head, a linear layer.

    Tensors come as (places, samples, features).
    """
    call = _arguments(functional.multi_head_attention_forward, step)
    heads, width, walk = call["num_heads"], call["embed_dim_to_check"], step.walk
    given = [_samples_first(call[name]) for name in ("query", "key", "value")]
    weights, biases = _input_weights(call, width)
    split = [
        _by_heads(_linear(walk, entry, weight, bias), heads)
        for entry, weight, bias in zip(given, weights, biases, strict=True)
    ]
    samples, rows, keys = len(split[0].bound), *(value_of(entry.held).shape[-2] for entry in split[:2])
    masks = [
        _read_mask(
            call[name],
            (samples, heads, rows, keys),
            partial(spread_mask, heads=heads, is_padding=is_padding),
            shown=False,
            by_sample=is_padding,
        )
        for name, is_padding in (("key_padding_mask", True), ("attn_mask", False))
        if call[name] is not None
    ]
    found = _attend(walk, split, masks, None, safe=not call["need_weights"])
    joined = _each(found.held, lambda part: part.permute(0, 2, 1, 3).flatten(2))
    out = _linear(walk, make_deviation(joined, found.bound, walk), (call["out_proj_weight"],), (call["out_proj_bias"],))
    seen = found.probabilities
    if call["average_attn_weights"]:  # of the heads; rows of probabilities are at most 1 long, up to rounding
        rounded = walk.other.gamma(heads + 1) * 2 * round_up_float(math.sqrt(rows * heads))
        seen = round_up(round_up_float(1 / math.sqrt(heads)) * seen + rounded)
    return [Placed(out.bound, 1), Placed(seen, 0)]


def _samples_first(entry: Any) -> Deviation:
    x = as_deviation(entry)
    shape = value_of(x.held).shape
    if len(shape) != 3 or (x.axis != 1 and shape[:2] != (1, 1)):
        raise NoRuleError("where the second axis does not count the samples")
    return make_deviation(_each(x.held, lambda part: part.transpose(0, 1)), x.bound, x.walk)


def _by_heads(x: Deviation, heads: int) -> Deviation:
    """(samples, places, features) as (samples, heads, places, features of a head)"""
    held = _each(x.held, lambda part: part.unflatten(2, (heads, -1)).permute(0, 2, 1, 3))
    return make_deviation(held, x.bound, x.walk)


def _each(held: Spread, move: Callable[[Tensor], Tensor]) -> Spread:
    """Values and spread in other places."""
    return make_spread(move(value_of(held)), move(held.spread))


_Part = tuple[Any, ...]  # a parameter, and which of three equal parts


def _input_weights(call: dict[str, Any], width: int) -> tuple[list[_Part], list[_Part]]:
    biases = [(None,) if call["in_proj_bias"] is None else (call["in_proj_bias"], place, width) for place in range(3)]
    if call["use_separate_proj_weight"]:
        return [(call[f"{which}_proj_weight"],) for which in "qkv"], biases
    return [(call["in_proj_weight"], place, width) for place in range(3)], biases


def _linear(walk: Walk, x: Deviation, weight: _Part, bias: _Part) -> Deviation:
    """A linear layer of the two parameters, which is compared with the other network's once."""
    known = (*(id(part[0]) for part in (weight, bias)), weight[1:])
    if known not in walk.layers:
        pair = [_make_linear(_pick(weight, which), _pick(bias, which)) for which in (0, 1)]
        # The parameters are kept with it: an id is only theirs while they are there.
        walk.layers[known] = (pair[0], compare(run=pair[0], other=pair[1]), weight, bias)
    layer, bounds, *_ = walk.layers[known]
    found = follow_layer("attention", layer, bounds, x)
    assert isinstance(found, Deviation)
    return found


def _pick(part: _Part, which: int) -> Tensor | None:
    tensor = part[0]
    if tensor is None:
        return None
    if not isinstance(tensor, LayerTensor):
        raise NoRuleError("by a tensor that is no parameter")
    found = tensor.pair()[which].double()
    return found if len(part) == 1 else found[part[1] * part[2] : (part[1] + 1) * part[2]]


def _make_linear(weight: Tensor | None, bias: Tensor | None) -> nn.Linear:
    if weight is None:
        raise NoRuleError("without weights")
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, dtype=torch.float64, device="meta")
    layer.weight = nn.Parameter(weight.clone(), requires_grad=False)
    if bias is not None:
        layer.bias = nn.Parameter(bias.clone(), requires_grad=False)
    return layer.eval()


ATTENTION_RULES: dict[str, Callable[[Step], Any]] = {
    "scaled_dot_product_attention": scaled_attention,
    "multi_head_attention_forward": multi_head,
}
