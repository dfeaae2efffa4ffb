"""Which of several ways to write the factors of a chain is the best."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from netpact.coding.forms import CodedTensor
from netpact.layers import Chain
from netpact.methods.low_rank_fitting import code_length

Coded = dict[str, CodedTensor]


def best_coded(made: Sequence[Coded], shell: Chain, target: Tensor) -> Coded:
    """The one with the least  bits + numbers log2(error),  as a bit more for each number halves the error.

    The error is that of the composed weight against the target, so that what a rank cuts off counts too.

    shell  a chain that the weights fit into
    """
    return min(made, key=lambda coded: _cost(coded, shell, target))


def chain_weights(shell: Chain) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in shell.named_parameters() if tensor.dim() >= 2}


@torch.no_grad()
def _cost(coded: Coded, shell: Chain, target: Tensor) -> float:
    for name, tensor in chain_weights(shell).items():
        tensor.copy_(torch.from_numpy(coded[name].weights()))
    off = float((shell.dense().weight - target.double()).norm())
    numbers = sum(int(np.prod(tensor.shape)) for tensor in coded.values())
    return sum(map(code_length, coded.values())) + numbers * (math.log2(off) if off else -math.inf)
