"""straighten: the same network as one that was written with K = t R, for every kind of block and neighbour."""

from __future__ import annotations

import math

import pytest
import torch
from network.block_samples import Three, classifier, conv, images
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

import netpact
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.layers import (
    Bottleneck,
    CPConv2d,
    DepthwiseSeparable,
    Funnel,
    InvertedResidual,
    ResNeXt,
    ShuffleUnit,
    TuckerConv2d,
)
from netpact.network.blocks import find_blocks
from netpact.network.blocks.straightening import Straightened, explain_straighten

X = torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(1))


FIRST = 14  # channels of the stem, as many as no block has


class Gated(nn.Module):
    """Squeeze and excitation: each channel times a number that is computed from all, by linear layers."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.block, self.down, self.up = Bottleneck(FIRST, 4, channels), nn.Linear(channels, 3), nn.Linear(3, channels)

    def forward(self, x: Tensor) -> Tensor:
        y = self.block(x)
        gate = torch.sigmoid(self.up(torch.relu(self.down(y.mean(dim=(2, 3))))))
        return y * gate[:, :, None, None]


class Joined(nn.Module):
    """Two blocks side by side, read by a convolution in groups."""

    def __init__(self, left: int, right: int) -> None:
        super().__init__()
        self.left, self.right = Bottleneck(FIRST, 4, left), Bottleneck(FIRST, 6, right)
        self.mix = conv(left + right, 10, 3, groups=2)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.mix(torch.cat([self.left(x), self.right(x)], dim=1)))


class Halved(nn.Module):
    """A separable block that reads one half of the channels, and has two kernels for each."""

    def __init__(self, t: int) -> None:
        super().__init__()
        self.block = Bottleneck(FIRST, 4, 4 * t)
        self.depthwise, self.pointwise = conv(2 * t, 4 * t, 3, groups=2 * t), conv(4 * t, 4 * t * t)

    def forward(self, x: Tensor) -> Tensor:
        return self.pointwise(torch.relu(self.depthwise(self.block(x).chunk(2, dim=1)[0])))


def bottlenecks(t: int) -> nn.Sequential:
    blocks = Bottleneck(FIRST, 4, 4 * t), Bottleneck(4 * t, 4, 4 * t), Bottleneck(4 * t, 6, 6 * t, stride=2)
    return classifier(*blocks, Bottleneck(6 * t, 6, 6 * t), channels=6 * t, first=FIRST)


def stem_is_added(t: int) -> nn.Module:
    return classifier(Bottleneck(4 * t, 4, 4 * t), nn.MaxPool2d(2), channels=4 * t, first=4 * t)


def groups(t: int) -> nn.Module:
    blocks = ResNeXt(FIRST, 8, 8 * t, cardinality=4), nn.BatchNorm2d(8 * t), ResNeXt(8 * t, 8, 8 * t, cardinality=2)
    return classifier(*blocks, nn.GroupNorm(2, 8 * t), channels=8 * t, first=FIRST)


def shuffled(t: int) -> nn.Module:
    units = ShuffleUnit(FIRST, 4, 4 * t, stride=2), ShuffleUnit(8 * t, 4, 4 * t), ShuffleUnit(8 * t, 6, 6 * t, stride=2)
    return classifier(*units, channels=12 * t, first=FIRST)


def depthwise_tail(t: int) -> nn.Module:
    """Between the block and the head: a depthwise layer, and all pixels of all channels."""
    tail = conv(4 * t, 4 * t, 3, groups=4 * t), nn.Dropout(), nn.Flatten(), nn.Linear(4 * t * 64, 4)
    return nn.Sequential(conv(3, FIRST, 3), nn.ReLU(), Bottleneck(FIRST, 4, 4 * t), *tail).eval()


def separable_chain(t: int) -> nn.Module:
    blocks = DepthwiseSeparable(FIRST, FIRST * t), DepthwiseSeparable(FIRST * t, FIRST * t * t, stride=2)
    return classifier(*blocks, channels=FIRST * t * t, first=FIRST)


def decomposed(t: int) -> nn.Module:
    return classifier(
        CPConv2d(FIRST, 5 * t, 3, rank=5), nn.ReLU(), TuckerConv2d(5 * t, 6 * t, 3, (6, 4)), channels=6 * t, first=FIRST
    )


def own_names(t: int) -> nn.Module:
    return classifier(Three(FIRST, 4, 4 * t), Three(4 * t, 4, 4 * t, stride=2), channels=4 * t, first=FIRST)


SAMPLES = {
    "bottlenecks": bottlenecks,
    "a stem that is added": stem_is_added,
    "groups": groups,
    "ShuffleNet": shuffled,
    "a depthwise layer behind": depthwise_tail,
    "separable": separable_chain,
    "CP and Tucker layers": decomposed,
    "one's own block": own_names,
    "a gate": lambda t: classifier(Gated(4 * t), channels=4 * t, first=FIRST),
    "one half": lambda t: classifier(Halved(t), channels=4 * t * t, first=FIRST),
    "side by side": lambda t: classifier(Joined(4 * t, 6 * t), channels=10, first=FIRST),
}


def shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}


def flops(module: nn.Module) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module.eval()(X[:1])
    return counter.get_total_flops()


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize(("before", "after"), [(4, 1), (4, 2), (2, 4)])
def test_it_is_the_network_that_was_written_so(name: str, before: int, after: int) -> None:
    make = SAMPLES[name]
    given, expected = make(before), make(after)
    found = explain_straighten(given, X, ratio=after, widen=after > before)
    assert shapes(found.module) == shapes(expected)
    assert repr(found.module) == repr(expected)
    assert found.new_parameters == sum(p.numel() for p in expected.parameters())
    assert found.parameters == sum(p.numel() for p in given.parameters())
    assert (found.flops, found.new_flops) == (flops(given), flops(expected))
    assert type(found.module) is type(given)
    decided = [row.after for row in found.changed]
    assert {block.ratio for block in decided} == {after}
    branches = [row for row in found.rows if row.why]
    assert all(row.before.kind == "depthwise-separable" for row in branches), found
    listed = {block.layers: block for block in find_blocks(found.module, X).blocks}
    assert {row.after.layers: row.after for row in found.rows} == listed
    assert torch.isfinite(found.module(X)).all()


@pytest.mark.parametrize("name", ["a stem that is added", "CP and Tucker layers", "a gate"])
def test_the_announced_costs(name: str) -> None:
    """Where the inputs of a block stay, or are added to its outputs, it has what find_blocks announced."""
    given = SAMPLES[name](4)
    found = explain_straighten(given, X)
    checked = [row for row in found.rows if row.before.identity or row.before.inputs == row.after.inputs]
    assert checked
    for row in checked:
        announced = row.before.parameters_at_ratio_1, row.before.flops_at_ratio_1
        assert (row.after.parameters, row.after.flops) == announced


def test_all_of_a_stage_is_announced() -> None:
    """Bottlenecks with identities behind a stem: the difference of the network is that of its blocks and neighbours."""
    given = classifier(*[Bottleneck(16, 4, 16) for _ in range(3)], channels=16)
    design, found = find_blocks(given, X), explain_straighten(given, X)
    saved = sum(block.parameters - block.parameters_at_ratio_1 for block in design.blocks)
    neighbours = 3 * 9 * (16 - 4) + 4 * (16 - 4)  # the stem and the linear layer
    assert found.parameters - found.new_parameters == saved + neighbours


def only_reason(module: nn.Module, x: Tensor = X, **options: object) -> str:
    found = explain_straighten(module, x, **options)  # type: ignore[arg-type]
    assert not found.changed
    assert shapes(found.module) == shapes(module)
    reasons = {row.why for row in found.rows}
    assert "" not in reasons
    return " | ".join(sorted(reasons))


class Constant(nn.Module):
    """A number for each channel that belongs to no layer."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.block, self.scale = Bottleneck(16, 4, channels), nn.Parameter(torch.ones(channels, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x) * self.scale


