"""An integer network is exact for every input, or refused: from its tensors and its structure alone."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.layers.whole.account import Account, Counted, counted
from netpact.layers.whole.layers import WholeLayer


@torch.no_grad()
def run_counted(module: nn.Module, x: Tensor) -> Tensor:
    """The logits, in float64; refused is what may pass the limits, or is not exact, for whatever input."""
    logits = module(counted(x.clone(), Account(0, raw=True), what="the input"))
    if not isinstance(logits, Counted) or logits.account.raw:
        raise PactError("the network does not return one tensor of logits computed from its input", where="network")
    return logits.as_subclass(Tensor).double()


def settle_layers(module: nn.Module) -> None:
    """Prove the bounds of every layer from its tensors; every tensor must belong to an integer layer."""
    held = set[int]()
    for name, part in module.named_modules():
        if isinstance(part, WholeLayer):
            held |= {id(tensor) for tensor in part.parameters(recurse=False)}
            try:
                part.settle()
            except PactError as error:
                raise PactError(error.what, where=f"{name}.{error.where}".lstrip("."), hint=error.hint) from error
    tensors = [*module.named_parameters(), *module.named_buffers()]
    if others := [name for name, tensor in tensors if id(tensor) not in held]:
        raise PactError(
            f"{', '.join(others[:5])}: no integer layer holds these",
            where="network",
            hint="supported: Linear, Conv2d, batch norm and ChannelAffine layers",
        )
