"""A convolution in Tucker form: 1x1 to few channels, a small convolution, 1x1 to all outputs."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from netpact.algebra import TuckerDecomposition, tucker_decompose
from netpact.core.checks import check_integer, told
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.layers.components import init_uniform
from netpact.layers.conv_chain import PointwiseChain, check_channels, check_conv, check_settings
from netpact.layers.factored import compose_conv


class TuckerConv2d(PointwiseChain):
    """The kernel is core x_1 B x_2 A, with the taps left as they are (Kim et al. 2016), and never built.

    pointwise_in has A', core the kernel of ranks[0] outputs and ranks[1] inputs, pointwise_out B, and the bias.
    """

    core: nn.Conv2d

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, ranks: tuple[int, int], **settings: Any
    ) -> None:
        """ranks: channels behind and before the core, of outputs and of inputs; settings as nn.Conv2d takes them."""
        inputs, outputs, taps = check_channels(in_channels, out_channels, kernel_size)
        wide, narrow = _check_ranks(ranks)
        moves, bias, place = check_settings(settings)
        super().__init__(
            OrderedDict(
                pointwise_in=nn.Conv2d(inputs, narrow, 1, bias=False, **place),
                core=nn.Conv2d(narrow, wide, taps, bias=False, **moves, **place),
                pointwise_out=nn.Conv2d(wide, outputs, 1, bias=bias, **place),
            )
        )
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """The composed kernel and the bias get the variance that torch gives to dense ones, 1 / (3 in kx ky)."""
        wide, narrow = self.ranks
        taps = math.prod(self.kernel_size)
        init_uniform(self.pointwise_in.weight, 1 / self.in_channels, generator)
        init_uniform(self.core.weight, 1 / (narrow * taps), generator)
        init_uniform(self.pointwise_out.weight, 1 / (3 * wide), generator)
        if self.bias is not None:
            init_uniform(self.bias, 1 / (3 * self.in_channels * taps), generator)

    @property
    def ranks(self) -> tuple[int, int]:
        return self.core.out_channels, self.core.in_channels

    @property
    def moved(self) -> nn.Conv2d:
        return self.core

    @classmethod
    def from_dense(cls, layer: nn.Conv2d, rank: tuple[int, int], *, progress: Progress | None = None) -> TuckerConv2d:
        """The Tucker layer nearest to a convolution without groups that higher-order orthogonal iteration finds."""
        made = cls.like(check_conv(layer), rank)
        tensor = layer.weight.detach().flatten(2)
        taps = min(tensor.shape[2], math.prod(made.ranks))  # more could not differ
        made.set_components(tucker_decompose(tensor, (*made.ranks, taps), progress=progress))
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
        return compose_conv(self.core, composed, self.bias)


def _check_ranks(ranks: Any) -> tuple[int, int]:
    if not isinstance(ranks, (tuple, list)) or len(ranks) != 2:
        raise PactError(f"must be two integers, of outputs and of inputs, got {told(ranks)}", where="ranks")
    wide, narrow = (check_integer(rank, where="ranks", least=1) for rank in ranks)
    return wide, narrow
