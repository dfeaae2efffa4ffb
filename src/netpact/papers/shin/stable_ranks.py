"""Figure 3: the stable rank of layers against the exponent of their weights, and lines through the points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr
from torch import nn

from netpact.algebra import RegressionMixture, fit_regression_mixture
from netpact.core.checks import check_number
from netpact.core.display import Displayed
from netpact.core.errors import PactError, wrong_kind
from netpact.core.seed import Seed
from netpact.papers.shin.tail_study import LayerTail, layer_tails
from netpact.reports.charts.curves import Curve
from netpact.reports.charts.figure import Figure
from netpact.reports.charts.points import Cloud, draw_points

MOST_ALPHA = 10.0  # beyond it a tail is as light as that of Gaussian weights


class RankPoint(NamedTuple):
    """A layer: alpha of the density |w|^-alpha, |W|_F^2 / |W|_2^2, and whether it is a network's last one."""

    label: str
    alpha: float
    stable_rank: float
    final: bool


@dataclass(frozen=True, repr=False)
class StableRanks(Displayed):
    """points       layers with a fit and an alpha of at most `most_alpha`
    lighter      how many more layers have a larger alpha
    one, two     one line and two lines through the points of all layers; None where there are too few points
    """

    points: tuple[RankPoint, ...]
    lighter: int
    most_alpha: float
    one: RegressionMixture | None
    two: RegressionMixture | None

    def correlation(self, *, final: bool = False) -> float:
        """Spearman's rank correlation of alpha and stable rank, of all layers or of the final ones; NaN below three."""
        chosen = [point for point in self.points if point.final or not final]
        if len(chosen) < 3:
            return math.nan
        return float(spearmanr([point.alpha for point in chosen], [point.stable_rank for point in chosen]).statistic)

    @property
    def second_line(self) -> float:
        """BIC of one line less that of two: above 0 where the second is worth its parameters."""
        return math.nan if self.one is None or self.two is None else self.one.bic - self.two.bic

    def figure(self, *, width: int = 760, name: str = "stable-rank-against-alpha") -> Figure:
        clouds = []
        for words, final in (("layers before the last", False), ("final layers", True)):
            chosen = [point for point in self.points if point.final == final]
            places = tuple((point.alpha, point.stable_rank) for point in chosen)
            clouds.append(Cloud(words, places, tuple(point.label for point in chosen)))
        lines = []
        if self.two is not None:
            ends = min(point.alpha for point in self.points), max(point.alpha for point in self.points)
            for line in self.two.lines:
                told = f"line of {line.share:.0%} of the points, slope {line.slope:.3g}"
                lines.append(Curve(told, tuple((x, float(line.at(x))) for x in ends)))
        return draw_points(
            clouds,
            lines,
            name=name,
            title="Stable rank against alpha",
            x_title="alpha of the density |w|^-alpha",
            y_title="stable rank",
            width=width,
        )

    def to_json(self) -> dict[str, object]:
        return {
            "points": [point._asdict() for point in self.points],
            "lighter": self.lighter,
            "most_alpha": self.most_alpha,
            "one": None if self.one is None else self.one.to_json(),
            "two": None if self.two is None else self.two.to_json(),
        }

    def display_facts(self) -> dict[str, object]:
        return {"layers": len(self.points), "lighter": self.lighter, "correlation": self.correlation()}

    def display_rows(self) -> list[dict[str, object]]:
        return [point._asdict() for point in self.points]


def stable_rank_against_alpha(
    networks: Mapping[str, nn.Module],
    *,
    most_alpha: float = MOST_ALPHA,
    seed: Seed = Seed(0),  # noqa: B008  frozen
) -> StableRanks:
    """Figure 3 of networks of your own, by name; all of their linear layers and convolutions."""
    check_number(most_alpha, where="most_alpha", above=1)
    if not isinstance(networks, Mapping) or not all(isinstance(one, nn.Module) for one in networks.values()):
        raise wrong_kind(networks, needed="a dict of torch modules by name", where="networks")
    if not networks:
        raise PactError("must have one network or more", where="networks")
    found = ((name, layer) for name, module in networks.items() for layer in layer_tails(module))
    return compare_ranks(found, most_alpha=most_alpha, seed=seed)


def compare_ranks(
    layers: Iterable[tuple[str, LayerTail]],
    *,
    most_alpha: float = MOST_ALPHA,
    seed: Seed = Seed(0),  # noqa: B008  frozen
) -> StableRanks:
    """Of layers that are measured already, each with the name of its network."""
    points = [
        RankPoint(f"{network} {layer.name}", layer.alpha, layer.stable_rank, layer.final)
        for network, layer in layers
        if layer.alpha is not None and layer.stable_rank is not None
    ]
    kept = tuple(point for point in points if point.alpha <= most_alpha)
    x, y = (np.array([point[place] for point in kept]) for place in (1, 2))
    mixtures: list[RegressionMixture | None] = []
    for lines in (1, 2):
        try:
            mixtures.append(fit_regression_mixture(x, y, lines=lines, seed=seed.child("lines", lines)))
        except PactError:  # too few points, or all of them on one line
            mixtures.append(None)
    return StableRanks(kept, len(points) - len(kept), most_alpha, mixtures[0], mixtures[1])
