"""A network as a list of layer records: enough to count its parameters without building anything."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flatten:
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {}


@dataclass(frozen=True)
class Relu:
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {}


@dataclass(frozen=True)
class MaxPool:
    """Windows of 2 x 2, stride 2; an odd last row or column is dropped."""

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {}


@dataclass(frozen=True)
class AveragePool:
    """Windows side by side, often one over the whole image that is left; what fills no window is dropped."""

    height: int
    width: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {}


@dataclass(frozen=True)
class Linear:
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

    def shapes(self) -> dict[str, tuple[int, ...]]:
        weight = {"weight": (self.outputs, self.inputs)}
        return weight | {"bias": (self.outputs,)} if self.bias else dict(weight)


@dataclass(frozen=True)
class Conv:
    """A square kernel, stride 1, zero padding, with bias."""

    inputs: int
    outputs: int
    kernel: int
    padding: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.outputs, self.inputs, self.kernel, self.kernel), "bias": (self.outputs,)}


@dataclass(frozen=True)
class Edges:
    """The fixed stem of netpact.layers."""

    orientations: int
    inhibition: int
    cell: int
    stride: int
    straighten: bool
    mirror: bool

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {}


Layer = Flatten | Relu | MaxPool | AveragePool | Linear | Conv | Edges

# Layers in execution order, each with the name its parameters have in a weight file.
Plan = tuple[tuple[str, Layer], ...]
