"""Algorithm 1 on the matrices of a network: which entries are kept."""

from __future__ import annotations

import torch
from torch import Tensor

from netpact.algebra.pruning import random_mask
from netpact.algebra.stream import Stream

_PURPOSE = "random-prune"  # the masks are those of netpact.RandomPrune with the same seed


def draw_mask(weight: Tensor, *, scale: float, seed: int, layer: int, keep_diagonal: bool = True) -> Tensor:
    """True where an entry w stays: it is pruned with probability exp(-w^2 / (scale Psi)), and always where it is 0.

    With one seed, what a larger scale keeps is a part of what a smaller one keeps. layer: its place among those that
    are pruned, from 0.
    """
    values = weight.detach().cpu().numpy()
    stream = Stream(seed, _PURPOSE, layer)
    return torch.from_numpy(random_mask(values, scale=scale, stream=stream, keep_diagonal=keep_diagonal))
