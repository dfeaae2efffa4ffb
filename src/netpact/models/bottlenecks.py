"""Plans of networks whose blocks give out t times as many channels as their rank (bottlenecks, ResNeXt, ShuffleNet)."""

from __future__ import annotations

from collections.abc import Mapping

from netpact.core.errors import PactError
from netpact.layers.blocks.outline import (
    Outline,
    outline_branch,
    outline_projection,
    outline_shuffled,
    outline_three,
)
from netpact.models.chains import plan_head
from netpact.models.norms import choose_norm
from netpact.models.plan import BatchNorm, Conv, Layer, MaxPool, Plan, Relu, Residual, ShuffleStep, read_image
from netpact.models.skipping import normed

# Blocks of each group by depth. 41: ResNet-50 without its last group, the network (1) of "Rethinking compressed CNNs".
BLOCKS = {11: (1, 1, 1), 20: (2, 2, 2), 29: (3, 3, 3), 41: (3, 4, 6)}
SHUFFLE_BLOCKS = {11: (1, 1, 1), 20: (2, 2, 2), 50: (4, 8, 4)}
_STEM = 24  # channels of the first convolution of ShuffleNet v2


def plan_bottleneck(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    """ "Rethinking compressed CNNs" 2021, Figure 4 (1): R, 2R, 4R channels within the blocks, t times that behind them.

    cardinality: groups of the middle convolution (ResNeXt, Xie et al. 2017).
    """
    channels, height, width = read_image(input_shape, family="bottleneck", least=4)
    depth, rank, ratio, cardinality, norm = sizes
    groups = _groups(depth, BLOCKS, family="bottleneck")
    if rank % cardinality:
        raise PactError(
            f"the channels within a block must be a multiple of the cardinality, got {rank} and {cardinality}",
            where="sizes[1]",
        )
    layers: list[tuple[str, Layer]] = [*normed("stem", Conv(channels, rank, 3, padding=1, bias=False))]
    layers.append(("stem_pool", MaxPool()))
    channels, height, width = rank, height // 2, width // 2
    for group, count in enumerate(groups):
        for block in range(count):
            stride, inner = (2 if group and not block else 1), rank << group
            outputs, name = ratio * inner, f"block{group + 1}_{block + 1}"
            body = outline_three(
                channels, inner, outputs, stride=stride, groups=cardinality, first_kernel=_first_kernel(block, ratio)
            )
            # The first block of a group has a convolution beside it.
            past = () if block else outline_projection(channels, outputs, stride=stride)
            layers.append((name, Residual(_plan(body), _plan(past))))
            layers.append((f"{name}_relu", Relu()))
            channels, height, width = outputs, -(-height // stride), -(-width // stride)
    return choose_norm((*layers, *plan_head(channels, height, width, classes)), norm, family="bottleneck")


def plan_shufflenet(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    """ShuffleNet v2 (Ma et al. 2018) for small images, whose halves have t times the channels of their depthwise layer.

    R, 2R, 4R channels in the depthwise layers of the three groups (Figure 9 of "Rethinking compressed CNNs" 2021).
    """
    channels, height, width = read_image(input_shape, family="shufflenet", least=4)
    depth, rank, ratio, norm = sizes
    groups = _groups(depth, SHUFFLE_BLOCKS, family="shufflenet")
    layers: list[tuple[str, Layer]] = [*normed("stem", Conv(channels, _STEM, 3, padding=1, bias=False))]
    channels = _STEM
    for group, count in enumerate(groups):
        inner = rank << group
        half = ratio * inner
        for block in range(count):
            stride = 2 if not block else 1
            read, kernel = (half if block else channels), _first_kernel(block, ratio)
            body = outline_shuffled(read, inner, half, stride=stride, first_kernel=kernel)
            branch = () if block else outline_branch(channels, half, stride=stride)
            layers.append((f"block{group + 1}_{block + 1}", ShuffleStep(_plan(body), _plan(branch))))
            channels, height, width = 2 * half, -(-height // stride), -(-width // stride)
    return choose_norm((*layers, *plan_head(channels, height, width, classes)), norm, family="shufflenet")


def _first_kernel(block: int, ratio: int) -> int:
    """At t = 1 the first block of a group "simultaneously increases the channels while performing the stride-2 3 x 3
    convolution" (section 4.2). We read: its first convolution, of 3 x 3 in place of 1 x 1. So all numbers of parameters
    and FLOPs of Tables 2 and 3 for images come out as printed.
    """
    return 3 if not block and ratio == 1 else 1


def _plan(outline: Outline) -> Plan:
    layers: list[tuple[str, Layer]] = []
    for step in outline:
        conv = Conv(
            step.inputs, step.outputs, step.kernel, step.padding, stride=step.stride, bias=False, groups=step.groups
        )
        layers += [(step.name, conv), (f"{step.name}_norm", BatchNorm(step.outputs))]
        layers += [(f"{step.name}_relu", Relu())] if step.relu else []
    return tuple(layers)


def _groups(depth: int, allowed: Mapping[int, tuple[int, ...]], *, family: str) -> tuple[int, ...]:
    if depth not in allowed:
        raise PactError(f"the depth of {family} must be {', '.join(map(str, allowed))}, got {depth}", where="sizes[0]")
    return allowed[depth]
