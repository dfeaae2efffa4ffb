"""Networks of bottlenecks and ShuffleNet v2: published sizes, and the same logits from a second implementation."""

from __future__ import annotations

import pytest
import torch
from network.rounding_nets import spread_norms
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from netpact.core.errors import PactError
from netpact.models import Architecture, build, parameter_count, parse_model
from netpact.network.blocks import find_blocks

# "Rethinking compressed CNNs" 2021, Tables 2 and 3: millions of parameters, and GMac for images of 32 x 32.
PRINTED = {
    "resnet-41-t1": (5.56, 0.17),
    "resnet-41-t4": (8.55, 0.26),
    "resnet-41-t8": (14.15, 0.43),
    "resnet-41-t16": (29.28, 0.87),
    "resnext-41-t1": (1.45, 0.05),
    "resnext-41-t2": (2.13, 0.07),
    "resnext-41-t4": (4.44, 0.14),
    "shufflenet-v2-50-t1": (1.33, 0.05),
    "shufflenet-v2-50-t2": (1.67, 0.08),
    "shufflenet-v2-50-t4": (3.84, 0.16),
}
SMALL = ("bottleneck:11-4-1-1-1", "bottleneck:20-4-3-2-1", "shufflenet:11-3-1-1", "shufflenet:20-2-2-1")


@pytest.mark.parametrize("name", PRINTED)
def test_parameters_and_flops_are_those_of_the_tables(name: str) -> None:
    """To the digits printed; FLOPs within their rounding, of torch's own counter, on tensors without memory."""
    millions, macs = PRINTED[name]
    architecture = parse_model(name, input_shape=(3, 32, 32), classes=10)
    count = parameter_count(architecture)
    assert abs(count / 1e6 - millions) <= 0.01
    from netpact.models.building import sketch

    with FlopCounterMode(display=False) as counter:
        sketch(architecture)(torch.rand(1, 3, 32, 32, device="meta"))
    assert abs(counter.get_total_flops() / 2e9 - macs) <= 0.007


def by_hand(module: nn.Module, x: Tensor) -> Tensor:
    """The forward pass written out from the tensors alone."""
    state = dict(module.state_dict())
    names = list(dict.fromkeys(key.split(".")[0] for key in state if key.startswith("block")))

    def conv(prefix: str, x: Tensor, *, stride: int = 1, relu: bool = True) -> Tensor:
        weight = state[f"{prefix}.weight"]
        groups = x.shape[1] // weight.shape[1]
        x = functional.conv2d(x, weight, stride=stride, padding=weight.shape[-1] // 2, groups=groups)
        means = state[f"{prefix}_norm.running_mean"], state[f"{prefix}_norm.running_var"]
        x = functional.batch_norm(x, *means, state[f"{prefix}_norm.weight"], state[f"{prefix}_norm.bias"])
        return torch.relu(x) if relu else x

    shuffled = any(".branch." in key for key in state)
    x = conv("stem", x)
    x = x if shuffled else functional.max_pool2d(x, 2)
    for name in names:
        first, later = name.endswith("_1"), not name.startswith("block1")
        stride = 2 if first and (later or shuffled) else 1
        wide = state[f"{name}.body.conv1.weight"].shape[-1] == 3
        halves = [x, x] if first else list(x.chunk(2, dim=1))
        y = halves[1] if shuffled else x
        y = conv(f"{name}.body.conv1", y, stride=stride if wide else 1)
        y = conv(f"{name}.body.conv2", y, stride=1 if wide else stride, relu=not shuffled)
        y = conv(f"{name}.body.conv3", y, relu=shuffled)
        if not shuffled:
            x = torch.relu(y + (conv(f"{name}.shortcut.conv", x, stride=stride, relu=False) if first else x))
            continue
        kept = halves[0]
        if first:
            kept = conv(f"{name}.branch.conv1", kept, stride=2, relu=False)
            kept = conv(f"{name}.branch.conv2", kept)
        x = torch.stack([kept, y], dim=2).flatten(1, 2)  # channels of the two halves in turn
    return functional.linear(x.mean(dim=(2, 3)), state["fc1.weight"], state["fc1.bias"])


@pytest.mark.parametrize("name", SMALL)
def test_a_second_implementation_computes_the_same(name: str) -> None:
    torch.manual_seed(0)
    module = spread_norms(build(parse_model(name, input_shape=(3, 16, 16), classes=4))).double().eval()
    x = torch.rand(3, 3, 16, 16, dtype=torch.float64)
    torch.testing.assert_close(by_hand(module, x), module(x))


@pytest.mark.parametrize("ratio", [1, 2, 4])
def test_the_blocks_have_their_ratio(ratio: int) -> None:
    for name, kind, count in (
        (f"bottleneck:20-4-{ratio}-1-1", "funnel" if ratio == 1 else "bottleneck", 6),
        (f"bottleneck:20-8-{ratio}-4-1", "resnext", 6),
        (f"shufflenet:20-4-{ratio}-1", "shufflenet-v2", 6),
    ):
        module = build(parse_model(name, input_shape=(3, 16, 16), classes=4))
        found = [block for block in find_blocks(module, torch.rand(2, 3, 16, 16)).blocks if block.kind == kind]
        # At t = 1 the first block of each group begins with a 3 x 3 convolution, which is no 1 x 1 one.
        assert len(found) == (count - 3 if ratio == 1 else count), name
        assert {block.ratio for block in found} == {ratio}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((17, (12, 4, 1, 1, 1), (3, 32, 32), 10), "the depth of bottleneck must be 11, 20, 29, 41, got 12"),
        ((17, (11, 4, 1, 3, 1), (3, 32, 32), 10), "must be a multiple of the cardinality, got 4 and 3"),
        ((17, (11, 4, 1, 1, 1), (3, 2, 2), 10), "bottleneck needs images of at least 4 x 4"),
        ((18, (12, 4, 1, 1), (3, 32, 32), 10), "the depth of shufflenet must be 11, 20, 50, got 12"),
        ((18, (11, 4, 1, 3), (3, 32, 32), 10), "the last size of shufflenet is norm"),
        ((17, (11, 4, 1, 1), (3, 32, 32), 10), "bottleneck sizes are depth"),
    ],
)
def test_wrong_sizes(fields: tuple[int, tuple[int, ...], tuple[int, ...], int], message: str) -> None:
    with pytest.raises(PactError, match=message):
        Architecture(*fields)
