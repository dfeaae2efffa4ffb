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
    """One window over the whole image that is left."""

    height: int
    width: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {}


@dataclass(frozen=True)
class Linear:
    inputs: int
    outputs: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.outputs, self.inputs), "bias": (self.outputs,)}


@dataclass(frozen=True)
class Conv:
    """A square kernel, stride 1, zero padding, with bias."""

    inputs: int
    outputs: int
    kernel: int
    padding: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.outputs, self.inputs, self.kernel, self.kernel), "bias": (self.outputs,)}


Layer = Flatten | Relu | MaxPool | AveragePool | Linear | Conv

# Layers in execution order, each with the name its parameters have in a weight file.
Plan = tuple[tuple[str, Layer], ...]
