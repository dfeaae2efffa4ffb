"""A linear layer as several: what CP forms of any order have in common."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import torch
from torch import nn

from netpact.algebra import ALSOptions
from netpact.core.checks import check_integer, told
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.layers.components import CPChain, init_uniform
from netpact.layers.factored import Chain, make_like
from netpact.layers.shift import Shift

Self = TypeVar("Self", bound="CPLinearChain")
_SEED = Seed(0)


class CPLinearChain(CPChain):
    """Inputs of in_shape to outputs of out_shape, the bias last. Attributes are named as nn.Linear's are."""

    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    shift: Shift | nn.Identity

    @property
    def in_features(self) -> int:
        return math.prod(self.in_shape)

    @property
    def out_features(self) -> int:
        return math.prod(self.out_shape)

    @classmethod
    @abstractmethod
    def _shaped(cls: type[Self], in_shape: Sequence[int], out_shape: Sequence[int], rank: int, **settings: Any) -> Self:
        """A layer of these shapes; settings: bias, device, dtype."""

    @staticmethod
    @abstractmethod
    def _factors_of(width: int, given: Sequence[int] | None, *, where: str) -> tuple[int, ...]:
        """The given factors of a width, checked, or the default ones."""

    @classmethod
    def like(
        cls: type[Self],
        layer: nn.Linear | CPLinearChain,
        rank: int,
        *,
        in_shape: Sequence[int] | None = None,
        out_shape: Sequence[int] | None = None,
    ) -> Self:
        """With the bias of a linear layer; the factors are not set."""
        inputs = cls._factors_of(layer.in_features, in_shape, where="in_shape")
        outputs = cls._factors_of(layer.out_features, out_shape, where="out_shape")
        return make_like(layer, partial(cls._shaped, inputs, outputs, rank))

    @classmethod
    def from_dense(
        cls: type[Self],
        layer: nn.Linear,
        rank: int,
        *,
        in_shape: Sequence[int] | None = None,
        out_shape: Sequence[int] | None = None,
        options: ALSOptions | None = None,
        seed: Seed = _SEED,
        progress: Progress | None = None,
    ) -> Self:
        """The CP layer nearest to a linear layer that alternating least squares finds; options: default_options()."""
        made = cls.like(check_linear(layer), rank, in_shape=in_shape, out_shape=out_shape)
        made.fit(layer.weight, options=options, seed=seed, progress=progress)
        return made

    def default_options(self) -> ALSOptions:
        """With orthogonalised sweeps first, as Li et al. 2020 decompose linear layers (Li and Huang 2018)."""
        return replace(super().default_options(), orthogonal_sweeps=3)

    def _of_rank(self: Self, rank: int) -> Self:
        return type(self).like(self, rank, in_shape=self.in_shape, out_shape=self.out_shape)

    def _reset_bias(self, generator: torch.Generator | None) -> None:
        if self.bias is not None:
            init_uniform(self.bias, 1 / (3 * self.in_features), generator)

    @torch.no_grad()
    def dense(self) -> nn.Linear:
        biased = self.bias is not None
        made = nn.Linear(self.in_features, self.out_features, bias=biased, device="meta", dtype=torch.float64)
        made = made.to_empty(device=next(self.parameters()).device)
        made.weight.copy_(self.exact_weight())
        if self.bias is not None:
            made.bias.copy_(self.bias)
        return made.train(self.training)


def check_linear(layer: object) -> nn.Linear:
    """Exactly this type: a subclass may compute anything."""
    if type(layer) is not nn.Linear:
        hint = "it is factored already: truncate(rank) gives fewer components" if isinstance(layer, Chain) else ""
        raise PactError(f"needs an nn.Linear, got {told(layer)}", where="layer", hint=hint)
    return layer


def check_factors(width: int, given: Sequence[int], *, where: str, count: int | None = None) -> tuple[int, ...]:
    """The factors of a width, as many as are needed."""
    needed = f"must be {'factors' if count is None else f'{count} factors'} of {width}"
    if not isinstance(given, (tuple, list)) or not given or len(given) != (count or len(given)):
        raise PactError(f"{needed}, got {told(given)}", where=where)
    sizes = tuple(check_integer(size, where=where, least=1) for size in given)
    if math.prod(sizes) != width:
        raise PactError(f"{needed}, got {told(given)}", where=where)
    return sizes
