"""Operations without a slope of their own: what they do to a difference depends on the activations of the sample.

Each bound is for one sample, in the l2 norm. a and b are of the network that is run, e_a and e_b bound how far the
other network's are, and low is the least that a divisor or a root can become there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from netpact.algebra.outward import norm_up, round_up, round_up_float
from netpact.deviations.attention_rules import softmax_slope
from netpact.deviations.deviation import Deviation, LayerTensor, size_of
from netpact.deviations.step import Operand, Step, as_deviation
from netpact.network.nested import tensors_in
from netpact.network.rounding.norm_call import NormCall, read_norm_call
from netpact.network.rounding.norms import NORMS, inverse_root_error, mean_error
from netpact.network.rounding.pointwise import ULPS
from netpact.network.rounding.products import INVERSES, MATRIX_PRODUCTS
from netpact.network.rounding.softmax import exponent_units, seen_sizes
from netpact.network.rounding.tokens import CASTS
from netpact.network.rounding.tolerance import NoRuleError, value_of

SampleRule = Callable[[Step], Tensor]


def _product(step: Step) -> Tensor:
    """|a b - a' b'| <= K_a e_a + K_b e_b + e_a e_b.

    K_a is the largest |b| that an entry of a meets; one that is used in several places meets the norm of those.
    """
    a, b = _two(step)
    shape = value_of(step.result).shape
    total = _met(a, b, shape) * a.bound + _met(b, a, shape) * b.bound + a.bound * b.bound
    return _finished(step, total, roundings=1)


def _met(own: Operand, other: Operand, shape: torch.Size) -> Tensor:
    square = other.size.expand(shape).square()
    axes = [axis for axis in range(1, len(shape)) if own.size.shape[axis] != shape[axis]]
    met = square.sum(dim=axes, keepdim=True) if axes else square
    return round_up(met.flatten(1).amax(dim=1).sqrt())


def _quotient(step: Step) -> Tensor:
    """|a / b - a' / b'| <= (e_a + max |a / b| e_b) / low, each times the root of its number of copies."""
    if step.kwargs.get("rounding_mode") is not None:
        raise NoRuleError("with rounding_mode")
    return _divide(step, *_two(step))


def _divide(step: Step, a: Operand, b: Operand) -> Tensor:
    divisor = value_of(as_deviation(step.args[1]).held) if isinstance(step.args[1], Deviation) else None
    least = b.size if divisor is None else divisor.abs() - as_deviation(step.args[1]).held.spread
    return _over(step, a, b, least)


def _over(step: Step, a: Operand, b: Operand, least: Tensor) -> Tensor:
    shape = value_of(step.result).shape
    low = least.expand(shape).flatten(1).amin(dim=1) - b.bound
    copies = [step.copies(part.size[0].numel()) for part in (a, b)]
    largest = (value_of(step.result).abs() + step.result.spread).flatten(1).amax(dim=1)
    total = (copies[0] * a.bound + largest * copies[1] * b.bound) / low
    fits = low >= 1 / step.walk.other.highest
    return torch.where(fits, _finished(step, total, roundings=3), torch.inf)


def _inverse(step: Step) -> Tensor:
    """number / b: see _quotient."""
    number = step.args[1] if len(step.args) > 1 else 1.0
    b = step.operand(step.args[0])
    x = as_deviation(step.args[0])
    return _over(step, step.operand(number), b, value_of(x.held).abs() - x.held.spread)


def _matrix_product(step: Step) -> Tensor:
    """|A B - A' B'|_F <= c (|A|_F e_B + |B|_F e_A + e_A e_B);   rounding gamma_n c (|A| + e_A) (|B| + e_B)

    c = 1. An einsum may also sum over letters that only one of the tensors has: then c is the root of their values.
    """
    equation = str(step.args[0]) if step.func.__name__ == "einsum" else ""
    given = step.args[1:] if equation else step.args
    if len(given) != 2 or not all(isinstance(entry, Deviation) for entry in given):
        raise NoRuleError("of other than two tensors that come from the input")
    first, second = (as_deviation(entry) for entry in given)
    tensors = [value_of(x.held) for x in (first, second)]
    samples = value_of(step.result).shape[0]
    # With another number of axes, torch lines the samples of one up with something else of the other.
    matched = _keeps_samples(equation) if equation else tensors[0].dim() == tensors[1].dim() > 2
    if not matched or any(len(t) != samples for t in tensors):
        raise NoRuleError("that mixes samples")
    terms = max(1, tensors[0][0].numel() * tensors[1][0].numel()) if equation else tensors[0].shape[-1]
    root = round_up_float(math.sqrt(_lone_values(equation, tensors))) if equation else 1.0
    a, b = size_of(first.held), size_of(second.held)
    total = root * (a * second.bound + b * first.bound + first.bound * second.bound)
    felt = round_up(root * (a + first.bound) * (b + second.bound))
    other = step.walk.other
    bound = round_up(total + other.gamma(terms) * felt + other.underflow(terms) * step.root)
    return other.limit(bound, felt)


def _keeps_samples(equation: str) -> bool:
    """The first letter of both tensors and of the result is the same one."""
    parts = equation.replace(" ", "").replace("->", ",").split(",")
    return len(parts) == 3 and all(part[:1] == parts[0][:1] for part in parts)


def _lone_values(equation: str, tensors: list[Tensor]) -> int:
    """How many values the letters have that one tensor has, and neither the other nor the result."""
    parts = equation.replace(" ", "").replace("->", ",").split(",")
    values = 1
    for own, other, tensor in ((parts[0], parts[1], tensors[0]), (parts[1], parts[0], tensors[1])):
        for letter, size in zip(own, tensor.shape, strict=True):
            values *= 1 if letter in other or letter in parts[2] else size
    return values


def _softmax(step: Step) -> Tensor:
    """slope e, slope = min(1/2, max p exp(sqrt(2) e)): see attention_rules.py.

    Rounding is as if the exponents moved: network/rounding/softmax.py.
    """
    x, axis = _over_axis(step)
    other, terms = step.walk.other, value_of(x.held).shape[axis]
    slack = x.held.spread + x.bound.reshape(-1, *(1,) * (value_of(x.held).dim() - 1))
    felt = round_up(norm_up(seen_sizes(other, value_of(x.held), slack, axis)) + x.bound)
    moved = other.gamma(1) * 2 * felt + other.gamma(exponent_units(terms))
    rest = (other.gamma(terms + 4) + other.underflow(terms + 1)) * step.root
    exponents = round_up(x.bound + moved * step.root)
    slope = softmax_slope((value_of(step.result) + step.result.spread).flatten(1).amax(dim=1), exponents)
    return other.limit(round_up(slope * exponents + rest), felt, gain=2.0)


def _log_softmax(step: Step) -> Tensor:
    """The Jacobian I - 1 p^T has a norm of at most sqrt(n), n the entries of a row: the worst p is at a corner."""
    x, axis = _over_axis(step)
    felt = round_up(size_of(x.held) + x.bound)
    other, terms = step.walk.other, value_of(x.held).shape[axis]
    reach = 4 * felt + math.log(terms) + 1
    noise = (other.gamma(2 * terms + exponent_units(terms)) + other.gamma(8) * reach) * step.root
    return other.limit(round_up(round_up_float(math.sqrt(terms)) * x.bound + noise), felt, gain=4.0, plus=float(terms))


def _over_axis(step: Step) -> tuple[Deviation, int]:
    axis = step.kwargs.get("dim", step.args[1] if len(step.args) > 1 else None)
    x = step.first
    if not isinstance(axis, int) or axis % value_of(x.held).dim() == 0:
        raise NoRuleError("across samples")
    return x, axis


def _steep(slope: Callable[[Tensor, Tensor, Any], Tensor]) -> SampleRule:
    """A function whose slope is at most slope(least, most, argument) where the numbers are within e of the sample's."""

    def rule(step: Step) -> Tensor:
        x = step.first
        values, spread = value_of(x.held).flatten(1), x.held.spread.flatten(1)
        least, most = (values - spread).amin(dim=1) - x.bound, (values.abs() + spread).amax(dim=1) + x.bound
        argument = step.args[1] if len(step.args) > 1 else None
        return _finished(step, slope(least, most, argument) * x.bound, roundings=ULPS + 16)

    return rule


