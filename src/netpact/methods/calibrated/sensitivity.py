"""How much the logits change with each output of a layer: which errors matter."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.core.seed import Seed
from netpact.methods.whole_numbers.watching import channel_axis, hooked

Array = NDArray[np.float64]
_BATCH = 32
_MOST = 512  # inputs


def output_sensitivities(
    module: nn.Module, layers: Mapping[str, nn.Linear | nn.Conv2d], inputs: Tensor
) -> dict[str, Array]:
    """Of each layer, for each output channel: what a change of mean square 1 at one place of it adds to the logits.

    In the mean square over inputs, as a share of the logits' variance; changes at different places are taken to be
    unrelated, so they add. The logits' common shift does not count. Along random signs v,  E (v . df)^2 = |df|^2.
    """
    found = {name: torch.zeros(len(layer.weight), dtype=torch.float64) for name, layer in layers.items()}
    outputs: list[tuple[str, nn.Module, Tensor]] = []
    generator = Seed(0).child("output sensitivities").torch()
    spread = 0.0

    def note(name: str, layer: nn.Module, given: Tensor, result: Tensor) -> Tensor:
        # Nothing else need be trainable: neither weights nor inputs, which may be whole numbers.
        result = result if result.requires_grad else result.detach().requires_grad_()
        outputs.append((name, layer, result))
        return result

    with torch.enable_grad(), hooked(layers, note):
        for part in inputs[:_MOST].split(_BATCH):
            outputs.clear()
            logits = module(part.clone())
            centred = logits - logits.mean(dim=1, keepdim=True)
            signs = torch.randint(0, 2, logits.shape, generator=generator).to(logits.dtype) * 2 - 1
            slopes = torch.autograd.grad(
                (signs * centred).sum(), [result for _, _, result in outputs], allow_unused=True
            )
            for (name, layer, result), slope in zip(outputs, slopes, strict=True):
                if slope is not None:
                    channel = channel_axis(layer) % result.dim()
                    axes = [axis for axis in range(result.dim()) if axis != channel]
                    found[name] += slope.double().square().sum(dim=axes)
            spread += float(centred.detach().double().square().sum())
    return {name: (total / (spread or 1.0)).numpy() for name, total in found.items()}
