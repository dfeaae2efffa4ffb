"""advise_ranks: each number of a curve computed again, the choice against all others, and what is left out."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import nn

import netpact
from netpact import PactError, Seed, cp_decompose
from netpact.algebra import ALSOptions
from netpact.core.json import encode_json
from netpact.datasets import Data, draw_samples
from netpact.layers import CPConv2d, CPLinear
from netpact.methods.cp_rounding import round_components
from netpact.methods.low_rank_fitting import code_length
from netpact.methods.rank_advice import RankAdvice, RankOptions, RankPoint
from netpact.methods.rank_advice.choosing import choose, convex_hull, price_path
from netpact.methods.rank_advice.curves import Curve
from netpact.methods.rank_advice.records import Change
from netpact.methods.rank_advice.subjects import Subject

QUICK = RankOptions(points=5, samples=60, bound_samples=60, tolerance=0.1)
PLANTED = 3


@pytest.fixture(scope="module")
def module(digits: Data) -> nn.Sequential:
    """Trained; the second convolution is exactly of CP rank 3."""
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), CPConv2d(6, 12, 3, PLANTED), nn.ReLU(), nn.Flatten())
    made = netpact.train(
        nn.Sequential(*layers, nn.Linear(192, 10)), digits.train, netpact.TrainOptions(epochs=4, learning_rate=3e-3)
    ).module
    assert isinstance(made, nn.Sequential)
    planted = made[2]
    assert isinstance(planted, CPConv2d)
    made[2] = planted.to_dense()
    return made


@pytest.fixture(scope="module")
def advice(module: nn.Sequential, digits: Data) -> RankAdvice:
    return netpact.advise_ranks(module, digits.train, QUICK)


def all_points(advice: RankAdvice) -> Iterator[tuple[str, RankPoint]]:
    return ((layer.name, point) for layer in advice.layers for point in (*layer.points, layer.as_it_is))


def test_the_planted_rank_shows_in_the_curve(advice: RankAdvice) -> None:
    conv = advice.layers[1]
    below = [point for point in conv.points if point.rank is not None and point.rank < PLANTED]
    above = [point for point in conv.points if point.rank is not None and point.rank >= PLANTED]
    assert min(point.fit_error for point in below) > 0.1
    assert max(point.fit_error for point in above) < 1e-2


def test_compressing_with_the_ranks_gives_what_was_measured(
    module: nn.Sequential, digits: Data, advice: RankAdvice
) -> None:
    """The same layers in the message: their bytes, and the logits but for biases, which take 8 bits there."""
    small = netpact.compress(netpact.trace(module, digits), netpact.CP(ranks=advice.ranks))
    weights = {name: tensor for name, tensor in small.tensors.items() if len(tensor.shape) > 1}
    bits = sum(map(code_length, weights.values())) + 40 * len(advice.ranks)
    assert len(small.rewrites) == len(advice.ranks) > 0
    assert bits / 8 == pytest.approx(advice.bytes)
    samples = draw_samples(digits.train, QUICK.samples, QUICK.seed.child("samples"))
    inputs, _ = next(iter(samples.batches(samples.count)))
    made = netpact.seal(small).to_module(copy.deepcopy(module))
    with torch.no_grad():
        old, new = (net(torch.from_numpy(inputs)).double() for net in (module, made))
    assert float((old - new).norm() / old.norm()) == pytest.approx(advice.together.logits, rel=0.02)


def test_a_point_is_what_the_network_with_this_layer_does(module: nn.Sequential, digits: Data) -> None:
    """One rank of one layer, built by hand and run over the samples."""
    few, rank = digits.train, 1
    options = RankOptions(points=1, samples=few.count, bound_samples=0)
    found = netpact.advise_ranks(module, few, options)
    point = found.layers[1].points[0]
    conv = module[2]
    assert isinstance(conv, nn.Conv2d)
    made = CPConv2d.like(conv, rank)
    components = cp_decompose(conv.weight, rank, merge_spatial=True, options=ALSOptions(100, 1e-4, 1))
    coded = round_components(components, made, conv.weight.detach(), options.make_grid())
    made = CPConv2d.like(conv, rank)
    for name, tensor in coded.items():
        made.get_parameter(name).data.copy_(torch.from_numpy(tensor.weights()))
    bits = sum(map(code_length, coded.values())) + 40
    changed = copy.deepcopy(module)
    changed[2] = made
    inputs, labels = next(iter(few.batches(few.count)))
    with torch.no_grad():
        old, new = (net(torch.from_numpy(inputs)).double() for net in (module, changed))
    dense, other = conv.weight.detach().double(), made.dense().weight.detach()
    assert point.rank == rank
    assert point.bytes == bits / 8
    assert point.error == pytest.approx(float((dense - other).norm() / dense.norm()), rel=1e-5)
    assert point.parameters == rank * (6 + 12 + 9) + 12
    assert point.flops == 2 * rank * (6 * 36 + 9 * 16 + 12 * 16)
    assert point.change.logits == pytest.approx(float((old - new).norm() / old.norm()), rel=1e-5)
    assert point.change.largest == pytest.approx(float((old - new).norm(dim=1).max()), rel=1e-5)
    assert point.change.decisions == float((old.argmax(1) != new.argmax(1)).double().mean())
    assert point.change.accuracy == float((new.argmax(1) == torch.from_numpy(labels)).double().mean())
    assert point.deviation_bound is None
    assert "not asked for" in found.note


def test_two_more_ranks_below_each_one_chosen_are_tried(module: nn.Sequential, advice: RankAdvice) -> None:
    linear = module[5]
    assert isinstance(linear, nn.Linear)
    subject = Subject("5", linear, 30)
    points = [made_up(b, 0.1, rank) for b, rank in ((1, 1), (4, 4), (10, 10), (50, None))]
    curve = Curve(subject, tuple(points), {})
    assert curve.ranks_below(points[2]) == [6, 8]
    assert curve.ranks_below(points[1]) == [2, 3]
    assert curve.ranks_below(points[0]) == []
    assert curve.ranks_below(points[3]) == [17, 24], "as it is: above the largest rank tried"
    assert [point.bytes for point in curve.worth] == [1, 4, 10, 50]
    grid = Subject("5", linear, advice.layers[2].points[-1].rank or 0).ranks(QUICK.points)
    assert len(advice.layers[2].points) == len(grid) + 2


def test_measured_changes_are_within_the_deviation_bounds(advice: RankAdvice) -> None:
    ratios = []
    for name, point in all_points(advice):
        assert point.deviation_bound is not None
        assert point.change.largest <= point.deviation_bound, (name, point.rank)
        ratios.append(point.deviation_bound / point.change.largest)
    # Not by far: a bound that is smaller by this factor would be violated by half of the points.
    assert float(np.median(ratios)) < 12


def test_weight_changes_bound_the_operator_norm(module: nn.Sequential, advice: RankAdvice) -> None:
    for layer in advice.layers[1:]:
        dense = module.get_submodule(layer.name)
        assert isinstance(dense, (nn.Conv2d, nn.Linear))
        norm = float(dense.weight.detach().double().norm())
        for point in layer.points:
            assert point.weight_change <= point.error * norm * (1 + 1e-4) * (3 if isinstance(dense, nn.Conv2d) else 1)
            least = point.error * norm / math.sqrt(min(dense.weight.flatten(1).shape))
            assert point.weight_change >= least * (1 - 1e-4) or isinstance(dense, nn.Conv2d)


def test_all_together_keeps_the_tolerance(module: nn.Sequential, digits: Data, advice: RankAdvice) -> None:
    assert advice.together.decisions <= QUICK.tolerance
    assert advice.bytes < advice.bytes_before
    assert advice.ranks == {layer.name: layer.rank for layer in advice.layers if layer.rank is not None}
    strict = netpact.advise_ranks(
        module, digits.train, RankOptions(points=5, samples=60, bound_samples=0, tolerance=0.0, bits=12)
    )
    assert strict.together.decisions == 0
    planted = strict.layers[1]
    assert PLANTED <= (planted.rank or 0) < 2 * PLANTED
    assert planted.chosen.bytes < planted.as_it_is.bytes / 3
    loose = netpact.advise_ranks(
        module, digits.train, RankOptions(points=5, samples=60, bound_samples=0, tolerance=0.9, bits=12)
    )
    assert loose.bytes < strict.bytes


def test_where_nothing_keeps_the_tolerance_layers_stay(digits: Data) -> None:
    torch.manual_seed(1)
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 30), nn.ReLU(), nn.Linear(30, 10))
    options = RankOptions(points=3, samples=200, bound_samples=0, bits=2, tolerance=0.0)
    found = netpact.advise_ranks(module, digits.train, options)
    assert found.ranks == {}
    assert found.together == found.rounded
    assert found.together.decisions > 0
    assert "no choice of ranks keeps the tolerance" in found.layers[0].why


def test_layers_that_save_nothing_are_kept_dense(digits: Data) -> None:
    module = nn.Sequential(nn.Conv2d(1, 2, 2), nn.Flatten(), nn.Linear(98, 10))
    found = netpact.advise_ranks(module, digits.train, RankOptions(points=2, samples=20, bound_samples=0))
    conv = found.layers[0]
    assert (conv.rank, conv.why[:11]) == (None, "keep dense:")
    assert all(point.bytes >= conv.as_it_is.bytes for point in conv.points)
    assert "no rank takes fewer" in conv.why


def test_cp_layers_are_pruned_not_decomposed(digits: Data) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(CPConv2d(1, 8, 3, 6), nn.ReLU(), nn.Flatten(), CPLinear(288, 10, 9))
    found = netpact.advise_ranks(module, digits.train, QUICK)
    conv, linear = found.layers
    assert (conv.kind, linear.kind) == ("CPConv2d", "CPLinear")
    assert conv.points[-1].rank == 5
    first = module[0]
    assert isinstance(first, CPConv2d)
    own = first.components()
    whole = own.to_dense()
    for point in conv.points:
        kept = (own.factors[0][:, : point.rank] * own.weights[: point.rank]) @ torch.einsum(
            "ir,kr->ikr", *(factor[:, : point.rank] for factor in own.factors[1:])
        ).reshape(-1, point.rank or 0).T
        error = float((whole - kept.reshape(whole.shape)).norm() / whole.norm())
        assert point.fit_error == pytest.approx(error, rel=1e-9)
    assert all(point.change.largest <= (point.deviation_bound or 0) for point in (*conv.points, *linear.points))


def test_what_has_no_cp_form_is_left_out_and_said(digits: Data) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.grouped = nn.Conv2d(4, 8, 3, groups=2)
            self.first, self.second = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
            self.third = nn.Conv2d(8, 8, 3, padding=1)
            self.third.weight = self.second.weight
            self.last = nn.Linear(288, 10)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.grouped(torch.relu(self.first(x)))
            last: torch.Tensor = self.last(torch.relu(self.third(torch.relu(self.second(x)))).flatten(1))
            return last

    found = netpact.advise_ranks(Tied(), digits.train, RankOptions(points=2, samples=20, bound_samples=4))
    told = dict(found.left_out)
    assert "groups" in told["grouped"]
    assert "serve elsewhere" in told["second"]
    assert [layer.name for layer in found.layers] == ["first", "last"]
    tiny = nn.Sequential(nn.Flatten(), nn.Linear(64, 2, bias=False), CPLinear(2, 4, 1))
    tiny[1] = CPLinear(64, 2, 1)
    with pytest.raises(PactError, match="no layer of the network has a CP form"):
        netpact.advise_ranks(tiny, (np.zeros((4, 64), dtype=np.float32), np.arange(4)))


def test_batch_norm_and_skips_have_bounds(digits: Data) -> None:
    architecture = netpact.parse_model("resnet:8-1-1", input_shape=(1, 8, 8), classes=10)
    found = netpact.advise_ranks(
        netpact.build(architecture), digits.train, RankOptions(points=2, samples=20, bound_samples=20)
    )
    assert found.note == ""
    assert all(point.change.largest <= (point.deviation_bound or 0) for _, point in all_points(found))


def test_the_record_is_the_same_again_and_is_json(module: nn.Sequential, digits: Data, advice: RankAdvice) -> None:
    seen: list[tuple[int, int]] = []
    again = netpact.advise_ranks(module, digits, QUICK, progress=lambda done, total: seen.append((done, total)))
    assert encode_json(again.to_json(), where="advice") == encode_json(advice.to_json(), where="advice")
    assert seen[-1][0] == seen[-1][1] == 3 + 5 + 5 + 3 * 2, "ranks, as it is, two more ranks"
    assert len({total for _, total in seen}) == 1
    assert seen == sorted(seen)
    assert max(len(line) for line in str(advice).splitlines()) <= 80
    assert "RankAdvice(ranks=" in repr(advice)


@pytest.mark.parametrize(
    "bad",
    [
        {"tolerance": -0.1},
        {"tolerance": 1.0},
        {"points": 0},
        {"samples": 0},
        {"bound_samples": -1},
        {"bits": 1},
        {"grid": "round"},
        {"seed": 3},
    ],
)
def test_bad_options_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(PactError):
        RankOptions(**bad)  # type: ignore[arg-type]


def made_up(bytes_: float, damage: float, rank: int | None = 1) -> RankPoint:
    change = Change(logits=math.sqrt(damage), largest=0.0, decisions=damage, accuracy=1.0)
    zero = {"parameters": 0, "flops": 0, "fit_error": 0.0, "error": 0.0, "weight_change": 0.0}
    return RankPoint(rank=rank, bytes=bytes_, deviation_bound=None, change=change, **zero)  # type: ignore[arg-type]


def random_curves(seed: int) -> dict[str, list[RankPoint]]:
    random = Seed(seed).numpy()
    return {
        name: [
            made_up(float(b), float(d), rank)
            for rank, (b, d) in enumerate(zip(random.integers(1, 100, 5), random.random(5) / 5, strict=True))
        ]
        for name in "abc"
    }


def sums(choice: dict[str, RankPoint]) -> tuple[float, float]:
    return sum(p.bytes for p in choice.values()), sum(p.change.logits**2 for p in choice.values())


@pytest.mark.parametrize("seed", range(20))
def test_every_step_of_the_path_is_the_best_at_some_price(seed: int) -> None:
    """Against all 125 joint choices: nothing lies below the line through two neighbours of the path."""
    curves = random_curves(seed)
    everything = np.array([sums(dict(zip(curves, some, strict=True))) for some in itertools.product(*curves.values())])
    path = [sums(choice) for choice in price_path(curves)]
    assert path[0][0] == everything[:, 0].min()
    assert path[-1][1] == pytest.approx(everything[:, 1].min())
    for (few, much), (many, little) in itertools.pairwise(path):
        price = (many - few) / (much - little)
        assert few + price * much <= (everything[:, 0] + price * everything[:, 1]).min() + 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_choice_keeps_the_tolerance_at_nearly_the_fewest_bytes(seed: int) -> None:
    curves, tolerance = random_curves(seed), 0.25
    best = min(
        (sums(dict(zip(curves, some, strict=True))) for some in itertools.product(*curves.values())),
        key=lambda pair: (pair[1] > tolerance, pair[0]),
    )

    def run(choice: dict[str, RankPoint]) -> Change:
        return made_up(*sums(choice)).change

    choice, seen = choose(curves, run, tolerance=tolerance)
    if best[1] > tolerance:
        assert choice is None
        return
    assert choice is not None
    assert sums(choice)[1] <= tolerance
    assert best[0] <= sums(choice)[0] <= best[0] + max(p.bytes for points in curves.values() for p in points)
    assert len(seen) <= 20


def test_hull_is_the_lower_convex_one() -> None:
    points = [made_up(b, d) for b, d in ((1, 10), (2, 9.9), (3, 4), (4, 4.5), (5, 3.9), (9, 0), (9.5, 0))]
    assert [point.bytes for point in convex_hull(points)] == [1, 3, 9]
