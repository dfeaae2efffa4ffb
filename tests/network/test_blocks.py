"""Blocks are found by what is wired to what, their costs are torch's own counts."""

from __future__ import annotations

import pytest
import torch
from network.block_samples import Fire, PreThree, Shuffled, Tapped, Three, Turned, Twice, classifier, conv, images
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from netpact.core.errors import PactError
from netpact.layers import CPConv2d, TuckerConv2d
from netpact.network.blocks import Block, find_blocks


def only_block(*blocks: nn.Module, channels: int) -> Block:
    [found] = find_blocks(classifier(*blocks, channels=channels), images()).blocks
    return found


@pytest.mark.parametrize(
    ("block", "channels", "kind", "rank"),
    [
        (Three(16, 4, 32), 32, "bottleneck", 4),
        (Three(16, 4, 16), 16, "bottleneck", 4),
        (Three(16, 16, 16), 16, "funnel", 16),
        (Three(16, 32, 16), 16, "funnel", 32),
        (Three(16, 8, 16, groups=4), 16, "resnext", 8),
        (Three(16, 48, 16, groups=48), 16, "inverted-residual", 48),
        (Three(16, 8, 32, groups=8), 32, "depthwise-bottleneck", 8),
        (PreThree(16, 4), 16, "bottleneck", 4),
        (Shuffled(16, 4), 16, "shufflenet-v2", 4),
        (
            nn.Sequential(conv(16, 16, 3, groups=16), nn.BatchNorm2d(16), nn.ReLU6(), conv(16, 40)),
            40,
            *("depthwise-separable", 16),
        ),
        (nn.Sequential(conv(16, 32, 3, groups=16), nn.ReLU(), conv(32, 40)), 40, "depthwise-separable", 32),
        (nn.Sequential(conv(16, 6), nn.ReLU(), conv(6, 10, 3), nn.ReLU()), 10, "funnel", 10),
        (CPConv2d(16, 20, 3, rank=5), 20, "depthwise-bottleneck", 5),
        (TuckerConv2d(16, 20, 3, (6, 5)), 20, "bottleneck", 6),
    ],
)
def test_kinds_and_ranks(block: nn.Module, channels: int, kind: str, rank: int) -> None:
    found = only_block(block, channels=channels)
    outputs = channels // 2 if kind == "shufflenet-v2" else channels
    assert (found.kind, found.K, found.R) == (kind, outputs, rank)
    assert found.redundant == (outputs > rank)
    assert found.ratio == outputs / rank


@pytest.mark.parametrize(
    "block",
    [
        Fire(16, 4, 8),
        Turned(16, 4, 8),
        Tapped(16, 4),
        Twice(16),
        nn.Sequential(conv(16, 16, 3), nn.ReLU(), conv(16, 16, 3)),
        nn.Sequential(conv(16, 4), nn.ReLU(), conv(4, 16)),
        nn.Sequential(conv(16, 4), nn.MaxPool2d(2), conv(4, 16, 3)),
        nn.Sequential(conv(16, 16, 3), nn.ReLU(), conv(16, 16)),
        nn.Sequential(conv(16, 4), nn.ReLU(), conv(4, 16, 3, groups=2)),
        nn.Sequential(conv(16, 16, 3, groups=16), nn.Dropout(), conv(16, 16, 3)),
    ],
)
def test_what_is_no_block(block: nn.Module) -> None:
    assert find_blocks(classifier(block, channels=16), images()).blocks == ()


def test_every_layer_is_in_one_block() -> None:
    network = classifier(Three(16, 4, 16), Three(16, 4, 16), PreThree(16, 4), Shuffled(16, 8), channels=16)
    found = find_blocks(network, images())
    assert [block.name for block in found.blocks] == ["2", "3", "4.layers", "5.body"]
    layers = [layer for block in found.blocks for layer in block.layers]
    assert len(layers) == len(set(layers)) == 12


def test_blocks_of_one_sequence_are_named_by_their_layers() -> None:
    parts = [conv(16, 16, 3, groups=16), nn.ReLU(), conv(16, 16), nn.ReLU()]
    again = [conv(16, 16, 3, groups=16), nn.ReLU(), conv(16, 16), nn.ReLU()]
    found = find_blocks(classifier(*parts, *again, channels=16), images())
    assert [block.name for block in found.blocks] == ["2 to 4", "6 to 8"]


