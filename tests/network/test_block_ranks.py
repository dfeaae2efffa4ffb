"""Ranks of a block's output channels: blocks whose ranks are known because they were made so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from network.block_samples import Three, classifier, conv, images
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.layers import Bottleneck, CPConv2d, DepthwiseSeparable, InvertedResidual, ResNeXt, ShuffleUnit
from netpact.network.blocks import Ranks, find_ranks
from netpact.network.blocks.finding import list_parts
from netpact.network.blocks.ranks import Spread, kernel_values
from netpact.network.blocks.wiring import Wiring

X = torch.rand(12, 3, 8, 8, generator=torch.Generator().manual_seed(3))


def ranks_of(*blocks: nn.Module, channels: int, x: Tensor = X, **options: float) -> Ranks:
    [block] = find_ranks(classifier(*blocks, channels=channels), x, **options).blocks  # type: ignore[arg-type]
    assert block.ranks is not None
    return block.ranks


def of_rank(layer: Any, rank: int) -> nn.Conv2d:
    """A layer whose kernels span so many dimensions."""
    assert isinstance(layer, nn.Conv2d)
    with torch.no_grad():
        u, s, v = torch.linalg.svd(layer.weight.flatten(1), full_matrices=False)
        s[rank:] = 0
        layer.weight.copy_((u * s @ v).reshape(layer.weight.shape))
    return layer


def test_channels_beyond_the_rank_are_linear_combinations() -> None:
    torch.manual_seed(0)
    found = ranks_of(Bottleneck(16, 4, 12), channels=12)
    assert (found.weights, found.data) == (4, 4)
    assert found.output == 12, "behind the ReLU, they are no longer"
    assert found.vectors == 12 * 64


@pytest.mark.parametrize(
    ("block", "channels", "rank"),
    [
        (lambda: Three(16, 8, 20, groups=4), 20, 8),
        (lambda: ResNeXt(16, 6, 10, cardinality=2), 10, 6),
        (lambda: InvertedResidual(16, 30, 10), 10, 10),
        (lambda: DepthwiseSeparable(16, 24), 24, 16),
        (lambda: ShuffleUnit(16, 3, 8), 16, 3),
        (lambda: CPConv2d(16, 20, 3, rank=5), 20, 5),
    ],
)
def test_every_kind(block: Callable[[], nn.Module], channels: int, rank: int) -> None:
    torch.manual_seed(0)
    made = block()
    for name, norm in made.named_modules():
        if isinstance(norm, nn.BatchNorm2d) and "conv3" not in name:
            norm.bias.data.fill_(3.0)  # no channel of zeros behind a ReLU
    found = ranks_of(made, channels=channels)
    assert (found.weights, found.data) == (rank, rank)


def test_a_lower_rank_is_seen() -> None:
    """The last layer, the core, and the first layer: the kernel's rank is at most that of each."""
    torch.manual_seed(1)
    block = Bottleneck(16, 6, 12)
    of_rank(block.body.conv3, 3)
    found = ranks_of(block, channels=12)
    assert (found.weights, found.data) == (3, 3)
    block = Bottleneck(16, 6, 12)
    of_rank(block.body.conv2, 2)
    found = ranks_of(block, channels=12)
    assert found.weights == 2
    assert found.data == 6, "the ReLU behind the core makes more dimensions of two"
    linear = nn.Sequential(conv(16, 6), of_rank(conv(6, 6, 3), 2), conv(6, 12))
    found = ranks_of(linear, channels=12)
    assert (found.weights, found.data, found.output) == (2, 2, 2)


def test_activations_that_work_in_place() -> None:
    torch.manual_seed(0)
    layers = conv(16, 6), conv(6, 4, 3), conv(4, 12), nn.ReLU(inplace=True)
    found = ranks_of(nn.Sequential(*layers), channels=12)
    assert (found.data, found.output) == (4, 12)


def test_a_batch_norm_that_silences_channels() -> None:
    torch.manual_seed(2)
    block: Any = Bottleneck(16, 6, 12)
    with torch.no_grad():
        block.body.conv2_norm.weight[:4] = 0
        block.body.conv2_norm.bias[:4] = -1.0
    found = ranks_of(block, channels=12)
    assert (found.weights, found.data) == (2, 2)


