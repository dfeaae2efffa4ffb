"""Layers of other sizes in the places of old ones: some get other numbers of outputs, the rest take what comes."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.layers import ChannelAffine
from netpact.network.probing import RUN_ERRORS

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_NORMS = (nn.modules.batchnorm._BatchNorm, nn.GroupNorm, ChannelAffine)
_RESIZED = (*_CONVOLUTIONS, nn.Linear, *_NORMS)


@torch.no_grad()
def resize(module: nn.Module, inputs: Tensor, outputs: Mapping[str, int]) -> tuple[nn.Module, frozenset[str]]:
    """A copy whose named layers have so many outputs and whose others take what comes; and which layers changed.

    The layers that changed have weights of 0. A PactError where it does not run with these numbers.
    """
    made = copy.deepcopy(module)
    modes = {part: part.training for part in made.modules()}
    owners = Counter(id(tensor) for part in made.modules() for tensor in part.parameters(recurse=False))
    changed: set[str] = set()

    def fit(name: str, part: Any, given: tuple[Any, ...]) -> None:
        lent = any(owners[id(tensor)] > 1 for tensor in part.parameters(recurse=False))
        if given and isinstance(given[0], Tensor) and _fit(part, given[0], outputs.get(name)):
            if lent:
                raise PactError(f"the weights of {name} are used elsewhere too")
            changed.add(name)

    handles = []
    for name, part in made.named_modules():
        if isinstance(part, _RESIZED):
            handles.append(part.register_forward_pre_hook(lambda part, given, name=name: fit(name, part, given)))
    try:
        with torch.random.fork_rng(devices=[]):
            made.eval()(inputs.clone())
    except RUN_ERRORS as error:
        told = error.what if isinstance(error, PactError) else str(error).splitlines()[0] if str(error) else ""
        raise PactError(f"it does not run with other numbers of channels: {told or type(error).__name__}") from error
    finally:
        for handle in handles:
            handle.remove()
    for part, mode in modes.items():
        part.training = mode
    vars(made).pop("netpact_architecture", None)  # of a network of ours: it is no longer what that builds
    return made, frozenset(changed)


def _fit(part: Any, given: Tensor, outputs: int | None) -> bool:
    """Change one layer's shapes to what it is given, and to the outputs that are asked for."""
    if isinstance(part, nn.Linear):
        part.in_features, part.out_features = given.shape[-1], outputs or part.out_features
        return _reshape(part, part.out_features, part.in_features)
    channels = given.shape[1]
    if isinstance(part, _CONVOLUTIONS):
        return _fit_convolution(part, channels, outputs)
    if isinstance(part, nn.GroupNorm):
        _divide(channels, part.num_groups)
        part.num_channels = channels
    elif isinstance(part, nn.modules.batchnorm._BatchNorm):
        part.num_features = channels
    else:
        part.channels = channels
    return _reshape(part, channels)


def _fit_convolution(part: Any, channels: int, outputs: int | None) -> bool:
    if part.groups == part.in_channels > 1:
        part.out_channels = part.out_channels // part.in_channels * channels
        part.groups = channels
    else:
        part.out_channels = outputs or part.out_channels
        _divide(channels, part.groups)
        _divide(part.out_channels, part.groups)
    part.in_channels = channels
    return _reshape(part, part.out_channels, channels // part.groups)


def _divide(channels: int, groups: int) -> None:
    if channels % groups:
        raise PactError(f"{channels} channels do not divide into {groups} groups")


def _reshape(part: nn.Module, *leading: int) -> bool:
    """Weight, bias and running statistics with these leading sizes."""
    changed = False
    for holder in (part._parameters, part._buffers):
        for name, tensor in holder.items():
            if tensor is None or not tensor.dim():
                continue
            kept = min(tensor.dim(), len(leading))
            shape = (*leading[:kept], *tensor.shape[kept:])
            if tensor.shape == shape:
                continue
            fresh = tensor.new_zeros(shape)
            trained = isinstance(tensor, nn.Parameter)
            holder[name] = nn.Parameter(fresh, requires_grad=tensor.requires_grad) if trained else fresh  # type: ignore[assignment]
            changed = True
    return changed
