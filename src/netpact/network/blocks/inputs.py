"""A batch that a module runs on, where no data is given by what its first layer reads."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import Data, Samples, as_data
from netpact.models import Architecture
from netpact.network.probing import RUN_ERRORS

_SAMPLES = 2
_SIDES = (32, 28, 64, 16, 8, 96, 128, 224, 48, 24, 12)  # of images, in the order in which they are tried
_AXES = {nn.Conv1d: 1, nn.Conv2d: 2, nn.Conv3d: 3}


def sample_inputs(module: nn.Module, data: Data | Samples | object = None) -> Tensor:
    """Two samples, or a batch of inputs as it is; without data, noise of the first shape that the module takes."""
    if isinstance(data, Tensor):
        return data.detach()
    if data is not None:
        samples, _ = next(iter(as_data(data).train.batches(_SAMPLES)))
        return torch.from_numpy(samples)
    random = Seed(0).child("inputs").torch()
    for shape in _shapes(module):
        inputs = torch.rand((_SAMPLES, *shape), generator=random)
        if _runs(module, inputs):
            return inputs
    raise PactError("the shape of its inputs is not known", where=type(module).__name__, hint="give data, as to trace")


def _shapes(module: nn.Module) -> list[tuple[int, ...]]:
    stated = getattr(module, "netpact_architecture", None)
    if isinstance(stated, Architecture):
        return [stated.input_shape]
    for part in module.modules():
        if isinstance(part, nn.Linear):
            return [(part.in_features,)]
        for kind, axes in _AXES.items():
            if isinstance(part, kind):
                return [(part.in_channels, *[side] * axes) for side in _SIDES]
    return []


@torch.no_grad()
def _runs(module: nn.Module, inputs: Tensor) -> bool:
    was = module.training
    try:
        module.eval()(inputs.to(next(module.parameters()).dtype))
    except RUN_ERRORS:
        return False
    finally:
        module.train(was)
    return True