@pytest.mark.parametrize(
    "block",
    [Three(16, 4, 16), Three(16, 8, 16, groups=4), Three(16, 48, 16, groups=48), Shuffled(32, 8), PreThree(16, 4)],
)
def test_costs_are_those_that_torch_counts(block: nn.Module) -> None:
    channels = 32 if isinstance(block, Shuffled) else 16
    found = only_block(block, channels=channels) if channels == 16 else _wide(block)
    inner = block.body if isinstance(block, Shuffled) else block
    norms = [part for part in inner.modules() if isinstance(part, nn.BatchNorm2d)]
    if isinstance(block, PreThree):
        norms = norms[1:]  # the first one stands before the block
    layers = [part for part in inner.modules() if isinstance(part, nn.Conv2d)]
    assert found.parameters == sum(p.numel() for part in (*layers, *norms) for p in part.parameters())
    with FlopCounterMode(display=False) as counter:
        block(torch.rand(1, channels, 8, 8))
    assert found.flops == counter.get_total_flops()


def _wide(block: nn.Module) -> Block:
    [found] = find_blocks(classifier(block, channels=32, first=32), images()).blocks
    return found


@pytest.mark.parametrize("ratio", [1, 2, 4])
def test_the_costs_at_ratio_1_are_those_of_a_block_with_as_many_outputs(ratio: int) -> None:
    """With an identity around it the inputs shrink as well; with a projection they stay."""
    rank = 8
    added = only_block(Three(16, rank, 16), channels=16)
    assert added.identity
    [narrow] = find_blocks(classifier(Three(rank, rank, rank), channels=rank, first=rank), images()).blocks
    assert (added.parameters_at_ratio_1, added.flops_at_ratio_1) == (narrow.parameters, narrow.flops)
    projected = only_block(Three(16, rank, 16 * ratio, stride=2), channels=16 * ratio)
    assert not projected.identity
    straight = only_block(Three(16, rank, rank, stride=2), channels=rank)
    assert projected.parameters_at_ratio_1 == straight.parameters
    assert projected.flops_at_ratio_1 == straight.flops


def test_a_depthwise_layer_that_loses_inputs_loses_kernels() -> None:
    layers = nn.Sequential(conv(16, 16, 3, groups=16), nn.BatchNorm2d(16), nn.ReLU(), conv(16, 48), nn.BatchNorm2d(48))
    found = only_block(layers, channels=48)
    assert found.parameters == 16 * 9 + 2 * 16 + 16 * 48 + 2 * 48
    assert found.parameters_at_ratio_1 == 16 * 9 + 2 * 16 + 16 * 16 + 2 * 16


def test_networks_that_trace_refuses_have_blocks_too() -> None:
    """Videos, and an output that is no vector of logits."""
    volume = nn.Sequential(
        nn.Conv3d(3, 16, 1),
        nn.ReLU(),
        nn.Conv3d(16, 4, 1),
        nn.ReLU(),
        nn.Conv3d(4, 4, 3),
        nn.ReLU(),
        nn.Conv3d(4, 16, 1),
    )
    [found] = find_blocks(volume, torch.rand(2, 3, 6, 6, 6)).blocks
    assert (found.name, found.kind, found.K, found.R) == ("2 to 6", "bottleneck", 16, 4)
    assert found.flops == 2 * (16 * 4 * 6**3 + 4 * 4 * 27 * 4**3 + 4 * 16 * 4**3)


def test_the_network_is_not_changed() -> None:
    network = classifier(Three(16, 4, 16), channels=16).train()
    before = [parameter.clone() for parameter in network.parameters()]
    find_blocks(network, images())
    assert network.training
    assert all(torch.equal(old, new) for old, new in zip(before, network.parameters(), strict=True))


def test_the_table_and_the_sentence() -> None:
    found = find_blocks(classifier(Three(16, 4, 16), Three(16, 16, 16), channels=16), images())
    shown = str(found)
    assert "bottleneck" in shown
    assert "4 *" in shown
    own = found.blocks[0]
    assert f"{own.parameters - own.parameters_at_ratio_1:,} parameters fewer" in shown
    assert max(map(len, shown.splitlines()[:-1])) <= 80
    assert find_blocks(classifier(channels=16), images()).blocks == ()
    assert "no block" in str(find_blocks(classifier(channels=16), images()))
    assert list(found.to_json()[0])[:6] == ["name", "kind", "K", "R", "ratio", "parameters"]


def test_wrong_inputs_are_named() -> None:
    with pytest.raises(PactError, match=r"does not run on inputs of shape \(1, 8, 8\)"):
        find_blocks(classifier(Three(16, 4, 16), channels=16), images(channels=1))
