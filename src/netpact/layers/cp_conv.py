"""A convolution in CP form: 1x1 to R channels, one kernel for each of them, 1x1 to all outputs."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from netpact.algebra import ALSOptions, CPDecomposition, cp_decompose
from netpact.algebra.cp import sorted_components
from netpact.algebra.cp_als import unit_columns
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.layers.components import init_uniform, spread_weights
from netpact.layers.factored import Chain, compose_conv, conv_settings

_OPTIONS = ALSOptions()
_SEED = Seed(0)


class CPConv2d(Chain):
    """The kernel is M = sum_r lambda_r b_r (x) a_r (x) C_r (Li et al. 2020, definition C.1), and never built.

    pointwise_in has the rows a_r, depthwise the kernels C_r, pointwise_out the columns b_r, and the bias. lambda_r is
    the product of their norms: R (in + out + kx ky) numbers, where the paper writes lambda apart and counts R more.
    """

    pointwise_in: nn.Conv2d
    depthwise: nn.Conv2d
    pointwise_out: nn.Conv2d

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, rank: int, **settings: Any) -> None:
        """settings: stride, padding, dilation, padding_mode, bias, device and dtype, as nn.Conv2d takes them."""
        bias = settings.pop("bias", True)
        where = {name: settings.pop(name) for name in ("device", "dtype") if name in settings}
        super().__init__(
            OrderedDict(
                pointwise_in=nn.Conv2d(in_channels, rank, 1, bias=False, **where),
                depthwise=nn.Conv2d(rank, rank, kernel_size, groups=rank, bias=False, **settings, **where),
                pointwise_out=nn.Conv2d(rank, out_channels, 1, bias=bias, **where),
            )
        )
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """The composed kernel gets the variance that torch gives to the dense one, 1 / (3 in kx ky)."""
        init_uniform(self.pointwise_in.weight, 1 / self.pointwise_in.in_channels)
        init_uniform(self.depthwise.weight, 1 / math.prod(self.depthwise.kernel_size))
        self.pointwise_out.reset_parameters()

    @property
    def rank(self) -> int:
        return self.depthwise.out_channels

    @classmethod
    def from_dense(cls, layer: nn.Conv2d, rank: int, *, options: ALSOptions = _OPTIONS, seed: Seed = _SEED) -> CPConv2d:
        """The CP layer nearest to a convolution without groups that alternating least squares finds."""
        if type(layer) is not nn.Conv2d or layer.groups != 1:
            raise PactError(f"needs an nn.Conv2d without groups, got {layer}", where="layer")
        found = cp_decompose(layer.weight.detach(), rank, merge_spatial=True, options=options, seed=seed)
        made = cls.like(layer, rank)
        made.set_components(found)
        return made

    @classmethod
    def like(cls, layer: nn.Conv2d, rank: int) -> CPConv2d:
        """With the settings and the bias of a convolution; the factors are not set."""
        settings = conv_settings(layer) | {"bias": layer.bias is not None, "dtype": layer.weight.dtype}
        made = cls(layer.in_channels, layer.out_channels, layer.kernel_size, rank, **settings, device="meta")
        made = made.to_empty(device=layer.weight.device).train(layer.training)
        if layer.bias is not None:
            assert made.pointwise_out.bias is not None
            made.pointwise_out.bias.data.copy_(layer.bias.detach())
        return made

    @torch.no_grad()
    def set_components(self, found: CPDecomposition) -> None:
        """The factors of a kernel (out, in, kx*ky), each with an equal share of the weights."""
        outputs, inputs, kernels = spread_weights(found, self.rank)
        self.pointwise_in.weight.copy_(inputs.T.reshape(self.pointwise_in.weight.shape))
        self.depthwise.weight.copy_(kernels.T.reshape(self.depthwise.weight.shape))
        self.pointwise_out.weight.copy_(outputs.reshape(self.pointwise_out.weight.shape))

    @torch.no_grad()
    def components(self) -> CPDecomposition:
        """Unit factors and the positive, descending spectrum of what the layer computes, in float64."""
        parts = (self.pointwise_out.weight.flatten(1), self.pointwise_in.weight.flatten(1).T, self.depthwise.weight)
        sides = [part.detach().double() for part in (*parts[:2], parts[2].flatten(1).T)]
        units, norms = zip(*map(unit_columns, sides), strict=True)
        weights, factors = sorted_components(norms[0] * norms[1] * norms[2], units)
        shape = (self.pointwise_out.out_channels, self.pointwise_in.in_channels, *self.depthwise.kernel_size)
        return CPDecomposition(weights, factors, shape, 0.0)

    def spectrum(self) -> Tensor:
        """lambda, largest first; components of weight 0 are left out."""
        return self.components().weights

    @torch.no_grad()
    def dense(self) -> nn.Conv2d:
        parts = (self.pointwise_in, self.depthwise, self.pointwise_out)
        narrow, kernel, wide = (part.weight.detach().double().flatten(1) for part in parts)
        composed = torch.einsum("or,ri,rk->oik", wide, narrow, kernel)
        return compose_conv(self.depthwise, composed, self.pointwise_out.bias)
