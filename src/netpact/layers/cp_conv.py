"""A convolution in CP form: 1x1 to R channels, one kernel for each of them, 1x1 to all outputs."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from netpact.algebra import ALSOptions
from netpact.core.checks import check_integer
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.layers.components import CPChain, init_uniform
from netpact.layers.conv_chain import PointwiseChain, check_channels, check_conv, check_settings, kernel_gains
from netpact.layers.factored import compose_conv

_SEED = Seed(0)


class CPConv2d(CPChain, PointwiseChain):
    """The kernel is M = sum_r lambda_r b_r (x) a_r (x) C_r (Li et al. 2020, definition C.1), and never built.

    pointwise_in has the rows a_r, depthwise the kernels C_r, pointwise_out the columns b_r, and the bias. lambda_r is
    the product of their norms: R (in + out + kx ky) numbers, where the paper writes lambda apart and counts R more.
    """

    depthwise: nn.Conv2d

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, rank: int, **settings: Any) -> None:
        """settings: stride, padding, dilation, padding_mode, bias, device and dtype, as nn.Conv2d takes them."""
        inputs, outputs, taps = check_channels(in_channels, out_channels, kernel_size)
        check_integer(rank, where="rank", least=1)
        moves, bias, place = check_settings(settings)
        super().__init__(
            OrderedDict(
                pointwise_in=nn.Conv2d(inputs, rank, 1, bias=False, **place),
                depthwise=nn.Conv2d(rank, rank, taps, groups=rank, bias=False, **moves, **place),
                pointwise_out=nn.Conv2d(rank, outputs, 1, bias=bias, **place),
            )
        )
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """The composed kernel and the bias get the variance that torch gives to dense ones, 1 / (3 in kx ky)."""
        taps = math.prod(self.kernel_size)
        init_uniform(self.pointwise_in.weight, 1 / self.in_channels, generator)
        init_uniform(self.depthwise.weight, 1 / taps, generator)
        init_uniform(self.pointwise_out.weight, 1 / (3 * self.rank), generator)
        if self.bias is not None:
            init_uniform(self.bias, 1 / (3 * self.in_channels * taps), generator)

    @property
    def rank(self) -> int:
        return self.depthwise.out_channels

    @property
    def modes(self) -> tuple[int, ...]:
        return self.out_channels, self.in_channels, math.prod(self.kernel_size)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.out_channels, self.in_channels, *self.kernel_size

    @property
    def moved(self) -> nn.Conv2d:
        return self.depthwise

    @classmethod
    def from_dense(
        cls,
        layer: nn.Conv2d,
        rank: int,
        *,
        options: ALSOptions | None = None,
        seed: Seed = _SEED,
        progress: Progress | None = None,
    ) -> CPConv2d:
        """The CP layer nearest to a convolution without groups that alternating least squares finds.

        options: default_options()
        """
        made = cls.like(check_conv(layer), rank)
        made.fit(layer.weight, options=options, seed=seed, progress=progress)
        return made

    def _parts(self) -> tuple[nn.Conv2d, ...]:
        return self.pointwise_out, self.pointwise_in, self.depthwise

    def _last(self) -> nn.Conv2d:
        return self.pointwise_out

    def _of_rank(self, rank: int) -> CPConv2d:
        return type(self).like(self, rank)

    def _gains(self) -> Tensor:
        return kernel_gains(self.depthwise)

    def tensor_of(self, weight: Tensor) -> Tensor:
        return weight.flatten(2)

    def weight_of(self, tensor: Tensor) -> Tensor:
        return tensor.reshape(self.shape)

    @torch.no_grad()
    def dense(self) -> nn.Conv2d:
        return compose_conv(self.depthwise, self.exact_weight(), self.bias)
