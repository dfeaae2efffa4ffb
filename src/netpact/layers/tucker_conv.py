"""A convolution in Tucker form: 1x1 to few channels, a small convolution, 1x1 to all outputs."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from netpact.algebra import TuckerDecomposition, tucker_decompose
from netpact.core.errors import PactError
from netpact.layers.factored import Chain, compose_conv, conv_settings


class TuckerConv2d(Chain):
    """The kernel is core x_1 B x_2 A, with the taps left as they are (Kim et al. 2016), and never built.

    pointwise_in has A', core the kernel of ranks[0] outputs and ranks[1] inputs, pointwise_out B, and the bias.
    """

    pointwise_in: nn.Conv2d
    core: nn.Conv2d
    pointwise_out: nn.Conv2d

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        ranks: tuple[int, int],
        **settings: Any,
    ) -> None:
        """ranks: channels behind and before the core, of outputs and of inputs; settings as nn.Conv2d takes them."""
        bias = settings.pop("bias", True)
        where = {name: settings.pop(name) for name in ("device", "dtype") if name in settings}
        wide, narrow = ranks
        super().__init__(
            OrderedDict(
                pointwise_in=nn.Conv2d(in_channels, narrow, 1, bias=False, **where),
                core=nn.Conv2d(narrow, wide, kernel_size, bias=False, **settings, **where),
                pointwise_out=nn.Conv2d(wide, out_channels, 1, bias=bias, **where),
            )
        )

    @property
    def ranks(self) -> tuple[int, int]:
        return self.core.out_channels, self.core.in_channels

    @classmethod
    def from_dense(cls, layer: nn.Conv2d, rank: tuple[int, int]) -> TuckerConv2d:
        """The Tucker layer nearest to a convolution without groups that higher-order orthogonal iteration finds."""
        if type(layer) is not nn.Conv2d or layer.groups != 1:
            raise PactError(f"needs an nn.Conv2d without groups, got {layer}", where="layer")
        found = tucker_decompose(layer.weight.detach().flatten(2), (*rank, layer.weight[0, 0].numel()))
        made = cls.like(layer, rank)
        made.set_components(found)
        return made

    @classmethod
    def like(cls, layer: nn.Conv2d, ranks: tuple[int, int]) -> TuckerConv2d:
        """With the settings and the bias of a convolution; the factors are not set."""
        settings = conv_settings(layer) | {"bias": layer.bias is not None, "dtype": layer.weight.dtype}
        made = cls(layer.in_channels, layer.out_channels, layer.kernel_size, ranks, **settings, device="meta")
        made = made.to_empty(device=layer.weight.device).train(layer.training)
        if layer.bias is not None:
            assert made.pointwise_out.bias is not None
            made.pointwise_out.bias.data.copy_(layer.bias.detach())
        return made

    @torch.no_grad()
    def set_components(self, found: TuckerDecomposition) -> None:
        """The factors of a kernel (out, in, taps); the matrix of the taps goes into the core."""
        outputs, inputs, taps = found.factors
        self.pointwise_in.weight.copy_(inputs.T.reshape(self.pointwise_in.weight.shape))
        self.core.weight.copy_((found.core @ taps.T).reshape(self.core.weight.shape))
        self.pointwise_out.weight.copy_(outputs.reshape(self.pointwise_out.weight.shape))

    def spectrum(self) -> Tensor:
        """The singular values of the core's unfolding by outputs, largest first."""
        return torch.linalg.svdvals(self.core.weight.detach().double().flatten(1))

    @torch.no_grad()
    def dense(self) -> nn.Conv2d:
        parts = (self.pointwise_in, self.core, self.pointwise_out)
        narrow, core, wide = (part.weight.detach().double() for part in parts)
        composed = torch.einsum("ow,wnk,ni->oik", wide.flatten(1), core.flatten(2), narrow.flatten(1))
        return compose_conv(self.core, composed, self.pointwise_out.bias)
