"""The families of architectures, one entry each. Append only: what an id means never changes, files depend on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from netpact.core.errors import PactError
from netpact.models.chains import plan_alexnet, plan_vgg
from netpact.models.norms import NORMS
from netpact.models.plan import (
    AveragePool,
    Conv,
    Flatten,
    Layer,
    LayerNorm,
    Linear,
    MaxPool,
    Plan,
    Relu,
    check_ranges,
    read_image,
)
from netpact.models.skipping import plan_densenet, plan_preresnet, plan_resnet, plan_wrn
from netpact.models.stems import SIZED_VIEWS, VIEWS, plan_contours, plan_oriented, plan_sobel

OWN_MODULE_ID = 0  # the user's own module: never built from a file, so it has no entry in the table
MAX_SIZES = 64
_LARGEST_KERNEL = 63  # of lnconv
_SHARE = "share of the dense layer's weights that a CP layer has, in percent"


Planner = Callable[[tuple[int, ...], tuple[int, ...], int], Plan]


@dataclass(frozen=True)
class Family:
    """plan(sizes, input_shape, classes) lists the layers, or raises where the family cannot take such an input.

    normed  the last size says how batch norm stands in it: see netpact.models.norms
    """

    id: int
    name: str
    meaning: str
    default_sizes: tuple[int, ...]
    fewest_sizes: int
    most_sizes: int
    plan: Planner
    normed: bool = False


def _plan_linear(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    return (("flatten", Flatten()), ("fc1", Linear(math.prod(input_shape), classes, image=_sides(input_shape))))


def _plan_mlp(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    return (("flatten", Flatten()), *_dense((math.prod(input_shape), *sizes, classes), image=_sides(input_shape)))


def _plan_lenet5(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    channels, height, width = read_image(input_shape, family="lenet5", least=12)
    rows, columns = (height // 2 - 4) // 2, (width // 2 - 4) // 2
    return (
        ("conv1", Conv(channels, 6, kernel=5, padding=2)),
        ("conv1_relu", Relu()),
        ("conv1_pool", MaxPool()),
        ("conv2", Conv(6, 16, kernel=5, padding=0)),
        ("conv2_relu", Relu()),
        ("conv2_pool", MaxPool()),
        ("flatten", Flatten()),
        *_dense((16 * rows * columns, 120, 84, classes), image=(rows, columns)),
    )


def _plan_conv(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    channels, height, width = read_image(input_shape, family="conv")
    layers: list[tuple[str, Layer]] = []
    for number, size in enumerate(sizes, start=1):
        layers += [(f"conv{number}", Conv(channels, size, kernel=3, padding=1)), (f"conv{number}_relu", Relu())]
        if min(height, width) >= 4:
            layers.append((f"conv{number}_pool", MaxPool()))
            height, width = height // 2, width // 2
        channels = size
    # A pool of the full size, not an adaptive one: its norm is known from the plan alone.
    layers += [("average", AveragePool(height, width)), ("flatten", Flatten()), ("fc1", Linear(channels, classes))]
    return tuple(layers)


def _plan_convnet(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    """sizes: the side of the averaging windows, the side of the kernels, then the channel counts."""
    channels, height, width = read_image(input_shape, family="convnet")
    window, kernel = sizes[:2]
    if min(height, width) // window < 2:
        raise PactError(
            f"averages over {window} x {window} pixels leave less than 2 x 2 of {height} x {width}",
            where="sizes[0]",
            hint="the first size of convnet is the side of the averaging windows; 1 leaves the image as it is",
        )
    if kernel % 2 == 0:
        raise PactError(f"the second size of convnet, the side of the kernels, is odd; got {kernel}", where="sizes[1]")
    height, width = height // window, width // window
    layers: list[tuple[str, Layer]] = [("average", AveragePool(window, window))] if window > 1 else []
    for number, size in enumerate(sizes[2:], start=1):
        padded = Conv(channels, size, kernel=kernel, padding=kernel // 2)
        layers += [(f"conv{number}", padded), (f"conv{number}_relu", Relu())]
        if min(height, width) >= 4:
            layers.append((f"conv{number}_pool", MaxPool()))
            height, width = height // 2, width // 2
        channels = size
    head = Linear(channels * height * width, classes, image=(height, width))
    return (*layers, ("flatten", Flatten()), ("fc1", head))


def _plan_lnconv(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    """sizes: for each layer the side of the kernel, the stride, the channels, and 2 for pooling behind it or 1.

    No layer has a bias, and layer norms take out how large its weights are: signs serve as well as other numbers.
    Where strides and windows of pooling divide the sides, kernels lie on the image as on its mirror image.
    """
    channels, height, width = read_image(input_shape, family="lnconv")
    if len(sizes) % 4:
        raise PactError(
            f"four sizes for each layer, got {len(sizes)}", where="lnconv", hint="for example lnconv:5-1-16-2"
        )
    layers: list[tuple[str, Layer]] = [("norm", _norm_of_many(channels, height, width))]
    for number, start in enumerate(range(0, len(sizes), 4), start=1):
        kernel, stride, size, pool = sizes[start : start + 4]
        check_ranges(
            f"lnconv, layer {number}",
            ("stride", stride, range(1, min(height, width, _LARGEST_KERNEL) + 1)),
            ("side of the kernel, the stride and an even number", kernel, range(stride, _LARGEST_KERNEL + 1, 2)),
            ("pooling (1 none, 2 windows of 2 x 2)", pool, range(1, 1 + min(2, height // stride, width // stride))),
        )
        conv = Conv(channels, size, kernel=kernel, padding=(kernel - stride) // 2, stride=stride, bias=False)
        channels, height, width = size, height // stride, width // stride
        norm = _norm_of_many(channels, height, width)
        layers += [(f"conv{number}", conv), (f"conv{number}_norm", norm), (f"conv{number}_relu", Relu())]
        layers += [(f"conv{number}_pool", MaxPool())] * (pool == 2)
        height, width = height // pool, width // pool
    head = Linear(channels * height * width, classes, bias=False, image=(height, width))
    return (*layers, ("flatten", Flatten()), ("fc1", head))


def _norm_of_many(channels: int, height: int, width: int) -> LayerNorm:
    """A single number less its mean is 0, and torch refuses to norm it where the batch is of one sample."""
    if channels * height * width == 1:
        raise PactError(
            "a layer norm would see one number, which it turns into 0", where="lnconv", hint="more channels or pixels"
        )
    return LayerNorm(channels)


def _with_cp(family: str, plan_dense: Planner) -> Planner:
    """The plans of a dense family with CP layers."""

    def plan(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
        from netpact.models.tensor_plans import plan_with_cp  # a decoder of dense networks never needs it

        return plan_with_cp(plan_dense, sizes, input_shape, classes, family=family)

    return plan


def _plan_bottleneck(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    from netpact.models.bottlenecks import plan_bottleneck  # a decoder of other networks never needs it

    return plan_bottleneck(sizes, input_shape, classes)


def _plan_shufflenet(sizes: tuple[int, ...], input_shape: tuple[int, ...], classes: int) -> Plan:
    from netpact.models.bottlenecks import plan_shufflenet

    return plan_shufflenet(sizes, input_shape, classes)


def _dense(widths: tuple[int, ...], *, image: tuple[int, int] | None) -> Plan:
    """Linear layers between neighbouring widths, a ReLU after each but the last; the first one sees a flat image."""
    layers: list[tuple[str, Layer]] = []
    for number in range(1, len(widths)):
        layers.append((f"fc{number}", Linear(widths[number - 1], widths[number], image=image if number == 1 else None)))
        if number < len(widths) - 1:
            layers.append((f"fc{number}_relu", Relu()))
    return tuple(layers)


def _sides(input_shape: tuple[int, ...]) -> tuple[int, int] | None:
    return (input_shape[1], input_shape[2]) if len(input_shape) == 3 else None


_ENTRIES = (
    Family(1, "linear", "takes no sizes", (), 0, 0, _plan_linear),
    Family(2, "mlp", "sizes are the hidden widths", (64, 32), 1, MAX_SIZES, _plan_mlp),
    Family(3, "lenet5", "takes no sizes", (), 0, 0, _plan_lenet5),
    Family(4, "conv", "sizes are the channel counts", (16, 32), 1, MAX_SIZES, _plan_conv),
    Family(
        5,
        "oriented",
        f"sizes are orientations, inhibition in sixteenths, side of a cell, stride, view ({VIEWS})",
        (8, 5, 8, 4, 1),
        5,
        5,
        plan_oriented,
    ),
    Family(
        7,
        "convnet",
        "sizes are the side of the averaging windows, the side of the kernels and the channel counts",
        (2, 5, 6, 12),
        3,
        MAX_SIZES,
        _plan_convnet,
    ),
    Family(8, "alexnet", "has one size, the channels of the first layer", (64,), 1, 1, plan_alexnet),
    Family(
        9, "vgg", f"sizes are depth, channels of the first layer, {NORMS}", (16, 64, 1), 3, 3, plan_vgg, normed=True
    ),
    Family(
        10,
        "resnet",
        f"sizes are depth, channels of the first stage, {NORMS}",
        (20, 16, 1),
        3,
        3,
        plan_resnet,
        normed=True,
    ),
    Family(
        11,
        "preresnet",
        f"sizes are depth, channels of the first stage, {NORMS}",
        (20, 16, 1),
        3,
        3,
        plan_preresnet,
        normed=True,
    ),
    Family(12, "wrn", f"sizes are depth, widening factor, {NORMS}", (16, 4, 1), 3, 3, plan_wrn, normed=True),
    Family(13, "densenet", f"sizes are depth, growth, {NORMS}", (40, 12, 1), 3, 3, plan_densenet, normed=True),
    Family(
        14,
        "cp-vgg",
        f"sizes are depth, channels of the first layer, {_SHARE}, {NORMS}",
        (16, 64, 100, 1),
        4,
        4,
        _with_cp("cp-vgg", plan_vgg),
        normed=True,
    ),
    Family(
        15,
        "cp-resnet",
        f"sizes are depth, channels of the first stage, {_SHARE}, {NORMS}",
        (20, 16, 100, 1),
        4,
        4,
        _with_cp("cp-resnet", plan_resnet),
        normed=True,
    ),
    Family(
        16,
        "cp-wrn",
        f"sizes are depth, widening factor, {_SHARE}, {NORMS}",
        (16, 4, 100, 1),
        4,
        4,
        _with_cp("cp-wrn", plan_wrn),
        normed=True,
    ),
    Family(
        17,
        "bottleneck",
        f"sizes are depth, channels within the first blocks, how many times that behind them, cardinality, {NORMS}",
        (41, 64, 4, 1, 1),
        5,
        5,
        _plan_bottleneck,
        normed=True,
    ),
    Family(
        18,
        "shufflenet",
        f"sizes are depth, channels of the first depthwise layers, how many times that behind them, {NORMS}",
        (50, 58, 1, 1),
        4,
        4,
        _plan_shufflenet,
        normed=True,
    ),
    Family(
        19,
        "contours",
        f"sizes are cells along the shorter side, waves down, waves across, view ({VIEWS})",
        (8, 4, 2, 1),
        4,
        4,
        plan_contours,
    ),
    Family(
        20,
        "lnconv",
        "sizes are side of the kernel, stride, channels and pooling (1 none, 2 windows of 2 x 2) of each layer",
        (4, 2, 32, 1, 3, 1, 32, 2, 3, 1, 64, 2),
        4,
        MAX_SIZES,
        _plan_lnconv,
    ),
    Family(
        21,
        "sobel",
        "sizes are orientations, inhibition in sixteenths, side of a cell, stride, roots (1 square, 2 fourth roots), "
        f"view ({SIZED_VIEWS})",
        (8, 5, 8, 4, 1, 5),
        6,
        6,
        plan_sobel,
    ),
)

FAMILIES: dict[int, Family] = {family.id: family for family in _ENTRIES}
FAMILY_IDS: dict[str, int] = {family.name: family.id for family in _ENTRIES}


def names() -> tuple[str, ...]:
    """The names that parse_model knows."""
    return tuple(FAMILY_IDS)
