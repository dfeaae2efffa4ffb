"""Weights that training keeps at zero: which ones can be pruned, and how zeros are held."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn

from netpact.core.checks import told
from netpact.core.errors import PactError, wrong_kind

Masks = Mapping[str, torch.Tensor]  # by the parameter's name; True where a weight is kept
_LAYERS = (nn.Linear, nn.modules.conv._ConvNd)


def prunable_weights(module: nn.Module) -> dict[str, nn.Parameter]:
    """The weights of linear and convolution layers that are trained, in the order of the layers; no biases, no norms.

    A tensor that several layers share comes once, under the first of its names.
    """
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    found: dict[str, nn.Parameter] = {}
    for place, part in module.named_modules():
        if not isinstance(part, _LAYERS):
            continue
        weight = part._parameters.get("weight")
        if weight is None:
            raise PactError(
                "the weight is computed from other parameters, and a mask on those would not hold zeros in it",
                where=f"layer {place}",
                hint="remove weight norm and other parametrizations first",
            )
        if weight.requires_grad:
            found[names[id(weight)]] = weight
    if not found:
        raise PactError("no linear or convolution layer has weights to train", where="network")
    return found


def check_masks(module: nn.Module, masks: object) -> dict[str, torch.Tensor]:
    """The masks on the module's device; all that does not fit is listed at once."""
    if not isinstance(masks, Mapping):
        raise wrong_kind(masks, needed="a mapping from names of parameters to tensors", where="masks")
    parameters = dict(module.named_parameters(remove_duplicate=False))
    problems = []
    for name, mask in masks.items():
        if name not in parameters:
            problems.append(f"{told(name)} is no parameter of the network")
        elif not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool:
            kind = mask.dtype if isinstance(mask, torch.Tensor) else type(mask).__name__
            problems.append(f"{name} must be a boolean tensor, got {kind}")
        elif mask.shape != parameters[name].shape:
            problems.append(f"{name} has shape {tuple(mask.shape)}, expected {tuple(parameters[name].shape)}")
    if problems:
        raise PactError("; ".join(problems), where="masks", hint="True where a weight is kept, by the parameter's name")
    return {name: mask.to(parameters[name].device) for name, mask in masks.items()}


def hold_zeros(module: nn.Module, optimizer: torch.optim.Optimizer, masks: Masks) -> None:
    """Zeros where a mask is False: now, and after each step of the optimizer, whatever it adds.

    Momentum and Adam treat every weight by itself: what they remember of a pruned one reaches no other.
    """
    parameters = dict(module.named_parameters(remove_duplicate=False))
    pruned = [(parameters[name], ~mask) for name, mask in masks.items()]

    def put_zeros(*_: object) -> None:
        with torch.no_grad():
            for parameter, zeros in pruned:
                parameter.masked_fill_(zeros, 0.0)

    put_zeros()
    optimizer.register_step_post_hook(put_zeros)