def _power_slope(least: Tensor, most: Tensor, exponent: Any) -> Tensor:
    if isinstance(exponent, (int, float)) and exponent in (0.5, -0.5, -1):
        return abs(exponent) * _positive(least) ** (exponent - 1)
    if not isinstance(exponent, (int, float)) or exponent != int(exponent) or exponent < 1:
        raise NoRuleError(f"to the power {exponent}")
    return exponent * most ** (exponent - 1)


def _positive(least: Tensor) -> Tensor:
    """Infinite slopes where a number may be 0 or less."""
    return torch.where(least > 0, least, 0.0)


def _norm(step: Step) -> Tensor:
    """Layer, group, instance and RMS norm: x -> w c / r + b, with c and r of groups of n entries (rounding/norms.py).

        |c / r - c' / r'| <= e / low,   low = max(min r - e / sqrt(n), sqrt(eps))

    because the derivative (I - c c^T / (n r^2)) / r of c -> c / sqrt(|c|^2 / n + eps) has a norm of at most 1 / r, and
    taking the mean away makes no difference longer. With other weights w^ and b^:

        max |w^| e / low + |(w - w^) c / r| + |b - b^|
    """
    x, other = step.first, step.walk.other
    values = value_of(x.held)
    call = read_norm_call(step.func.__name__, tuple(step.args[1:]), step.kwargs, tuple(values.shape))
    groups, n = call.split(values), call.terms
    centred = groups - groups.mean(-1, keepdim=True) if call.centred else groups
    root = (centred.square().mean(-1) + call.eps).sqrt().reshape(len(values), -1)
    root = root - 2 * x.held.spread.flatten(1).amax(dim=1, keepdim=True)
    low = torch.maximum(root.amin(dim=1) - x.bound / math.sqrt(n), torch.tensor(math.sqrt(call.eps))) * (1 - 1e-9)
    felt = round_up(size_of(x.held) + x.bound)
    within = torch.linalg.vector_norm(groups.abs() + x.held.spread.amax(), dim=-1).reshape(len(values), -1).amax(dim=1)
    theta = inverse_root_error(other, n, (within + x.bound).square() / n, call.eps, low)
    noise = ((1 + theta) * (mean_error(other, n) + 2 * other.gamma(8)) + 2 * theta) * felt
    bound = (x.bound + noise + other.underflow(n + 2) * step.root) / low
    if call.weight is not None or call.bias is not None:
        normed = (centred / (centred.square().mean(-1, keepdim=True) + call.eps).sqrt()).reshape(values.shape).abs()
        sides = (-1, *(1,) * (values.dim() - 1))
        own = 3 * x.held.spread.flatten(1).amax(dim=1) / low
        scaled = _affine(step, call, normed * (1 + 1e-6) + own.reshape(sides) * (1 + normed))
        bound = scaled[0] * bound + scaled[1]
    bound = _finished(step, bound + 2 * other.underflow(1) * felt, roundings=8)
    steep = felt / low * (1 if call.weight is None else scaled[0].clamp(min=1))
    bound = other.limit(bound, steep, gain=8.0)
    return torch.where(torch.isfinite(theta) & (felt.square() * n <= other.highest), bound, torch.inf)


