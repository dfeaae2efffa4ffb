"""How large the inputs of layers are: what an error in one of their weights does to the outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.core.seed import Seed
from netpact.datasets.drawing import draw_samples

if TYPE_CHECKING:
    from netpact.datasets import Samples

_MOST_SAMPLES = 1 << 11
_BATCH = 256


@torch.no_grad()
def input_moments(module: nn.Module, samples: Samples, *, most: int = _MOST_SAMPLES) -> dict[str, NDArray[np.float64]]:
    """For each weight of a linear or convolution layer the mean square of what it is multiplied by, by its name.

    Over at most so many samples, drawn without return. The mean squared change of an output is the sum over its weights
    of moment * change^2 where inputs are uncorrelated. Of a convolution all taps of a channel have one moment. The
    arrays broadcast to the weights' shapes.
    """
    names = {id(tensor): name for name, tensor in module.named_parameters()}
    sums: dict[str, Tensor] = {}
    runs: dict[str, int] = {}

    def note(part: nn.Linear | nn.Conv2d, given: Tensor) -> None:
        name = names.get(id(part.weight))
        if name is not None:  # a weight that is computed from others has no name
            sums[name] = sums.get(name, torch.zeros(())) + _moments(part, given.double())
            runs[name] = runs.get(name, 0) + 1

    handles = [
        part.register_forward_pre_hook(lambda part, given: note(part, given[0]))
        for part in module.modules()
        if isinstance(part, (nn.Linear, nn.Conv2d))
    ]
    try:
        for inputs, _ in draw_samples(samples, most, Seed(0).child("input moments")).batches(_BATCH):
            module(torch.from_numpy(inputs))
    finally:
        for handle in handles:
            handle.remove()
    return {name: (total / runs[name]).numpy() for name, total in sums.items()}


def _moments(part: nn.Linear | nn.Conv2d, given: Tensor) -> Tensor:
    squares = given.square()
    if isinstance(part, nn.Linear):
        return squares.reshape(-1, part.in_features).mean(dim=0)[None]
    channels = squares.reshape(-1, *squares.shape[-3:]).mean(dim=(0, 2, 3))
    # Each group of outputs reads channels of its own.
    return channels.reshape(part.groups, -1).repeat_interleave(part.out_channels // part.groups, dim=0)[..., None, None]
