"""Blocks as layers: what the finder says of each, and the same numbers as the blocks of our architectures."""

from __future__ import annotations

import pytest
import torch
from network.rounding_nets import spread_norms
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from netpact.core.errors import PactError
from netpact.layers import Bottleneck, DepthwiseSeparable, Funnel, InvertedResidual, ResNeXt, ShuffleUnit
from netpact.models import build, parse_model
from netpact.network.blocks import find_blocks

SIDE = 8


def network(*blocks: nn.Module, first: int, last: int) -> nn.Sequential:
    """Two pooled classes behind some blocks."""
    head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, 2)
    return nn.Sequential(nn.Conv2d(3, first, 3, padding=1), nn.ReLU(), *blocks, *head).eval()


@pytest.mark.parametrize(
    ("block", "outputs", "expected"),
    [
        (Bottleneck(16, 4, 16), 16, ("bottleneck", 16, 4, True)),
        (Bottleneck(16, 4, 12, stride=2), 12, ("bottleneck", 12, 4, False)),
        (Bottleneck(16, 8, 8, shortcut="none"), 8, ("funnel", 8, 8, False)),
        (Funnel(16, 4, 16), 16, ("funnel", 16, 16, True)),
        (ResNeXt(16, 8, 16, cardinality=4), 16, ("resnext", 16, 8, True)),
        (DepthwiseSeparable(16, 24, stride=2), 24, ("depthwise-separable", 24, 16, False)),
        (InvertedResidual(16, 48, 16), 16, ("inverted-residual", 16, 48, True)),
        (InvertedResidual(16, 48, 20, stride=2), 20, ("inverted-residual", 20, 48, False)),
        (ShuffleUnit(16, 4, 8), 16, ("shufflenet-v2", 8, 4, False)),
    ],
)
def test_the_finder_knows_them(block: nn.Module, outputs: int, expected: tuple[str, int, int, bool]) -> None:
    [found] = find_blocks(network(block, first=16, last=outputs), torch.rand(2, 3, SIDE, SIDE)).blocks
    assert (found.kind, found.K, found.R, found.identity) == expected


def test_a_unit_with_a_stride_has_a_branch() -> None:
    found = find_blocks(network(ShuffleUnit(16, 4, 12, stride=2), first=16, last=24), torch.rand(2, 3, SIDE, SIDE))
    assert [(one.kind, one.K, one.R) for one in found.blocks] == [
        ("depthwise-separable", 12, 16),
        ("shufflenet-v2", 12, 4),
    ]


# Blocks of architectures as the layers make them: name of the block, and the block.
TWINS = [
    ("bottleneck:20-4-4-1-1", "block1_1", lambda: Bottleneck(4, 4, 16)),
    ("bottleneck:20-4-4-1-1", "block1_2", lambda: Bottleneck(16, 4, 16)),
    ("bottleneck:20-4-4-1-1", "block2_1", lambda: Bottleneck(16, 8, 32, stride=2)),
    ("bottleneck:20-4-1-1-1", "block1_1", lambda: Bottleneck(4, 4, 4, shortcut="projection", first_kernel=3)),
    ("bottleneck:20-4-1-1-1", "block2_1", lambda: Bottleneck(4, 8, 8, stride=2, first_kernel=3)),
    ("bottleneck:20-4-1-1-1", "block2_2", lambda: Bottleneck(8, 8, 8)),
    ("bottleneck:20-8-2-4-1", "block3_1", lambda: ResNeXt(32, 32, 64, cardinality=4, stride=2)),
    ("bottleneck:20-8-2-4-1", "block3_2", lambda: ResNeXt(64, 32, 64, cardinality=4)),
    ("shufflenet:20-4-2-1", "block1_1", lambda: ShuffleUnit(24, 4, 8, stride=2)),
    ("shufflenet:20-4-2-1", "block2_2", lambda: ShuffleUnit(32, 8, 16)),
    ("shufflenet:20-4-1-1", "block2_1", lambda: ShuffleUnit(8, 8, 8, stride=2, first_kernel=3)),
]


@pytest.mark.parametrize(("name", "place", "make"), TWINS)
def test_the_same_bits_as_in_our_architectures(name: str, place: str, make: type[nn.Module]) -> None:
    torch.manual_seed(0)
    module = spread_norms(build(parse_model(name, input_shape=(3, 16, 16), classes=4)))
    old, new = module.get_submodule(place), make()
    new.load_state_dict(old.state_dict())
    inputs = next(part.in_channels for part in old.modules() if isinstance(part, nn.Conv2d))
    halved = isinstance(new, ShuffleUnit) and new.branch is None
    x = torch.randn(2, inputs * (2 if halved else 1), SIDE, SIDE)
    for mode in (False, True):
        expected = old.train(mode)(x)
        expected = expected if isinstance(new, ShuffleUnit) else torch.relu(expected)
        assert torch.equal(new.train(mode)(x), expected)