def _affine(step: Step, call: NormCall, normed: Tensor) -> tuple[Tensor, Tensor]:
    """The largest |w^|, and what the weights' own difference adds. normed >= |c / r|"""
    shape = value_of(step.result).shape
    sides = (1, -1, *(1,) * (len(shape) - 2)) if call.groups else (1,) * (len(shape) - call.axes)
    largest, added = torch.ones(1, dtype=torch.float64), torch.zeros(shape[0], dtype=torch.float64)
    for entry, by in ((call.weight, normed), (call.bias, torch.ones_like(normed))):
        if entry is None:
            continue
        if not isinstance(entry, LayerTensor):
            raise NoRuleError("by a tensor that is no parameter")
        one, other = (part.reshape(sides if call.groups else (*sides, *part.shape)) for part in entry.pair())
        added = added + norm_up(((one - other).abs() * by).expand(shape))
        if entry is call.weight:
            largest = other.abs().amax().reshape(1)
    return largest, added


def _same(step: Step) -> Tensor:
    """Integers, and what is computed from them alone, are the same in both networks; real numbers must not differ."""
    found = step.args[:1] if step.func.__name__ in CASTS else (step.args, step.kwargs)
    given = [entry for entry in tensors_in(found) if isinstance(entry, Deviation)]
    if any(bool(entry.bound.any()) for entry in given):
        raise NoRuleError("of numbers that differ")
    return torch.zeros(value_of(step.result).shape[0], dtype=torch.float64)


