"""The curve of one layer: what it is at each rank, as it would be encoded."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import nn

from netpact.datasets import Samples
from netpact.datasets.drawing import draw_samples
from netpact.layers import Chain
from netpact.methods.approximations import as_array
from netpact.methods.grids import Grid
from netpact.methods.low_rank_fitting import code_length
from netpact.methods.rank_advice.bench import Bench
from netpact.methods.rank_advice.bounder import Bounder
from netpact.methods.rank_advice.options import RankOptions
from netpact.methods.rank_advice.records import RankPoint
from netpact.methods.rank_advice.subjects import Subject
from netpact.network import Network


@dataclass(frozen=True, eq=False)
class Curve:
    """points by rising rank, the layer as it is last; modules: what stands in its place, rounded."""

    subject: Subject
    points: tuple[RankPoint, ...]
    modules: dict[int | None, nn.Module]

    @property
    def as_it_is(self) -> RankPoint:
        return self.points[-1]

    @property
    def worth(self) -> list[RankPoint]:
        """The layer as it is, and what takes fewer bytes."""
        return [point for point in self.points if point.rank is None or point.bytes < self.as_it_is.bytes]

    def ranks_below(self, chosen: RankPoint) -> list[int]:
        """Two evenly spaced between the rank chosen and the next lower one tried."""
        upper = self.subject.most + 1 if chosen.rank is None else chosen.rank
        tried = [point.rank for point in self.points if point.rank is not None]
        lower = max((rank for rank in tried if rank < upper), default=0)
        return sorted({lower + (upper - lower) * part // 3 for part in (1, 2)} - {0, *tried})


class Curves:
    """Draws curves of layers of one network on one set of samples."""

    def __init__(self, network: Network, samples: Samples, options: RankOptions) -> None:
        self.options, self.samples = options, samples
        self.bench = Bench(network, samples)
        few = (
            draw_samples(samples, options.bound_samples, options.seed.child("bounds"))
            if options.bound_samples
            else None
        )
        self.bounder = Bounder(network.module, few)
        self._grid = options.make_grid()

    def draw(self, subject: Subject, tell: Callable[[int], None]) -> Curve:
        """Calls tell with the number of points that are done."""
        modules: dict[int | None, nn.Module] = {}
        points = list(self._points(subject, subject.ranks(self.options.points), modules, tell))
        modules[None], bits = round_weights(subject.part, self._grid)
        points.append(self._point(subject, None, modules[None], bits, 0.0))
        tell(len(subject.ranks(self.options.points)) + 1)
        return Curve(subject, tuple(points), modules)

    def refine(self, curve: Curve, chosen: RankPoint, tell: Callable[[int], None]) -> Curve:
        """With two more ranks below the one chosen: one step."""
        modules = dict(curve.modules)
        more = self._points(curve.subject, curve.ranks_below(chosen), modules, lambda _: None)
        points = sorted((*more, *curve.points[:-1]), key=lambda point: point.rank or 0)
        tell(1)
        return Curve(curve.subject, (*points, curve.as_it_is), modules)

    def _points(
        self, subject: Subject, ranks: list[int], modules: dict[int | None, nn.Module], tell: Callable[[int], None]
    ) -> Iterator[RankPoint]:
        for done, found in enumerate(subject.layers(ranks, self._grid), start=1):
            modules[found.rank] = found.layer
            yield self._point(subject, found.rank, found.layer, found.bits, found.fit_error)
            tell(done)

    def _point(self, subject: Subject, rank: int | None, layer: nn.Module, bits: float, fit_error: float) -> RankPoint:
        dense = _dense(subject.part)
        composed = _dense(layer)
        weight_change, bound = self.bounder.bound(subject.name, composed)
        return RankPoint(
            rank=rank,
            parameters=sum(tensor.numel() for tensor in layer.parameters()),
            flops=self.bench.flops(subject.name, layer),
            bytes=bits / 8,
            fit_error=fit_error,
            error=_relative_error(dense, composed),
            weight_change=weight_change,
            deviation_bound=bound,
            change=self.bench.change({subject.name: layer}),
        )


def round_weights(layer: nn.Module, grid: Grid) -> tuple[nn.Module, float]:
    """A copy with every weight in the grid, and the bits that they take in a message; biases stay as they are."""
    rounded, bits = copy.deepcopy(layer), 0.0
    for tensor in rounded.parameters():
        if tensor.dim() > 1:
            coded = grid.round(as_array(tensor))
            bits += code_length(coded)
            with torch.no_grad():
                tensor.copy_(torch.from_numpy(coded.weights()).reshape(tensor.shape))
    return rounded, bits


def _dense(layer: nn.Module) -> nn.Module:
    return layer.to_dense() if isinstance(layer, Chain) else layer


def _relative_error(layer: nn.Module, other: nn.Module) -> float:
    weight, found = (part.get_parameter("weight").detach().double() for part in (layer, other))
    norm = float(weight.norm())
    return float((weight - found).norm()) / norm if norm else 0.0
