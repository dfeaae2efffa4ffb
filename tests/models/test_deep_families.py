"""The deep families: published sizes, refusals, and batch norm folded into what stands before it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from torch import nn

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.layers import ChannelAffine
from netpact.models import Architecture, build, parameter_count, parse_model
from netpact.network import fold_batch_norm

# For 3 x 32 x 32 and 10 classes. Rounded as in the papers: 0.27, 0.46, 0.66, 0.85, 1.7 M (He et al. 2016, table 6);
# 36.5, 8.9, 11.0, 17.2 M (Zagoruyko and Komodakis 2016, tables 4 and 5); 1.0, 7.0, 27.2 M (Huang et al. 2017, table 2).
PUBLISHED = {
    "resnet:20-16-1": 269_722,
    "resnet:32-16-1": 464_154,
    "resnet:44-16-1": 658_586,
    "resnet:56-16-1": 853_018,
    "resnet:110-16-1": 1_727_962,
    "preresnet:110-16-1": 1_727_962,
    "wrn:28-10-1": 36_479_194,
    "wrn:40-4-1": 8_949_210,
    "wrn:16-8-1": 10_961_370,
    "wrn:22-8-1": 17_158_106,
    "densenet:40-12-1": 1_019_722,
    "densenet:100-12-1": 6_979_642,
    "densenet:100-24-1": 27_249_082,
    "alexnet:64": 2_472_266,
    # 13 convolutions with 14,710,464 weights, 2 x 4,224 numbers of batch norm, and one linear layer with 5,130.
    "vgg:16-64-1": 14_710_464 + 2 * 4_224 + 5_130,
    "vgg:16-64-2": 14_710_464 + 4_224 + 5_130,
    # By the paper's words "the same number of parameters" (Li et al. 2020, appendix A.2): 14.7 M and 36.5 M.
    "cp-vgg:16-64-100-1": 14_718_484,
    "cp-wrn:28-10-100-1": 36_469_875,
}

# Small ones of each family that has batch norm; every way in which a norm can stand is among them.
SMALL = [
    Architecture(9, (11, 4, 1), (1, 8, 8), 3),
    Architecture(10, (14, 3, 1), (3, 9, 8), 3),
    Architecture(11, (14, 4, 1), (1, 8, 8), 3),
    Architecture(12, (10, 2, 1), (1, 8, 8), 3),
    Architecture(12, (16, 1, 1), (1, 8, 8), 3),
    Architecture(13, (10, 3, 1), (1, 8, 8), 3),
    Architecture(14, (11, 4, 60, 1), (1, 8, 8), 3),
    Architecture(15, (14, 3, 100, 1), (3, 9, 8), 3),
    Architecture(16, (10, 2, 40, 1), (1, 8, 8), 3),
    Architecture(16, (16, 1, 100, 1), (1, 8, 8), 3),
    Architecture(17, (11, 2, 2, 2, 1), (1, 8, 8), 3),
    Architecture(18, (20, 2, 1, 1), (1, 8, 8), 3),
]


def as_trained(architecture: Architecture) -> nn.Module:
    """Norms as after a training: statistics near those of the data, scales and shifts of either sign."""
    module, generator = build(architecture), Seed(3).torch()
    inputs = torch.rand(32, *architecture.input_shape, generator=generator)
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.momentum = None
                part.weight.uniform_(-1.5, 1.5, generator=generator)
                part.bias.uniform_(-1, 1, generator=generator)
        module.train()(inputs)
        for part in module.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.momentum = 0.1
    return module.eval()


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameter_counts_are_the_published_ones(name: str) -> None:
    assert parameter_count(parse_model(name, input_shape=(3, 32, 32), classes=10)) == PUBLISHED[name]


@pytest.mark.parametrize(
    "name",
    [
        *("alexnet:2", "vgg:19-1-1", "resnet:8-2-1", "preresnet:8-2-2", "wrn:10-1-1", "densenet:7-2-2"),
        *(
            "cp-vgg:19-1-100-1",
            "cp-resnet:8-2-50-2",
            "cp-wrn:10-1-25-1",
            "bottleneck:11-2-2-1-1",
            "shufflenet:11-2-1-2",
        ),
    ],
)
@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32)])
def test_images_of_the_usual_data_sets_are_taken(name: str, shape: tuple[int, ...]) -> None:
    module = build(parse_model(name, input_shape=shape, classes=100))
    with torch.no_grad():
        assert module(torch.zeros(2, *shape)).shape == (2, 100)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((9, (12, 64, 1), (3, 32, 32), 10), "sizes[0]: the depth of vgg is one of 11, 13, 16, 19; got 12"),
        ((9, (16, 64, 3), (3, 32, 32), 10), "sizes[2]: the last size of vgg is norm (1 batch norm as trained, 2"),
        ((9, (16, 64), (3, 32, 32), 10), "vgg sizes are depth, channels of the first layer, norm"),
        (
            (10, (21, 16, 1), (3, 32, 32), 10),
            "the depth of resnet is 6 n + 2 with n >= 1, at most 1202; got 21",
        ),
        ((10, (2, 16, 1), (3, 32, 32), 10), "the depth of resnet is 6 n + 2"),
        ((10, (65_534, 16, 1), (3, 32, 32), 10), "at most 1202"),
        ((11, (9, 16, 1), (3, 32, 32), 10), "the depth of preresnet is 6 n + 2"),
        ((12, (8, 16, 1), (3, 32, 32), 10), "the depth of wrn is 6 n + 4"),
        ((13, (6, 16, 1), (3, 32, 32), 10), "the depth of densenet is 3 n + 4"),
        ((13, (40, 12, 1), (3, 3, 32), 10), "densenet needs images of at least 4 x 4, got 3 x 32"),
        ((10, (20, 16, 1), (784,), 10), "resnet needs images of shape (channels, height, width)"),
        ((14, (12, 64, 100, 1), (3, 32, 32), 10), "sizes[0]: the depth of vgg is one of 11, 13, 16, 19; got 12"),
        ((14, (16, 64, 100, 3), (3, 32, 32), 10), "sizes[3]: the last size of cp-vgg is norm (1 batch norm as trained"),
        ((14, (16, 64, 1), (3, 32, 32), 10), "cp-vgg sizes are depth, channels of the first layer, share of the dense"),
        ((15, (20, 16, 0, 1), (3, 32, 32), 10), "sizes[2]: must be an integer from 1 to 65,535, got 0"),
        ((8, (64, 1), (3, 32, 32), 10), "alexnet has one size, the channels of the first layer"),
    ],
)
def test_bad_sizes_are_refused(fields: tuple[int, tuple[int, ...], tuple[int, ...], int], message: str) -> None:
    with pytest.raises(PactError, match=re.escape(message)):
        Architecture(*fields)


@pytest.mark.parametrize("architecture", SMALL, ids=str)
def test_folded_computes_the_same(architecture: Architecture) -> None:
    module = as_trained(architecture)
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    folded = fold_batch_norm(module)
    inputs = torch.rand(16, *architecture.input_shape, generator=Seed(4).torch())
    with torch.no_grad():
        wanted, found = module(inputs), folded(inputs)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4 * float(wanted.abs().max()))
    assert float((wanted[0] - wanted[1]).abs().max()) > 1e-2 * float(wanted.abs().max()), "the input must matter"
    assert not any(isinstance(part, nn.BatchNorm2d) for part in folded.modules())
    assert not list(folded.buffers())
    assert folded.netpact_architecture == Architecture(
        architecture.id, (*architecture.sizes[:-1], 2), architecture.input_shape, architecture.classes
    )
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())


def test_norms_go_into_convolutions_where_they_can() -> None:
    def kept(text: str) -> list[str]:
        module = build(parse_model(text, input_shape=(3, 8, 8), classes=3))
        return [name for name, part in module.named_modules() if isinstance(part, ChannelAffine)]

    assert kept("vgg:16-2-2") == kept("resnet:14-2-2") == []
    assert kept("wrn:10-2-2") == ["block2_1_norm", "block3_1_norm", "last_norm"]
    assert kept("wrn:10-1-2")[0] == "block1_1.body.conv1_input_norm"
    assert len(kept("densenet:10-2-2")) == 3 * 2 + 2 + 1
    assert kept("cp-vgg:16-2-100-2") == kept("cp-resnet:14-2-100-2") == []
    assert kept("cp-wrn:10-2-100-2") == kept("wrn:10-2-2")


def test_training_mode_and_other_networks_are_refused() -> None:
    module = build(SMALL[1])
    module.get_submodule("block1_1.body.conv1_norm").train()
    with pytest.raises(PactError, match=r"block1_1\.body\.conv1_norm is in it .*eval"):
        fold_batch_norm(module)
    with pytest.raises(PactError, match="vgg:11-4-2 is folded already"):
        fold_batch_norm(build(Architecture(9, (11, 4, 2), (1, 8, 8), 3)))
    changed = build(SMALL[0])
    changed.conv1_relu = nn.Tanh().eval()
    with pytest.raises(PactError, match="no longer what vgg:11-4-1 builds"):
        fold_batch_norm(changed)
    others: list[Callable[[], nn.Module]] = [lambda: nn.Linear(2, 2), lambda: build(Architecture(1, (), (2,), 2))]
    for make in others:
        with pytest.raises(PactError, match="only networks that build made can be folded: vgg, resnet"):
            fold_batch_norm(make())


def test_weights_that_cannot_be_told_are_refused() -> None:
    module = as_trained(SMALL[0])
    module.get_buffer("conv2_norm.running_var").fill_(-1.0)
    with pytest.raises(PactError, match=r"conv2_norm: batch norm with a negative running variance"):
        fold_batch_norm(module)
    module.get_buffer("conv2_norm.running_var").fill_(1e-8)
    nn.init.constant_(module.get_parameter("conv2_norm.weight"), 3e38)
    with pytest.raises(PactError, match=r"conv2\.weight: folding gives NaN"):
        fold_batch_norm(module)