# Groups of blocks as in the networks that the blocks come from, narrow: (K or half, R, blocks).
def resnet_50_like() -> nn.Sequential:
    blocks: list[nn.Module] = []
    channels = 4
    for group, count in enumerate((3, 4, 6, 3)):
        for place in range(count):
            stride = 2 if group and not place else 1
            blocks.append(Bottleneck(channels, 4 << group, 16 << group, stride=stride))
            channels = 16 << group
    return network(*blocks, first=4, last=channels)


def mobilenet_v2_like() -> nn.Sequential:
    blocks: list[nn.Module] = [DepthwiseSeparable(8, 4)]
    channels = 4
    for times, outputs, count, stride in ((6, 6, 2, 2), (6, 8, 3, 2), (6, 16, 4, 2), (6, 24, 3, 1)):
        for place in range(count):
            blocks.append(InvertedResidual(channels, times * channels, outputs, stride=1 if place else stride))
            channels = outputs
    return network(*blocks, first=8, last=channels)


def shufflenet_v2_like() -> nn.Sequential:
    blocks: list[nn.Module] = []
    channels = 6
    for group, count in enumerate((4, 8, 4)):
        for place in range(count):
            half = 4 << group
            blocks.append(ShuffleUnit(channels, half, half, stride=1 if place else 2))
            channels = 2 * half
    return network(*blocks, first=6, last=channels)


@pytest.mark.parametrize(
    ("make", "blocks"), [(resnet_50_like, 16), (mobilenet_v2_like, 13), (shufflenet_v2_like, 16 + 3)]
)
def test_the_counts_of_whole_networks_are_those_of_torch(make: type[nn.Sequential], blocks: int) -> None:
    """Parameters and FLOPs of the blocks, of what is in none of them, and their sum, by torch's own counter."""
    module, x = make(), torch.rand(1, 3, 16, 16)
    found = find_blocks(module, torch.cat([x, x]))
    assert len(found.blocks) == blocks
    with FlopCounterMode(display=False, depth=9) as counter:
        module(x)
    counted = {
        name.removeprefix(f"{type(module).__name__}."): sum(by_kind.values())
        for name, by_kind in counter.get_flop_counts().items()
    }
    inside = {layer for block in found.blocks for layer in block.layers}
    convolutions = {name: part for name, part in module.named_modules() if isinstance(part, nn.Conv2d)}
    for block in found.blocks:
        assert block.flops == sum(counted[layer] for layer in block.layers)
        norms = [module.get_submodule(f"{layer}_norm") for layer in block.layers]
        parts = [*(convolutions[layer] for layer in block.layers), *norms]
        assert block.parameters == sum(p.numel() for part in parts for p in part.parameters())
    rest = sum(counted[name] for name in convolutions if name not in inside)
    head = module[-1]
    assert isinstance(head, nn.Linear)
    rest += 2 * head.weight.numel()
    assert sum(block.flops for block in found.blocks) + rest == counter.get_total_flops()
    assert found.parameters == sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_any_number_of_dimensions(dimensions: int) -> None:
    block = Bottleneck(6, 2, 8, stride=2, dimensions=dimensions)
    assert block(torch.rand(2, 6, *[SIDE] * dimensions)).shape == (2, 8, *[SIDE // 2] * dimensions)


def test_wrong_sizes_are_named() -> None:
    with pytest.raises(PactError, match=r"K.*got 0"):
        Bottleneck(16, 4, 0)
    with pytest.raises(PactError, match=r"R: must be a multiple of the cardinality 3, got 8"):
        ResNeXt(16, 8, 16, cardinality=3)
    with pytest.raises(PactError, match=r"inputs: .*2 K = 16"):
        ShuffleUnit(12, 4, 8)
    with pytest.raises(PactError, match="shortcut"):
        Bottleneck(16, 4, 16, shortcut="zeros")
    with pytest.raises(PactError, match="added to the outputs"):
        Bottleneck(16, 4, 12, shortcut="identity")
    with pytest.raises(PactError, match="dimensions"):
        DepthwiseSeparable(16, 4, dimensions=4)


def test_one_block_has_roughly_t_times_the_parameters() -> None:
    """ "Rethinking compressed CNNs" 2021, A.5.2: "roughly 1 : 2 : 4" for t = 1, 2, 4, in the first group of both."""
    resnext = [ResNeXt(64 * t, 64, 64 * t, cardinality=32).body for t in (1, 2, 4)]
    shuffled = [ShuffleUnit(116 * t, 58, 58 * t).body for t in (1, 2, 4)]
    for blocks, expected in ((resnext, (1.86, 3.57)), (shuffled, (1.90, 3.70))):
        first, *larger = (sum(p.numel() for p in block.parameters()) for block in blocks)
        assert [count / first for count in larger] == pytest.approx(expected, abs=0.01)