def test_the_tolerance() -> None:
    """Singular values 1, 1e-2, 1e-4 of the last layer on two orthogonal inputs and one more."""
    torch.manual_seed(3)
    block: Any = nn.Sequential(conv(16, 3), conv(3, 3, 3), conv(3, 3))
    with torch.no_grad():
        block[0].weight.copy_(torch.eye(16)[:3].reshape(3, 16, 1, 1))
        block[1].weight.copy_(torch.zeros(3, 3, 3, 3))
        block[1].weight[:, :, 1, 1] = torch.eye(3)
        block[2].weight.copy_(torch.diag(torch.tensor([1.0, 1e-2, 1e-4])).reshape(3, 3, 1, 1))
    assert [ranks_of(block, channels=3, tolerance=bar).weights for bar in (1e-6, 1e-3, 0.5)] == [3, 2, 1]
    assert ranks_of(block, channels=3, tolerance=0.0100001).weights == 1


def test_the_kernel_is_the_one_that_the_block_computes() -> None:
    """Against the response to every unit impulse, with the activations taken out."""
    torch.manual_seed(4)
    block: Any = nn.Sequential(conv(16, 4), nn.BatchNorm2d(4), conv(4, 4, 3, groups=2), nn.BatchNorm2d(4), conv(4, 9))
    for norm in (block[1], block[3]):
        norm.weight.data.uniform_(0.5, 2)
        norm.running_var.uniform_(0.5, 2)
    module = classifier(block, channels=9).eval()
    [found] = find_ranks(module, X).blocks
    impulses = torch.eye(16).reshape(16, 16, 1, 1) * torch.zeros(1, 1, 3, 3)
    impulses[:, :, 1, 1] = torch.eye(16)
    responses = block.eval()(impulses) - block(torch.zeros(1, 16, 3, 3))
    wiring = Wiring(module, X[:2])
    [parts] = list_parts(wiring, [found])
    expected = torch.linalg.svdvals(responses.transpose(0, 1).flatten(1))
    torch.testing.assert_close(kernel_values(parts)[:4], expected[:4], rtol=1e-4, atol=1e-5)


def test_batches_together_are_one() -> None:
    torch.manual_seed(5)
    x = torch.randn(7, 3, 2, 2, dtype=torch.float64) + torch.tensor([1e3, 0.0, 0.0])[:, None, None]
    whole, merged = Spread.of(x), Spread.of(x[:4]).merge(Spread.of(x[4:]))
    rows = x.movedim(1, -1).reshape(-1, 3)
    expected = torch.linalg.svdvals(rows - rows.mean(dim=0)).flip(0)
    for one in (whole, merged):
        torch.testing.assert_close(one.values(), expected)
        assert one.count == 28
    torch.testing.assert_close(merged.mean, rows.mean(dim=0))


def test_few_samples_give_few_dimensions() -> None:
    """Two vectors minus their mean span one dimension."""
    torch.manual_seed(6)
    network = nn.Sequential(Bottleneck(3, 4, 8, shortcut="none"), nn.Flatten(), nn.Linear(8, 2)).eval()
    [block] = find_ranks(network, torch.rand(2, 3, 1, 1)).blocks
    assert block.ranks is not None
    assert (block.ranks.data, block.ranks.weights, block.ranks.vectors) == (1, 4, 2)


def test_without_data_and_with_data_sets() -> None:
    module = classifier(Bottleneck(16, 4, 12), channels=12)
    [alone] = find_ranks(module).blocks
    assert alone.ranks is not None
    assert (alone.ranks.weights, alone.ranks.data, alone.ranks.output) == (4, None, None)
    [none] = find_ranks(module, X, samples=0).blocks
    assert none.ranks == alone.ranks
    [some] = find_ranks(module, images(4), samples=3).blocks
    assert some.ranks is not None
    assert some.ranks.vectors == 3 * 64
    shown = str(find_ranks(module, X))
    assert "rank of the output channels" in shown
    assert "1e-06" in shown
    assert max(map(len, shown.splitlines())) <= 160
    told = some.to_json()
    assert (told["weight_rank"], told["data_rank"], told["rank_tolerance"]) == (4, 4, 1e-6)


def test_the_network_is_not_changed() -> None:
    module = classifier(Bottleneck(16, 4, 12), channels=12).train()
    find_ranks(module, X)
    assert module.training
    assert next(module.parameters()).dtype == torch.float32


def test_wrong_arguments() -> None:
    module = classifier(Bottleneck(16, 4, 12), channels=12)
    with pytest.raises(PactError, match="tolerance"):
        find_ranks(module, X, tolerance=1e-12)
    with pytest.raises(PactError, match="samples"):
        find_ranks(module, X, samples=-1)
