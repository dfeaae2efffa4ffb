"""A layer with fewer channels: what is left of it once filters were removed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.layers.affine import ChannelAffine
from netpact.layers.factored import resized
from netpact.layers.rewrites.low_rank import can_factor
from netpact.layers.rewrites.rewrite import find_part, refuse_layer, replace_part


@dataclass(frozen=True)
class RemoveChannels:
    """A linear layer, a convolution without groups, batch norm or ChannelAffine keeps so many inputs and outputs.

    Which ones were kept shows in the weights alone; of a layer that works channel by channel both counts are one.
    """

    outputs: int
    inputs: int
    code: ClassVar[int] = 2
    name: ClassVar[str] = "remove-channels"
    since: ClassVar[int] = 2
    least: ClassVar[Mapping[str, int | None]] = MappingProxyType({"outputs": 1, "inputs": 1})

    def apply(self, module: nn.Module, layer: int) -> nn.Module:
        old = find_part(module, layer)
        if can_factor(old):
            assert isinstance(old, (nn.Linear, nn.Conv2d))
            self._refuse_more(outputs=len(old.weight), inputs=old.weight.shape[1])
            new: nn.Module = resized(old, outputs=self.outputs, inputs=self.inputs)
        else:
            new = self._narrow(old)
        return replace_part(module, old, new)

    def _narrow(self, old: nn.Module) -> nn.Module:
        if type(old) not in (nn.BatchNorm1d, nn.BatchNorm2d, ChannelAffine):
            raise refuse_layer(old, "a Linear, a Conv2d without groups, batch norm or ChannelAffine")
        name = "channels" if isinstance(old, ChannelAffine) else "num_features"
        channels = getattr(old, name)
        self._refuse_more(outputs=channels, inputs=channels)
        if self.outputs != self.inputs:
            raise PactError(f"{type(old).__name__} has as many outputs as inputs, got {self.outputs} and {self.inputs}")
        tensors = (*old.parameters(), *old.buffers())
        new = copy.deepcopy(old, {id(tensor): _cut(tensor, self.outputs) for tensor in tensors})
        setattr(new, name, self.outputs)
        return new

    def _refuse_more(self, *, outputs: int, inputs: int) -> None:
        if not (1 <= self.outputs <= outputs and 1 <= self.inputs <= inputs):
            raise PactError(
                f"the layer has {outputs} outputs and {inputs} inputs, {self.outputs} and {self.inputs} were to stay"
            )

    def dense(self, layer: nn.Module) -> nn.Module:
        """An ordinary layer stands there already."""
        return copy.deepcopy(layer).double()


def _cut(tensor: Tensor, channels: int) -> Tensor:
    """The first channels of a batch norm's tensor; one that counts batches has no channels."""
    cut = tensor.detach()[:channels].clone() if tensor.dim() else tensor.detach().clone()
    return nn.Parameter(cut, requires_grad=tensor.requires_grad) if isinstance(tensor, nn.Parameter) else cut
