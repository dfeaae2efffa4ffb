"""A network as a list of layer records: enough to count its parameters without building anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netpact.core.errors import PactError

Shapes = dict[str, tuple[int, ...]]


class Plain:
    """What most layers have: no parameters, and no buffers."""

    def shapes(self) -> Shapes:
        return {}

    def buffers(self) -> Shapes:
        return {}


@dataclass(frozen=True)
class Flatten(Plain):
    pass


@dataclass(frozen=True)
class Relu(Plain):
    pass


@dataclass(frozen=True)
class MaxPool(Plain):
    """Windows of 2 x 2, stride 2; an odd last row or column is dropped."""


@dataclass(frozen=True)
class AveragePool(Plain):
    """Windows side by side, often one over the whole image that is left; what fills no window is dropped."""

    height: int
    width: int


@dataclass(frozen=True)
class Linear(Plain):
    """image: rows and columns of the maps that were flattened into the inputs, where there were any."""

    inputs: int
    outputs: int
    bias: bool = True
    image: tuple[int, int] | None = None

    @property
    def grid(self) -> tuple[int, ...]:
        """The shape of the weights with the image spelled out."""
        if self.image is None:
            return self.outputs, self.inputs
        rows, columns = self.image
        return self.outputs, self.inputs // (rows * columns), rows, columns

    def shapes(self) -> Shapes:
        weight: Shapes = {"weight": (self.outputs, self.inputs)}
        return weight | {"bias": (self.outputs,)} if self.bias else weight


@dataclass(frozen=True)
class Conv(Plain):
    """A square kernel, zero padding."""

    inputs: int
    outputs: int
    kernel: int
    padding: int
    stride: int = 1
    bias: bool = True
    groups: int = 1

    def shapes(self) -> Shapes:
        weight: Shapes = {"weight": (self.outputs, self.inputs // self.groups, self.kernel, self.kernel)}
        return weight | {"bias": (self.outputs,)} if self.bias else weight


@dataclass(frozen=True)
class CPConv(Plain):
    """netpact.layers.CPConv2d in the place of a convolution: 1x1 to rank channels, a kernel for each, 1x1 to all."""

    dense: Conv
    rank: int

    def shapes(self) -> Shapes:
        kernel, rank = self.dense.kernel, self.rank
        weights: Shapes = {
            "pointwise_in.weight": (rank, self.dense.inputs, 1, 1),
            "depthwise.weight": (rank, 1, kernel, kernel),
            "pointwise_out.weight": (self.dense.outputs, rank, 1, 1),
        }
        return weights | {"pointwise_out.bias": (self.dense.outputs,)} if self.dense.bias else weights


@dataclass(frozen=True)
class BatchNorm(Plain):
    """As it is trained: scale and shift are parameters, the running mean, variance and the count are buffers."""

    channels: int

    def shapes(self) -> Shapes:
        return {"weight": (self.channels,), "bias": (self.channels,)}

    def buffers(self) -> Shapes:
        return {"running_mean": (self.channels,), "running_var": (self.channels,), "num_batches_tracked": ()}


@dataclass(frozen=True)
class LayerNorm(Plain):
    """All channels of a sample together, without scale and shift."""

    channels: int


@dataclass(frozen=True)
class Affine(Plain):
    """netpact.layers.ChannelAffine: what is left of a batch norm that no convolution can take in."""

    channels: int

    def shapes(self) -> Shapes:
        return {"weight": (self.channels,), "bias": (self.channels,)}


@dataclass(frozen=True)
class Shrink(Plain):
    """netpact.layers.ZeroPaddedShortcut: every stride-th pixel, and channels of zeros up to the new number."""

    inputs: int
    outputs: int
    stride: int


@dataclass(frozen=True)
class Edges(Plain):
    """The fixed stem of oriented edges of netpact.layers."""

    orientations: int
    inhibition: int
    cell: int
    stride: int
    straighten: bool
    mirror: bool


@dataclass(frozen=True)
class Contours(Plain):
    """The fixed stem of contours of netpact.layers."""

    cells: int
    rows: int
    columns: int
    straighten: bool
    mirror: bool


@dataclass(frozen=True)
class Sobel(Plain):
    """The fixed stem of Sobel edges of netpact.layers."""

    orientations: int
    inhibition: int
    cell: int
    stride: int
    roots: int
    straighten: bool
    resize: bool
    mirror: bool


@dataclass(frozen=True)
class Residual:
    """body(x) + shortcut(x); without layers the shortcut is x itself."""

    body: Plan
    shortcut: Plan = ()


@dataclass(frozen=True)
class DenseStep:
    """x and body(x), one behind the other along the channels."""

    body: Plan


@dataclass(frozen=True)
class ShuffleStep:
    """netpact.layers.ShuffleStep: without a branch, body works on the second half of the channels."""

    body: Plan
    branch: Plan = ()


Weightless = Flatten | Relu | MaxPool | AveragePool | LayerNorm | Shrink | Edges | Contours | Sobel
Leaf = Weightless | Linear | Conv | CPConv | BatchNorm | Affine
Layer = Leaf | Residual | DenseStep | ShuffleStep

# Layers in execution order, each with the name its parameters have in a weight file.
Plan = tuple[tuple[str, Layer], ...]


def parts_of(layer: Layer) -> dict[str, Plan]:
    """The plans inside a layer, by the name that the built module has for them."""
    if isinstance(layer, Residual):
        return {"body": layer.body, "shortcut": layer.shortcut}
    if isinstance(layer, DenseStep):
        return {"body": layer.body}
    if isinstance(layer, ShuffleStep):
        return {"body": layer.body, "branch": layer.branch}
    return {}


def list_leaves(plan: Plan, prefix: str = "") -> Iterator[tuple[str, Leaf]]:
    """Every layer that holds no others, by its full name, in the order of the built module."""
    for name, layer in plan:
        if isinstance(layer, (Residual, DenseStep, ShuffleStep)):
            for part, inner in parts_of(layer).items():
                yield from list_leaves(inner, f"{prefix}{name}.{part}.")
        else:
            yield prefix + name, layer


def read_image(input_shape: tuple[int, ...], *, family: str, least: int = 1) -> tuple[int, int, int]:
    """Channels, height and width, or a refusal of inputs that are no images or too small."""
    if len(input_shape) != 3:
        raise PactError(
            f"{family} needs images of shape (channels, height, width), got {input_shape}",
            where="input shape",
            hint="use mlp or linear, or give each sample three dimensions",
        )
    channels, height, width = input_shape
    if min(height, width) < least:
        raise PactError(
            f"{family} needs images of at least {least} x {least}, got {height} x {width}",
            where="input shape",
            hint="conv, mlp and linear take small images",
        )
    return channels, height, width


def check_ranges(family: str, *sizes: tuple[str, int, range]) -> None:
    for name, value, allowed in sizes:
        if value not in allowed:
            raise PactError(f"{name} must lie in {allowed.start}..{allowed.stop - 1}, got {value}", where=family)
