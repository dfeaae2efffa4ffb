"""Networks with CP layers by name: ranks by the share, which layers they are, how they start, and the whole way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import netpact
from netpact.core.seed import Seed
from netpact.datasets import Data
from netpact.layers import CPConv2d
from netpact.models import Architecture, build, load_model, parameter_count, parse_model, save_weights
from netpact.models.plan import Conv
from netpact.models.tensor_plans import rank_for
from netpact.training import TrainOptions, error_rate, train

DIGITS = (1, 8, 8)


def weights_of(layer: Conv, rank: int) -> int:
    return rank * (layer.inputs + layer.outputs + layer.kernel**2)


@pytest.mark.parametrize("share", [1, 7, 50, 100, 150])
@pytest.mark.parametrize("sides", [(1, 4, 3), (3, 64, 3), (64, 128, 3), (16, 16, 5), (512, 512, 3)])
def test_the_rank_is_the_largest_within_the_share(sides: tuple[int, int, int], share: int) -> None:
    layer = Conv(*sides, padding=1)
    rank, allowed = rank_for(layer, share), share * sides[0] * sides[1] * sides[2] ** 2 / 100
    assert rank >= 1
    assert rank == 1 or weights_of(layer, rank) <= allowed
    assert weights_of(layer, rank + 1) > allowed


def test_the_ranks_of_the_papers_network() -> None:
    """CP-VGG-16: 512 to 512 channels, 3x3, has rank 2,283; the first layer 1,728 weights at 76 each."""
    module = build(parse_model("cp-vgg:16-64-100-1", input_shape=(3, 32, 32), classes=10))
    ranks = [part.rank for part in module.modules() if isinstance(part, CPConv2d)]
    assert (ranks[0], ranks[-1]) == (1_728 // 76, 512 * 512 * 9 // 1_033) == (22, 2_283)
    assert len(ranks) == 13


@pytest.mark.parametrize("name", ["cp-vgg:11-2-100-1", "cp-resnet:8-2-50-1", "cp-wrn:10-2-25-2"])
def test_kernels_above_one_pixel_are_cp_layers_and_no_others(name: str) -> None:
    module = build(parse_model(name, input_shape=(3, 16, 16), classes=4))
    chains = {path for path, part in module.named_modules() if isinstance(part, CPConv2d)}
    left = [
        (p, m) for p, m in module.named_modules() if isinstance(m, nn.Conv2d) and p.rpartition(".")[0] not in chains
    ]
    assert chains
    assert all(part.kernel_size == (1, 1) for _, part in left)
    assert bool(left) == name.startswith("cp-wrn"), "its shortcuts are 1x1 convolutions"
    assert type(module.get_submodule("fc1")) is nn.Linear


def test_a_smaller_share_has_fewer_parameters() -> None:
    counts = [
        parameter_count(parse_model(f"cp-wrn:16-4-{share}-1", input_shape=(3, 32, 32), classes=10))
        for share in (100, 50, 25, 12)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[3] < 0.16 * counts[0]


def test_the_composed_kernel_starts_with_the_variance_of_a_dense_one() -> None:
    module = build(Architecture(14, (11, 32, 100, 2), (3, 8, 8), 10), seed=Seed(5))
    ratios = []
    for part in module.modules():
        if isinstance(part, CPConv2d) and part.rank > 100:
            dense = part.to_dense().weight.detach()
            ratios.append(float(dense.var()) * 3 * dense[0].numel())
    assert len(ratios) >= 4
    assert all(0.8 < ratio < 1.25 for ratio in ratios), ratios


def test_build_leaves_the_global_random_state() -> None:
    before = torch.random.get_rng_state()
    build(Architecture(16, (10, 1, 50, 1), DIGITS, 10))
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.fixture(scope="module")
def trained(digits: Data) -> nn.Module:
    module = build(parse_model("cp-resnet:8-4-60-1", input_shape=digits.input_shape, classes=10))
    return train(module, digits.train, TrainOptions(epochs=8, batch_size=64, learning_rate=2e-2, seed=Seed(3))).module


def test_weight_files(trained: nn.Module, tmp_path: Path) -> None:
    again = load_model(save_weights(trained, tmp_path / "cp.safetensors"))
    assert str(again.netpact_architecture) == "cp-resnet:8-4-60-1"
    for name, tensor in trained.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor)


def test_certified_and_verified_in_a_fresh_process(trained: nn.Module, digits: Data, tmp_path: Path) -> None:
    assert digits.test is not None
    errors, samples = error_rate(trained, digits.test)
    assert errors < 0.1 * samples
    folded = netpact.fold_batch_norm(trained)
    assert not any(isinstance(part, nn.BatchNorm2d) for part in folded.modules())
    compressed = netpact.compress(netpact.trace(folded, digits), netpact.Quantize(bits=6), arithmetic="float64")
    pact = netpact.certify(netpact.seal(compressed), digits)
    assert pact.certificate is not None
    assert (pact.certificate.near_ties, pact.certificate.arithmetic) == (0, "float64")
    assert pact.certificate.errors < 0.1 * digits.train.count
    assert pact.decoder_version == 3
    decoded = pact.to_module()
    assert isinstance(decoded.get_submodule("stem"), CPConv2d)
    path = pact.write(tmp_path / "cp.pact")
    command = [sys.executable, "-m", "netpact", "verify", str(path), "--data", "digits"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "errs on at most" in found.stderr
