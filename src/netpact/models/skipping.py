"""Plans of residual networks, of wide ones, and of DenseNet, in the forms that their papers have for CIFAR."""

from __future__ import annotations

from netpact.core.errors import PactError
from netpact.models.chains import plan_head
from netpact.models.norms import choose_norm
from netpact.models.plan import (
    AveragePool,
    BatchNorm,
    Conv,
    DenseStep,
    Layer,
    Plan,
    Relu,
    Residual,
    Shrink,
    read_image,
)

MAX_DEPTH = 1_202  # the deepest one of He et al. 2016; a plan stays small
_STEM = 16  # channels of the first convolution of WRN and DenseNet
_STAGES = 3


def plan_resnet(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    """He, Zhang, Ren and Sun 2016, section 4.2, with shortcuts of option A, which have no parameters."""
    channels, height, width = read_image(input_shape, family="resnet")
    depth, base, norm = sizes
    count = _blocks(depth, per_stage=2, beside=2, family="resnet")
    layers: list[tuple[str, Layer]] = [*normed("stem", Conv(channels, base, 3, padding=1, bias=False))]
    channels = base
    for stage in range(_STAGES):
        for block in range(count):
            stride, outputs = (2 if stage and not block else 1), base << stage
            body = (
                *normed("conv1", Conv(channels, outputs, 3, padding=1, stride=stride, bias=False)),
                *normed("conv2", Conv(outputs, outputs, 3, padding=1, bias=False))[:-1],
            )
            name = f"block{stage + 1}_{block + 1}"
            layers += [(name, Residual(body, _pad(channels, outputs, stride))), (f"{name}_relu", Relu())]
            channels, height, width = outputs, -(-height // stride), -(-width // stride)
    return choose_norm((*layers, *plan_head(channels, height, width, classes)), norm, family="resnet")


def plan_preresnet(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    """He, Zhang, Ren and Sun 2016b: norm and ReLU before each convolution; shortcuts of option A.

    The first norm and ReLU of a stage stand before the block, so that its shortcut starts behind them, as in the
    authors' program.
    """
    channels, height, width = read_image(input_shape, family="preresnet")
    depth, base, norm = sizes
    count = _blocks(depth, per_stage=2, beside=2, family="preresnet")
    layers: list[tuple[str, Layer]] = [("stem", Conv(channels, base, 3, padding=1, bias=False))]
    channels = base
    for stage in range(_STAGES):
        for block in range(count):
            stride, outputs = (2 if stage and not block else 1), base << stage
            shortcut = _pad(channels, outputs, stride)
            layers += _preactivated(f"block{stage + 1}_{block + 1}", channels, outputs, stride, shortcut, not block)
            channels, height, width = outputs, -(-height // stride), -(-width // stride)
    return choose_norm((*layers, *_close(channels, height, width, classes)), norm, family="preresnet")


def plan_wrn(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    """Zagoruyko and Komodakis 2016, B(3, 3) without dropout: where the width changes, a 1 x 1 convolution goes past.

    There the first norm and ReLU stand before the block, as in the authors' program.
    """
    channels, height, width = read_image(input_shape, family="wrn")
    depth, factor, norm = sizes
    count = _blocks(depth, per_stage=2, beside=4, family="wrn")
    layers: list[tuple[str, Layer]] = [("stem", Conv(channels, _STEM, 3, padding=1, bias=False))]
    channels = _STEM
    for stage in range(_STAGES):
        for block in range(count):
            stride, outputs = (2 if stage and not block else 1), (_STEM * factor) << stage
            changes = channels != outputs
            past = Conv(channels, outputs, 1, padding=0, stride=stride, bias=False)
            shortcut: Plan = (("conv", past),) if changes else ()
            layers += _preactivated(f"block{stage + 1}_{block + 1}", channels, outputs, stride, shortcut, changes)
            channels, height, width = outputs, -(-height // stride), -(-width // stride)
    return choose_norm((*layers, *_close(channels, height, width, classes)), norm, family="wrn")


def plan_densenet(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    """Huang, Liu, van der Maaten and Weinberger 2017: no bottlenecks, no compression, no dropout."""
    channels, height, width = read_image(input_shape, family="densenet", least=4)
    depth, growth, norm = sizes
    count = _blocks(depth, per_stage=1, beside=4, family="densenet")
    layers: list[tuple[str, Layer]] = [("stem", Conv(channels, _STEM, 3, padding=1, bias=False))]
    channels = _STEM
    for stage in range(1, _STAGES + 1):
        for step in range(1, count + 1):
            body = (*_before("conv", channels), ("conv", Conv(channels, growth, 3, padding=1, bias=False)))
            layers.append((f"step{stage}_{step}", DenseStep(body)))
            channels += growth
        if stage < _STAGES:
            name = f"transition{stage}"
            layers += [*_before(name, channels), (name, Conv(channels, channels, 1, padding=0, bias=False))]
            layers.append((f"{name}_pool", AveragePool(2, 2)))
            height, width = height // 2, width // 2
    return choose_norm((*layers, *_close(channels, height, width, classes)), norm, family="densenet")


def _preactivated(
    name: str, inputs: int, outputs: int, stride: int, shortcut: Plan, shared: bool
) -> list[tuple[str, Layer]]:
    """One block; shared: the first norm and ReLU stand before it, so that the shortcut sees them too."""
    body: Plan = (
        *normed("conv1", Conv(inputs, outputs, 3, padding=1, stride=stride, bias=False)),
        ("conv2", Conv(outputs, outputs, 3, padding=1, bias=False)),
    )
    if shared:
        return [*_before(name, inputs), (name, Residual(body, shortcut))]
    return [(name, Residual((*_before("conv1_input", inputs), *body), shortcut))]


def normed(name: str, conv: Conv) -> Plan:
    return ((name, conv), (f"{name}_norm", BatchNorm(conv.outputs)), (f"{name}_relu", Relu()))


def _before(name: str, channels: int) -> Plan:
    return ((f"{name}_norm", BatchNorm(channels)), (f"{name}_relu", Relu()))


def _close(channels: int, height: int, width: int, classes: int) -> Plan:
    return (*_before("last", channels), *plan_head(channels, height, width, classes))


def _pad(inputs: int, outputs: int, stride: int) -> Plan:
    return () if inputs == outputs else (("pad", Shrink(inputs, outputs, stride)),)


def _blocks(depth: int, *, per_stage: int, beside: int, family: str) -> int:
    """How many blocks each of the three stages has:  depth = stages * blocks * layers of a block + those beside."""
    step = _STAGES * per_stage
    if depth > MAX_DEPTH or depth < step + beside or (depth - beside) % step:
        raise PactError(
            f"the depth of {family} is {step} n + {beside} with n >= 1, at most {MAX_DEPTH}; got {depth}",
            where="sizes[0]",
        )
    return (depth - beside) // step
