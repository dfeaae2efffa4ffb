"""From a network with batch norm as it was trained to the same one without: fewer numbers to tell."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from netpact.errors import PactError
from netpact.models.architecture import Architecture
from netpact.models.building import build
from netpact.models.families import FAMILIES
from netpact.models.norms import AS_TRAINED, FOLDED, list_norms


def fold_batch_norm(module: nn.Module) -> nn.Module:
    """The folded form of a network of ours: a new module in evaluation mode; the one given is left as it was.

        weight (conv(x) + bias - mean) / sqrt(variance + eps) + shift = (scale conv)(x) + scale (bias - mean) + shift

    with scale = weight / sqrt(variance + eps). A batch norm that does not directly follow a convolution becomes a
    ChannelAffine layer. In float64, then rounded once to float32: the outputs differ by rounding alone.
    """
    architecture = _check(module)
    folded = build(replace(architecture, sizes=(*architecture.sizes[:-1], FOLDED)), max_parameters=_count(module))
    state = {name: tensor.detach().to("cpu", torch.float64) for name, tensor in module.state_dict().items()}
    for norm, conv in list_norms(architecture.plan()):
        eps = module.get_submodule(norm).eps
        assert isinstance(eps, float)
        scale = state[f"{norm}.weight"] / torch.sqrt(state[f"{norm}.running_var"] + eps)
        shift = state[f"{norm}.bias"] - scale * state[f"{norm}.running_mean"]
        if conv is None:
            state[f"{norm}.weight"], state[f"{norm}.bias"] = scale, shift
        else:
            state[f"{conv}.weight"] = scale.view(-1, 1, 1, 1) * state[f"{conv}.weight"]
            state[f"{conv}.bias"] = shift
    with torch.no_grad():
        for name, parameter in folded.named_parameters():
            parameter.copy_(_rounded(state[name], name))
    return folded


def _check(module: nn.Module) -> Architecture:
    architecture = getattr(module, "netpact_architecture", None)
    if not isinstance(architecture, Architecture) or not architecture.family.normed:
        names = ", ".join(family.name for family in FAMILIES.values() if family.normed)
        raise PactError(f"only networks that build made can be folded: {names}", where=type(module).__name__)
    if architecture.sizes[-1] != AS_TRAINED:
        raise PactError(f"{architecture} is folded already", where="module")
    training = [name for name, part in module.named_modules() if part.training]
    if training:
        raise PactError(
            f"in training mode batch norm depends on the batch: {training[0] or 'the whole module'} is in it",
            where="module",
            hint="call module.eval() first",
        )
    if repr(build(architecture, max_parameters=_count(module))) != repr(module):
        raise PactError(f"the module is no longer what {architecture} builds", where="module")
    return architecture


def _count(module: nn.Module) -> int:
    """The memory is there already: a limit would only be in the way. The folded form never has more parameters."""
    return sum(parameter.numel() for parameter in module.parameters())


def _rounded(tensor: Tensor, name: str) -> Tensor:
    found = tensor.float()
    if not bool(torch.isfinite(found).all()):
        raise PactError("folding gives NaN or infinite weights", where=name, hint="a running variance is not above 0")
    return found