def _same_shape(step: Step) -> Tensor:
    return torch.zeros(value_of(step.result).shape[0], dtype=torch.float64)


def _rows_of_table(step: Step) -> Tensor:
    """The tokens are the same in both networks: what is left is how far the rows of the two tables are apart."""
    table = step.args[1]
    if not isinstance(table, LayerTensor):
        raise NoRuleError("of a table that is no parameter")
    one, other = table.pair()
    return step.picked(norm_up((one - other).abs()[value_of(step.first.held)]))


def _masked(step: Step) -> Tensor:
    """Entries that are replaced by a number differ by no more than its rounding. sqrt(copies) e for the others."""
    x = step.first
    number = float(step.args[2] if len(step.args) > 2 else step.kwargs["value"])
    rounded = 0.0 if math.isinf(number) else step.walk.other.gamma(1) * abs(number) * step.root
    return step.picked(step.copies(value_of(x.held)[0].numel()) * x.bound + rounded)


def _chosen(step: Step) -> Tensor:
    """Each entry comes from one of the two: e = sqrt(c_1 e_1^2 + c_2 e_2^2), c the copies of an entry."""
    found = [step.operand(entry) for entry in step.args[1:]]
    bounds = [step.copies(entry.size[0].numel()) * entry.bound for entry in found]
    return step.picked(norm_up(torch.stack(bounds, dim=1)))


def _finished(step: Step, total: Tensor, *, roundings: int) -> Tensor:
    """The bound on the difference, and what the other network's rounding of its result adds."""
    other, total = step.walk.other, round_up(total)
    reach = size_of(step.result) + total
    return other.limit(step.picked(round_up(total + other.gamma(roundings) * reach)), reach)


def _two(step: Step) -> tuple[Operand, Operand]:
    if len(step.args) != 2:
        raise NoRuleError("with named tensors")
    return step.operand(step.args[0]), step.operand(step.args[1])


product, quotient, same = _product, _quotient, _same
SAMPLE_RULES: dict[str, SampleRule] = {
    **dict.fromkeys(MATRIX_PRODUCTS.keys() - {"mm", "mv"}, _matrix_product),  # those two have no axis of samples
    **dict.fromkeys(INVERSES, _inverse),
    **dict.fromkeys(NORMS, _norm),
    **dict.fromkeys(CASTS, _same),
    "zeros_like": _same_shape,
    "ones_like": _same_shape,
    "embedding": _rows_of_table,
    **dict.fromkeys(("masked_fill", "masked_fill_"), _masked),
    "where": _chosen,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "exp": _steep(lambda least, most, _: torch.exp(most)),
    "log": _steep(lambda least, most, _: 1 / _positive(least)),
    "sqrt": _steep(lambda least, most, _: 0.5 / _positive(least).sqrt()),
    "rsqrt": _steep(lambda least, most, _: 0.5 / _positive(least) ** 1.5),
    "square": _steep(lambda least, most, _: 2 * most),
    **dict.fromkeys(("pow", "__pow__"), _steep(_power_slope)),
}
