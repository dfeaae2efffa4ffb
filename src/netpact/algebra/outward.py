"""Norms and sums that are never too small: what float64 arithmetic can lose is added."""

from __future__ import annotations

import math

import torch
from torch import Tensor

_UNIT = 2.0**-52  # twice the unit roundoff: the slack itself is rounded too
_FEW = 64  # roundings of one rule beside those of a long sum
# Squares of numbers below 2^-511 vanish; a vector of them cannot be longer than this, whatever its size.
_VANISHING = 2.0**-480

SQRT2 = math.nextafter(math.sqrt(2.0), math.inf)


def round_up(number: Tensor) -> Tensor:
    """A sum or product of a few numbers >= 0, made so much larger that its roundings are covered."""
    return number * (1 + _FEW * _UNIT)


def round_up_float(number: float) -> float:
    return number * (1 + _FEW * _UNIT)


def norm_up(tensor: Tensor) -> Tensor:
    """The l2 norm of each sample, from above; the first axis counts the samples.

    A sum of n squares has a relative error of at most n u / (1 - n u) in every order (Higham 2002, section 3.1).
    """
    rows = tensor.reshape(len(tensor), -1)
    norm = torch.linalg.vector_norm(rows, dim=1)
    return norm * (1 + (rows.shape[1] + _FEW) * _UNIT) + _VANISHING


def matrix_norms_up(matrices: Tensor) -> Tensor:
    """The operator norm of each matrix, the last two axes, from above: never more than the root of the sum of squares.

        |A|^8 <= |(A^T A)^4|_2 <= |(A^T A)^4|_F        at most n^(1/16) too large, n the lesser side

    A is divided by |A|_F first: then a product of k terms is off by at most k u in this norm.
    """
    tall = matrices if matrices.shape[-2] >= matrices.shape[-1] else matrices.mT
    scale = torch.linalg.vector_norm(tall, dim=(-2, -1), keepdim=True)
    unit = tall / scale.clamp(min=_VANISHING)
    slack = (sum(tall.shape[-2:]) + _FEW) * _UNIT
    gram = unit.mT @ unit
    square = gram @ gram
    fourth = torch.linalg.vector_norm(square @ square, dim=(-2, -1)) + slack
    root = ((fourth.sqrt() + slack).sqrt() + slack).sqrt().clamp(max=1.0)
    return root * scale[..., 0, 0] * (1 + (tall.shape[-2] * tall.shape[-1] + _FEW) * _UNIT) + _VANISHING


def length_up(vector: Tensor) -> float:
    """The l2 norm of all entries of one tensor, from above; exactly 0 for zeros."""
    if not bool(vector.any()):
        return 0.0
    return float(norm_up(vector.reshape(1, -1)))


def margin_needed(output_error: Tensor) -> Tensor:
    """How large a margin must be so that an error of the logits cannot change the prediction.

        |f - g|_2 <= e   implies   |(f_y - f_j) - (g_y - g_j)| <= sqrt(2) e

    Arora et al. 2018, Lemma 10, with the factor that its Definition 1 lacks: a margin is a difference of two logits.
    """
    return round_up(SQRT2 * output_error)
