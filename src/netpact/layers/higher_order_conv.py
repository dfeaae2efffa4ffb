"""A convolution in CP form of any order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from netpact.algebra import ALSOptions
from netpact.core.checks import check_integer
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.layers.components import CPChain, init_uniform
from netpact.layers.conv_chain import ConvChain, check_channels, check_conv, check_settings, kernel_gains
from netpact.layers.factored import compose_conv, conv_settings, make_like
from netpact.layers.higher_order import (
    check_shapes,
    core_modes,
    make_cores,
    pair_modes,
    part_modes,
    reset_cores,
    run_cores,
)
from netpact.layers.linear_chain import check_factors
from netpact.layers.ranks import cube_sides
from netpact.layers.shift import Shift

_SEED = Seed(0)


class HigherOrderCPConv2d(CPChain, ConvChain):
    """M = sum_r lambda_r C_r (x) K^1_r (x) ... (x) K^m_r, with channels as tensors of in_shape and out_shape.

    Definition C.7 of Li et al. 2020: R (t_1 s_1 + ... + t_m s_m + kx ky) numbers. core_l has the matrices K^l_r,
    depthwise the kernels C_r, lambda_r is the product of their Frobenius norms.

    depthwise runs on all indices but r as if they were samples. Networks with it are traced and certified; measure,
    which goes sample by sample through all layers, needs to_dense() in its place.
    """

    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    depthwise: nn.Conv2d
    shift: Shift | nn.Identity

    def __init__(
        self, in_shape: Sequence[int], out_shape: Sequence[int], kernel_size: Any, rank: int, **settings: Any
    ) -> None:
        """in_shape, out_shape: m sizes each, m at least 2; settings: as CPConv2d takes them."""
        inputs, outputs = check_shapes(in_shape, out_shape)
        _, channels, taps = check_channels(math.prod(inputs), math.prod(outputs), kernel_size)
        check_integer(rank, where="rank", least=1)
        moves, bias, place = check_settings(settings)
        parts = make_cores(inputs, outputs, rank, place)
        parts["depthwise"] = nn.Conv2d(rank, rank, taps, groups=rank, bias=False, **moves, **place)
        parts.move_to_end("depthwise", last=False)
        parts.move_to_end("core_1", last=False)
        parts["shift"] = Shift(channels, **place) if bias else nn.Identity()
        super().__init__(parts)
        self.in_shape, self.out_shape = inputs, outputs
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """The composed kernel and the bias get the variance that torch gives to dense ones, 1 / (3 in kx ky)."""
        taps = math.prod(self.kernel_size)
        reset_cores(self._cores(), self.in_shape, self.rank, generator)
        init_uniform(self.depthwise.weight, 1 / taps, generator)
        if self.bias is not None:
            init_uniform(self.bias, 1 / (3 * self.in_channels * taps), generator)

    @property
    def rank(self) -> int:
        return self.depthwise.out_channels

    @property
    def modes(self) -> tuple[int, ...]:
        return *core_modes(self.in_shape, self.out_shape), math.prod(self.kernel_size)

    @property
    def moved(self) -> nn.Conv2d:
        return self.depthwise

    @property
    def in_channels(self) -> int:
        return math.prod(self.in_shape)

    @property
    def out_channels(self) -> int:
        return math.prod(self.out_shape)

    def forward(self, images: Tensor) -> Tensor:
        samples, sides = len(images), images.shape[2:]
        moved: list[torch.Size] = []

        def move(made: Tensor) -> Tensor:
            """(N, r, rest, pixels): the same kernel for all of the rest."""
            rest = made.shape[2]
            apart = made.transpose(1, 2).reshape(samples * rest, self.rank, *sides)
            found = self.depthwise(apart)
            moved.append(found.shape[2:])
            return found.reshape(samples, rest, self.rank, -1).transpose(1, 2)

        made = run_cores(self._cores(), images.flatten(2), (self.in_shape, self.out_shape), move)
        shifted: Tensor = self.shift(made.transpose(1, 2)).transpose(1, 2)
        return shifted.reshape(samples, self.out_channels, *moved[0])

    @classmethod
    def like(
        cls,
        layer: nn.Conv2d | ConvChain,
        rank: int,
        *,
        in_shape: Sequence[int] | None = None,
        out_shape: Sequence[int] | None = None,
    ) -> HigherOrderCPConv2d:
        """With the settings and the bias of a convolution; the factors are not set. Default: three factors each."""
        inputs, outputs = (
            cube_sides(width) if given is None else check_factors(width, given, where=where)
            for width, given, where in (
                (layer.in_channels, in_shape, "in_shape"),
                (layer.out_channels, out_shape, "out_shape"),
            )
        )
        return make_like(layer, partial(cls, inputs, outputs, layer.kernel_size, rank), **conv_settings(layer))

    @classmethod
    def from_dense(
        cls,
        layer: nn.Conv2d,
        rank: int,
        *,
        in_shape: Sequence[int] | None = None,
        out_shape: Sequence[int] | None = None,
        options: ALSOptions | None = None,
        seed: Seed = _SEED,
        progress: Progress | None = None,
    ) -> HigherOrderCPConv2d:
        """The layer nearest to a convolution without groups that alternating least squares finds."""
        made = cls.like(check_conv(layer), rank, in_shape=in_shape, out_shape=out_shape)
        made.fit(layer.weight, options=options, seed=seed, progress=progress)
        return made

    def _cores(self) -> tuple[nn.Conv2d, ...]:
        return tuple(part for name, part in self.named_children() if name.startswith("core_"))  # type: ignore[misc]

    def _parts(self) -> tuple[nn.Conv2d, ...]:
        return *self._cores(), self.depthwise

    def _last(self) -> nn.Conv2d:
        return self._cores()[-1]

    def _of_rank(self, rank: int) -> HigherOrderCPConv2d:
        return type(self).like(self, rank, in_shape=self.in_shape, out_shape=self.out_shape)

    def _gains(self) -> Tensor:
        return kernel_gains(self.depthwise)

    def tensor_of(self, weight: Tensor) -> Tensor:
        return pair_modes(weight.flatten(2), self.in_shape, self.out_shape)

    def weight_of(self, tensor: Tensor) -> Tensor:
        paired = tensor.reshape(*core_modes(self.in_shape, self.out_shape), *self.kernel_size)
        return part_modes(paired, self.in_shape, self.out_shape)

    @torch.no_grad()
    def dense(self) -> nn.Conv2d:
        return compose_conv(self.depthwise, self.exact_weight(), self.bias)
