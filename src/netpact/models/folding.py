"""From a network with batch norm as it was trained to the same one without: fewer numbers to encode."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.models.architecture import Architecture
from netpact.models.building import build, is_as_built
from netpact.models.families import FAMILIES
from netpact.models.norms import AS_TRAINED, FOLDED, list_norms


@dataclass(frozen=True)
class NormAffine:
    """What a batch norm computes once it is trained: scale_c x + shift_c in channel c. In float64."""

    scale: Tensor
    shift: Tensor

    @classmethod
    def of(cls, norm: nn.Module, *, where: str) -> NormAffine:
        """weight (x - mean) / sqrt(variance + eps) + bias = scale x + shift

        with scale = weight / sqrt(variance + eps); without parameters of its own, weight is 1 and bias 0.
        """
        if not isinstance(norm, (nn.BatchNorm1d, nn.BatchNorm2d)):
            raise PactError(f"BatchNorm1d or BatchNorm2d is needed, got {type(norm).__name__}", where=where)
        if norm.running_mean is None or norm.running_var is None:
            raise PactError(
                "batch norm without running statistics depends on the batch",
                where=where,
                hint="make it with track_running_stats=True and train it",
            )
        mean, variance = _wide(norm.running_mean), _wide(norm.running_var)
        if bool((variance < 0).any()):
            raise PactError(
                "batch norm with a negative running variance",
                where=where,
                hint="its sum with eps cancels, and rounding decides what is left: train it again",
            )
        weight = torch.ones_like(mean) if norm.weight is None else _wide(norm.weight)
        bias = torch.zeros_like(mean) if norm.bias is None else _wide(norm.bias)
        scale = weight / torch.sqrt(variance + norm.eps)
        return cls(scale, bias - scale * mean)

    def after(self, layer: nn.Module) -> tuple[Tensor, Tensor]:
        """Weight and bias of one layer that computes a linear or convolution layer, then this; in float64.

        scale (W x + b) + shift = (scale W) x + (scale b + shift)
        """
        weight, bias = layer.weight, layer.bias
        assert isinstance(weight, Tensor)
        scaled = self.scale.view(-1, *(1,) * (weight.dim() - 1)) * _wide(weight)
        return scaled, self.shift if bias is None else self.scale * _wide(bias) + self.shift  # type: ignore[arg-type]


def fold_family(module: nn.Module) -> nn.Module:
    """The folded form of a network that build made: a new one that build can make; the one given stays as it was.

    A batch norm that does not directly follow a convolution becomes a ChannelAffine layer. In float64, then rounded
    once to float32: the outputs differ by rounding alone.
    """
    architecture = _check(module)
    folded = build(replace(architecture, sizes=(*architecture.sizes[:-1], FOLDED)), max_parameters=_count(module))
    state = {name: _wide(tensor) for name, tensor in module.state_dict().items()}
    for norm, conv in list_norms(architecture.plan()):
        affine = NormAffine.of(module.get_submodule(norm), where=norm)
        pair = (affine.scale, affine.shift) if conv is None else affine.after(module.get_submodule(conv))
        state[f"{conv or norm}.weight"], state[f"{conv or norm}.bias"] = pair
    with torch.no_grad():
        for name, parameter in folded.named_parameters():
            parameter.copy_(round_once(state[name], where=name))
    return folded


def is_foldable_family(module: nn.Module) -> bool:
    """Whether build made this network, with batch norm as it is trained, and it is still what build makes."""
    architecture = getattr(module, "netpact_architecture", None)
    if not isinstance(architecture, Architecture) or not architecture.family.normed:
        return False
    return architecture.sizes[-1] == AS_TRAINED and is_as_built(module, architecture)


def _check(module: nn.Module) -> Architecture:
    architecture = getattr(module, "netpact_architecture", None)
    own = "give data as the second argument: any module can be folded then"
    if not isinstance(architecture, Architecture) or not architecture.family.normed:
        names = ", ".join(family.name for family in FAMILIES.values() if family.normed)
        raise PactError(
            f"without data only networks that build made can be folded: {names}", where=type(module).__name__, hint=own
        )
    if architecture.sizes[-1] != AS_TRAINED:
        raise PactError(f"{architecture} is folded already", where="module")
    training = [name for name, part in module.named_modules() if part.training]
    if training:
        raise PactError(
            f"in training mode batch norm depends on the batch: {training[0] or 'the whole module'} is in it",
            where="module",
            hint="call module.eval() first",
        )
    if not is_as_built(module, architecture):
        raise PactError(f"the module is no longer what {architecture} builds", where="module", hint=own)
    return architecture


def _count(module: nn.Module) -> int:
    """The memory is there already: a limit would serve nothing. The folded form never has more parameters."""
    return sum(parameter.numel() for parameter in module.parameters())


def _wide(tensor: Tensor) -> Tensor:
    return tensor.detach().to("cpu", torch.float64)


def round_once(tensor: Tensor, *, where: str) -> Tensor:
    """To float32, where numbers are left to round."""
    found = tensor.float()
    if not bool(torch.isfinite(found).all()):
        raise PactError("folding gives NaN or infinite weights", where=where, hint="a running variance is not above 0")
    return found
