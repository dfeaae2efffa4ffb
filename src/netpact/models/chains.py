"""Plans of AlexNet and VGG: convolutions one after the other, for small images."""

from __future__ import annotations

from netpact.core.errors import PactError
from netpact.models.norms import choose_norm
from netpact.models.plan import AveragePool, BatchNorm, Conv, Flatten, Layer, Linear, MaxPool, Plan, Relu, read_image

# VGG: how many 3 x 3 convolutions there are before each of the five poolings (Simonyan and Zisserman 2015, table 1).
VGG_DEPTHS: dict[int, tuple[int, ...]] = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}
_VGG_WIDTHS = (1, 2, 4, 8, 8)
# AlexNet: kernel, stride, channels in units of the width, and whether pooling follows.
_ALEXNET = ((11, 4, 1, True), (5, 1, 3, True), (3, 1, 6, False), (3, 1, 4, False), (3, 1, 4, True))


def plan_alexnet(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    """The form for CIFAR that has one linear layer; width 64 gives 64, 192, 384, 256, 256 channels."""
    channels, height, width = read_image(input_shape, family="alexnet")
    layers: list[tuple[str, Layer]] = []
    for number, (kernel, stride, times, pooled) in enumerate(_ALEXNET, start=1):
        size = times * sizes[0]
        conv = Conv(channels, size, kernel=kernel, padding=kernel // 2, stride=stride)
        layers += [(f"conv{number}", conv), (f"conv{number}_relu", Relu())]
        height, width = -(-height // stride), -(-width // stride)
        if pooled and min(height, width) >= 2:
            layers.append((f"conv{number}_pool", MaxPool()))
            height, width = height // 2, width // 2
        channels = size
    return (*layers, *plan_head(channels, height, width, classes))


def plan_vgg(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    """The form for CIFAR that has one linear layer behind the convolutions."""
    channels, height, width = read_image(input_shape, family="vgg")
    depth, base, norm = sizes
    if depth not in VGG_DEPTHS:
        allowed = ", ".join(map(str, VGG_DEPTHS))
        raise PactError(f"the depth of vgg is one of {allowed}; got {depth}", where="sizes[0]")
    layers: list[tuple[str, Layer]] = []
    number = 0
    for stage, (count, times) in enumerate(zip(VGG_DEPTHS[depth], _VGG_WIDTHS, strict=True), start=1):
        for _ in range(count):
            number += 1
            conv = Conv(channels, times * base, kernel=3, padding=1, bias=False)
            channels = conv.outputs
            layers += [
                (f"conv{number}", conv),
                (f"conv{number}_norm", BatchNorm(channels)),
                (f"conv{number}_relu", Relu()),
            ]
        if min(height, width) >= 2:
            layers.append((f"pool{stage}", MaxPool()))
            height, width = height // 2, width // 2
    return choose_norm((*layers, *plan_head(channels, height, width, classes)), norm, family="vgg")


def plan_head(channels: int, height: int, width: int, classes: int) -> Plan:
    """The mean of each channel over the image, then one linear layer."""
    # A pool of the full size, not an adaptive one: its norm is known from the plan alone.
    average: Plan = (("average", AveragePool(height, width)),) if height * width > 1 else ()
    return (*average, ("flatten", Flatten()), ("fc1", Linear(channels, classes)))