class Viewed(nn.Module):
    """The number of channels stands in the program."""

    def __init__(self) -> None:
        super().__init__()
        self.block, self.head = Bottleneck(16, 4, 16), nn.Linear(16 * 64, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.block(x).view(-1, 16 * 64))


class ByInput(nn.Module):
    """The network's input is added to the block's output."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Bottleneck(8, 2, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x).mean(dim=(2, 3))


class Dense(nn.Module):
    """What is added to the block comes from two layers side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.block = conv(16, 6), conv(16, 10), Bottleneck(16, 4, 16, shortcut="none")

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x) + torch.cat([self.left(x), self.right(x)], dim=1)


class Lent(nn.Module):
    """Two layers with one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.block, self.one, self.two = Bottleneck(16, 4, 16), conv(16, 8), conv(16, 8)
        self.two.weight = self.one.weight

    def forward(self, x: Tensor) -> Tensor:
        y = self.block(x)
        return self.one(y) + self.two(y)


def test_what_cannot_be_rewritten_is_named() -> None:
    two_ranks = classifier(Bottleneck(16, 4, 16), Bottleneck(16, 8, 16), channels=16)
    assert "added to those of" in only_reason(two_ranks)
    assert "which would have 8 channels, not 4" in only_reason(two_ranks)
    assert "does not run with other numbers of channels" in only_reason(classifier(Constant(16), channels=16))
    assert "does not run" in only_reason(nn.Sequential(conv(3, 16, 3), Viewed()))
    assert "network's input" in only_reason(ByInput(), torch.rand(2, 8, 8, 8))
    assert "several parts" in only_reason(classifier(Dense(), channels=16))
    assert "weights of 2.one are used elsewhere" in only_reason(classifier(Lent(), channels=8))
    output = nn.Sequential(conv(3, 16, 3), Bottleneck(16, 4, 16, shortcut="none"))
    assert "network's output" in only_reason(output)
    grouped = classifier(Bottleneck(16, 4, 18), conv(18, 9, groups=9), channels=9)
    assert "4 channels do not divide into 9 groups" in only_reason(grouped)


def test_what_need_not_be_rewritten_is_named() -> None:
    assert "K / R = 0.333 is not above 1" in only_reason(classifier(InvertedResidual(16, 48, 16), channels=16))
    assert "K / R = 4 is 4" in only_reason(classifier(Bottleneck(16, 4, 16), channels=16), ratio=4)
    assert "no last 1x1 layer" in only_reason(classifier(Funnel(16, 4, 16), channels=16), ratio=0.5)
    separable = classifier(Added(), channels=16)
    assert "added to its inputs" in only_reason(separable, ratio=2, widen=True)


class Added(nn.Module):
    """A separable block with an identity: K = R whatever the number is."""

    def __init__(self) -> None:
        super().__init__()
        self.block = DepthwiseSeparable(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.block(x)


class Later(nn.Module):
    """The rank of the separable block is the K of the second, and its outputs are added to those of the first."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = Bottleneck(FIRST, 4, channels), Bottleneck(channels, 4, channels, shortcut="none")
        self.third = DepthwiseSeparable(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        return y + self.third(self.second(y))


def test_ranks_that_follow_from_later_blocks() -> None:
    network = classifier(Later(8), channels=8, first=FIRST)
    assert shapes(netpact.straighten(network, X)) == shapes(classifier(Later(4), channels=4, first=FIRST))


def test_one_obstacle_does_not_stop_the_others() -> None:
    network = classifier(Bottleneck(16, 4, 16), conv(16, 16, 3), Constant(16), channels=16)
    found = explain_straighten(network, X)
    assert [bool(row.why) for row in found.rows] == [False, True]
    assert [row.after.K for row in found.rows] == [4, 16]
    assert "became K = 4" in str(found)
    assert "stays" in str(found)


def test_weights_that_keep_their_shape_stay_and_others_are_drawn() -> None:
    network = classifier(Bottleneck(16, 4, 16, shortcut="none"), channels=16)
    first, second = (explain_straighten(network, X, seed=Seed(number)).module for number in (1, 2))
    again = netpact.straighten(network, X, seed=Seed(1))
    old, new, other = network.state_dict(), first.state_dict(), second.state_dict()
    for name in old:
        if name.rpartition(".")[0] not in ("2.body.conv3", "2.body.conv3_norm", "5"):
            assert torch.equal(old[name], new[name]), name
        elif name.endswith("conv3.weight"):
            assert not torch.equal(new[name], other[name])
            assert new[name].abs().max() <= 1 / math.sqrt(4)
            assert new[name].std() > 0.1
    assert all(torch.equal(new[name], tensor) for name, tensor in again.state_dict().items())
    assert new["2.body.conv3_norm.weight"].tolist() == [1] * 4
    assert new["2.body.conv3_norm.running_var"].tolist() == [1] * 4


def test_the_network_given_is_not_changed() -> None:
    network = bottlenecks(4).train()
    network[2].eval()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    handle = network[2].register_forward_hook(lambda *_: None)
    made = netpact.straighten(network, X)
    assert isinstance(made, nn.Sequential)
    handle.remove()
    assert all(torch.equal(before[name], tensor) for name, tensor in network.state_dict().items())
    assert (made.training, made[2].training, made[3].training) == (True, False, True)
    assert all(parameter.requires_grad for parameter in made.parameters())
    made(X).sum().backward()


def test_networks_of_ours() -> None:
    module = netpact.build(netpact.parse_model("bottleneck:20-4-4-2-1", input_shape=(3, 16, 16), classes=4))
    found = explain_straighten(module)
    assert len(found.changed) == 6
    assert not hasattr(found.module, "netpact_architecture"), "no architecture of ours builds this"
    assert isinstance(found, Straightened)
    told = found.to_json()
    assert told["new_parameters"] == found.new_parameters
    assert len(found.display_rows()) == 6


def test_volumes() -> None:
    volume = nn.Sequential(
        nn.Conv3d(1, 8, 3), Bottleneck(8, 2, 8, dimensions=3), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(8, 2)
    )
    found = explain_straighten(volume, torch.rand(2, 1, 6, 6, 6))
    assert [row.after.K for row in found.changed] == [2]
    assert isinstance(found.module, nn.Sequential)
    assert found.module[0].out_channels == 2


def test_wrong_arguments() -> None:
    with pytest.raises(PactError, match="ratio"):
        netpact.straighten(bottlenecks(2), X, ratio=0)
    with pytest.raises(PactError, match="seed"):
        netpact.straighten(bottlenecks(2), X, seed=3)  # type: ignore[arg-type]
    with pytest.raises(PactError, match="does not run on inputs"):
        netpact.straighten(bottlenecks(2), images(channels=1))
    none = explain_straighten(classifier(channels=16), X)
    assert none.rows == ()
    assert "0 of 0 blocks" in str(none)
