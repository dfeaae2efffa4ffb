"""Networks whose matrices are pruned by Algorithm 1, and rounded to multiples of a step (section 4.2)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.papers.guha.masks import draw_mask


@torch.no_grad()
def prune_matrices(
    module: nn.Module, *, scale: float, seed: int, names: Sequence[str], keep_diagonal: bool = True
) -> nn.Module:
    """A copy in which the weights of these layers are pruned; biases stay. One seed gives masks that are nested."""
    made = copy.deepcopy(module)
    for place, name in enumerate(names):
        weight = weight_of(made, name)
        kept = draw_mask(weight, scale=scale, seed=seed, layer=place, keep_diagonal=keep_diagonal)
        weight.mul_(kept)
    return made


@torch.no_grad()
def round_matrices(module: nn.Module, steps: Mapping[str, float]) -> nn.Module:
    """A copy in which the weights of these layers are multiples of their step; a step of 0 leaves them as they are."""
    made = copy.deepcopy(module)
    for name, step in steps.items():
        if step > 0:
            weight = weight_of(made, name)
            weight.copy_((weight.double() / step).round() * step)
    return made


def weight_of(module: nn.Module, name: str) -> Tensor:
    weight = getattr(dict(module.named_modules()).get(name), "weight", None)
    if not isinstance(weight, Tensor):
        raise PactError("has no such layer", where=f"layer {name}", hint="the two networks must have the same layers")
    return weight.detach()
