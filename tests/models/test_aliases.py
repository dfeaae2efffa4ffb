from __future__ import annotations

import re

import pytest

from netpact.core.errors import PactError
from netpact.models import names, parameter_count, parse_model
from netpact.models.aliases import ALIAS_HINT, expand_alias

SHAPE = (3, 32, 32)
MEANINGS = {
    "vgg11": "vgg:11-64-1",
    "VGG-16": "vgg:16-64-1",
    "vgg19_bn": "vgg:19-64-1",
    "vgg19-plain": "vgg:19-64-2",
    "VGG16-folded": "vgg:16-64-2",
    "resnet20": "resnet:20-16-1",
    "ResNet-110": "resnet:110-16-1",
    "resnet-56-folded": "resnet:56-16-2",
    "preresnet110": "preresnet:110-16-1",
    "PreAct-ResNet-20": "preresnet:20-16-1",
    "wrn-28-10": "wrn:28-10-1",
    "WRN-16-4": "wrn:16-4-1",
    "wrn40-2": "wrn:40-2-1",
    "WideResNet-28-10-folded": "wrn:28-10-2",
    "densenet-40": "densenet:40-12-1",
    "densenet40-12": "densenet:40-12-1",
    "DenseNet-100-24": "densenet:100-24-1",
    "CP-VGG-16": "cp-vgg:16-64-100-1",
    "cpvgg11-plain": "cp-vgg:11-64-100-2",
    "CP-ResNet-20": "cp-resnet:20-16-100-1",
    "cp-wrn-28-10": "cp-wrn:28-10-100-1",
    "CP-WideResNet-16-4-folded": "cp-wrn:16-4-100-2",
    "ResNet-41-t4": "bottleneck:41-64-4-1-1",
    "resnet41-t-16-folded": "bottleneck:41-64-16-1-2",
    "ResNeXt-41-t2": "bottleneck:41-64-2-32-1",
    "ShuffleNet-v2-50-t1": "shufflenet:50-58-1-1",
    "AlexNet": "alexnet:64",
    "lenet-5": "lenet5",
    "LeNet5": "lenet5",
    "LeNet-300-100": "mlp:300-100",
}


@pytest.mark.parametrize(("alias", "name"), MEANINGS.items())
def test_a_papers_name_is_read(alias: str, name: str) -> None:
    read = parse_model(alias, input_shape=SHAPE, classes=10)
    assert str(read) == name
    assert read == parse_model(name, input_shape=SHAPE, classes=10)


def test_parameters_are_those_of_the_papers() -> None:
    """In millions, from the tables of He et al. 2016, Zagoruyko and Komodakis 2016, Huang et al. 2017."""
    for alias, millions in {"ResNet-110": 1.7, "WRN-28-10": 36.5, "WRN-16-4": 2.7, "DenseNet-40": 1.0}.items():
        counted = parameter_count(parse_model(alias, input_shape=SHAPE, classes=10)) / 1e6
        assert round(counted, 1) == millions or round(counted) == millions


@pytest.mark.parametrize(
    "text",
    [
        *("ResNet-50", "resnet152", "resnet_50", "resnet-50-folded", "preresnet-164", "densenet121", "DenseNet-169"),
        "CP-ResNet-50",
    ],
)
def test_names_of_other_networks_are_not_taken_for_ours(text: str) -> None:
    """Depth 50 would fit our rule, but the paper's network of that name has bottlenecks."""
    with pytest.raises(PactError, match="other blocks") as caught:
        parse_model(text, input_shape=SHAPE, classes=10)
    (name,) = re.findall(r"write ([a-z-]+:[\d-]+-[12]) ", caught.value.hint)
    assert str(parse_model(name, input_shape=SHAPE, classes=10)) == name


@pytest.mark.parametrize(
    "text",
    [
        *("lenet", "MLP", "vgg-", "vgg-16-", "vgg16-64-1", "wrn2810", "wrn-28", "resnet-20-16", "resnet20-plain"),
        *("alexnet-folded", "lenet5-folded", "vgg٣", "vgg-99999", "vgg" + "9" * 5000, "-folded", "-plain", "vgg16:1"),
        *("resnet20 ", "resnet20\n", "cp-resnet20-plain", "cp-alexnet", "cp-densenet-40", "cp-vgg-16-50"),
    ],
)
def test_other_spellings_are_refused_with_the_names_that_are_known(text: str) -> None:
    assert expand_alias(text) is None
    with pytest.raises(PactError, match="is not known") as caught:
        parse_model(text, input_shape=SHAPE, classes=10)
    assert all(name in caught.value.what for name in names())
    assert caught.value.hint.endswith(ALIAS_HINT)


def test_every_name_in_the_hint_is_read() -> None:
    listed = re.findall(r"(?:cp-)?[a-z]+-v?\d[\w-]*|alexnet", ALIAS_HINT)
    assert len(listed) == 16
    for alias in listed:
        parse_model(alias, input_shape=SHAPE, classes=10)


def test_names_of_ours_mean_what_they_meant() -> None:
    for name in names():
        assert expand_alias(name) in (None, name)
