"""Corollary 1: R kernels compute what K > R kernels of rank R do, where only linear maps lie behind them."""

from __future__ import annotations

import pytest
import torch
from network.block_samples import SIDE, Three, classifier, conv, images
from torch import nn

import netpact
from netpact.core.errors import PactError
from netpact.layers import CPConv2d, TuckerConv2d
from netpact.network.blocks import explain_collapse

RANK, KERNELS = 3, 12


def low_rank(
    inputs: int, outputs: int, rank: int, kernel: int = 3, *, padding: int = 1, bias: bool = False
) -> nn.Conv2d:
    layer = nn.Conv2d(inputs, outputs, kernel, padding=padding, bias=bias)
    with torch.no_grad():
        layer.weight.copy_(
            torch.einsum("kr,rcij->kcij", torch.randn(outputs, rank), torch.randn(rank, inputs, kernel, kernel))
        )
    return layer


def flat(channels: int, side: int = SIDE // 2) -> list[nn.Module]:
    return [nn.AvgPool2d(2), nn.Flatten(), nn.Linear(channels * side**2, 4)]


CASES = {
    "kernels of low rank, average pooling, linear": lambda: [low_rank(3, KERNELS, RANK), *flat(KERNELS)],
    "with a bias that the next layer can take": lambda: [low_rank(3, KERNELS, RANK, bias=True), *flat(KERNELS)],
    "1x1 behind a core": lambda: [conv(3, RANK, 3), conv(RANK, KERNELS), *flat(KERNELS)],
    "CP form": lambda: [CPConv2d(3, KERNELS, 3, rank=RANK, padding=1), *flat(KERNELS)],
    "Tucker form": lambda: [TuckerConv2d(3, KERNELS, 3, (RANK, 2), padding=1), *flat(KERNELS)],
    "a convolution behind": lambda: [low_rank(3, KERNELS, RANK), conv(KERNELS, 5, 3), nn.ReLU(), *flat(5)],
    "all pixels averaged": lambda: [
        low_rank(3, KERNELS, RANK),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(KERNELS, 4),
    ],
    "overlapping windows": lambda: [
        low_rank(3, KERNELS, RANK),
        nn.AvgPool2d(3, 1),
        nn.Flatten(),
        nn.Linear(KERNELS * 36, 4),
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_the_collapsed_network_computes_the_same(name: str) -> None:
    torch.manual_seed(0)
    network = nn.Sequential(*CASES[name]()).eval()
    found = explain_collapse(network, images())
    [row] = found.changed
    assert (row.K, row.R) == (KERNELS, RANK)
    x = torch.rand(7, 3, SIDE, SIDE)
    torch.testing.assert_close(found.module(x), network(x), rtol=1e-4, atol=1e-5)
    widths = [part.weight.shape[0] for part in found.module.modules() if isinstance(part, nn.Conv2d)]
    assert KERNELS not in widths
    parameters = [sum(p.numel() for p in one.parameters()) for one in (network, found.module)]
    assert parameters[1] < parameters[0]


def test_each_kernel_of_a_collapsed_cp_layer_has_rank_1() -> None:
    """Corollary 1 (b) prints rank R for each of the R kernels."""
    torch.manual_seed(0)
    network = nn.Sequential(CPConv2d(3, KERNELS, 3, rank=RANK, padding=1, bias=False), *flat(KERNELS)).eval()
    found = netpact.collapse(network, images())
    assert isinstance(found, nn.Sequential)
    impulses = torch.zeros(3, 3, 5, 5)
    impulses[torch.arange(3), torch.arange(3), 2, 2] = 1
    kernels = found[0](impulses).detach()[:, :, 1:4, 1:4].transpose(0, 1).flatten(2)
    assert kernels.shape == (RANK, 3, 9)
    assert [int(torch.linalg.matrix_rank(kernel)) for kernel in kernels] == [1] * RANK


def test_a_bias_behind_which_padding_lies_takes_one_kernel_more() -> None:
    torch.manual_seed(0)
    layers = [low_rank(3, KERNELS, RANK, bias=True), conv(KERNELS, 5, 3), nn.ReLU(), *flat(5)]
    network = nn.Sequential(*layers).eval()
    found = explain_collapse(network, images())
    [row] = found.changed
    assert (row.K, row.R) == (KERNELS, RANK + 1)
    x = torch.rand(7, 3, SIDE, SIDE)
    torch.testing.assert_close(found.module(x), network(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("layers", "why"),
    [
        (lambda: [low_rank(3, KERNELS, RANK), nn.ReLU(), *flat(KERNELS)], "relu lies between"),
        (lambda: [low_rank(3, KERNELS, RANK), nn.MaxPool2d(2), *flat(KERNELS, 2)], "max_pool2d lies between"),
        (lambda: [low_rank(3, KERNELS, RANK), nn.BatchNorm2d(KERNELS), *flat(KERNELS)], "batch_norm lies between"),
        (lambda: [low_rank(3, KERNELS, RANK)], "outputs"),
        (
            lambda: [low_rank(3, 4, RANK, bias=True), conv(4, 5, 3), nn.ReLU(), *flat(5)],
            "its bias takes one kernel more",
        ),
        (lambda: [low_rank(3, KERNELS, RANK), conv(KERNELS, 24, 3, groups=3), nn.ReLU(), *flat(24)], "lies between"),
    ],
)
def test_where_it_is_not_possible(layers: object, why: str) -> None:
    torch.manual_seed(0)
    network = nn.Sequential(*layers()).eval()  # type: ignore[operator]
    found = explain_collapse(network, images())
    assert not found.changed
    [row] = [row for row in found.rows if row.name == "0"]
    assert why in row.why
    assert why in str(found)


def test_an_activation_between_makes_the_corollary_false() -> None:
    """What the layer would be replaced by computes something else there."""
    torch.manual_seed(0)
    linear = nn.Sequential(low_rank(3, KERNELS, RANK), nn.Identity(), *flat(KERNELS)).eval()
    narrow = netpact.collapse(linear, images())
    assert isinstance(narrow, nn.Sequential)
    linear[1] = narrow[1] = nn.ReLU()
    x = torch.rand(5, 3, SIDE, SIDE)
    assert float((linear(x) - narrow(x)).detach().abs().max()) > 0.1


def test_without_data_the_first_layer_says_what_it_reads() -> None:
    torch.manual_seed(0)
    network = nn.Sequential(
        low_rank(3, KERNELS, RANK), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(KERNELS * 16**2, 4)
    ).train()
    found = netpact.collapse(network)
    x = torch.rand(3, 3, 32, 32)
    torch.testing.assert_close(found(x), network.eval()(x), rtol=1e-4, atol=1e-5)
    with pytest.raises(PactError, match="give data"):
        netpact.collapse(nn.Sequential(nn.Flatten(), nn.Identity()))


def test_full_rank_and_the_given_network_stay() -> None:
    torch.manual_seed(0)
    network = classifier(Three(16, 16, 16), channels=16).train()
    before = [parameter.clone() for parameter in network.parameters()]
    found = explain_collapse(network, images())
    assert not found.changed
    assert network.training
    assert not found.module.training
    assert all(torch.equal(old, new) for old, new in zip(before, network.parameters(), strict=True))


def test_the_result_can_be_traced_and_certified() -> None:
    torch.manual_seed(0)
    x, y = images(60)
    network = nn.Sequential(CPConv2d(3, KERNELS, 3, rank=RANK, padding=1), *flat(KERNELS)).eval()
    data = netpact.as_data((x, y))
    found = netpact.collapse(network, data)
    traced = netpact.trace(found, data)
    assert [layer.kind for layer in traced.layers] == ["conv2d", "conv2d", "linear"]
    assert netpact.certify(
        netpact.seal(netpact.compress(traced, netpact.Quantize(bits=6))), data, model=lambda: found
    ).certificate


@pytest.mark.parametrize("tolerance", [-1.0, 1.0, float("nan"), "small"])
def test_wrong_tolerances(tolerance: object) -> None:
    with pytest.raises(PactError, match="tolerance"):
        netpact.collapse(nn.Linear(3, 2), tolerance=tolerance)  # type: ignore[arg-type]
