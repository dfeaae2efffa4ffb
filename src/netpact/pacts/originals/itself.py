"""Is the network in a file a helper network itself, unchanged? Then it was fixed before the certified samples."""

from __future__ import annotations

import torch
from torch import Tensor

from netpact.models.tensors import tensors_of
from netpact.pacts.priors import Subject, helper_module
from netpact.training import Recipe


def is_helper_itself(subject: Subject, recipe: Recipe) -> bool:
    """Whether the file has the architecture of the recipe, without a rewrite, and exactly the helper's numbers.

    A module of the user's is never the helper: other code may compute something else with the same numbers. The helper
    in float32 and the file in float64 are one function if they hold the same real numbers. Where the helper's file has
    numbers that float32 rounds, the rounded ones count: they are what its recipe's network holds.
    """
    base, header = subject.base, subject.header
    if base is None or header.rewrites:
        return False
    helper = helper_module(base, recipe, subject.data, max_parameters=subject.max_parameters)
    if helper.netpact_architecture != header.architecture:
        return False
    own, others = tensors_of(subject.module), tensors_of(helper)
    return own.keys() == others.keys() and all(_same_numbers(own[name], others[name]) for name in own)


def _same_numbers(own: Tensor, other: Tensor) -> bool:
    """Bit for bit in float64, where the sum that decodes a weight has made +0 of -0: its sign could say something."""
    if own.shape != other.shape or own.is_floating_point() != other.is_floating_point():
        return False
    if not own.is_floating_point():
        return torch.equal(own, other)
    return torch.equal(own.double().view(torch.int64), (other.double() + 0.0).view(torch.int64))
