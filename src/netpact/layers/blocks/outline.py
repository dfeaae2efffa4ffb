"""What a block consists of, without torch: the layers here and the plans of architectures are made from this."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ConvStep:
    """A convolution without bias, zeros padded so that a stride of 1 keeps the size; batch norm; a ReLU where asked."""

    name: str
    inputs: int
    outputs: int
    kernel: int = 1
    stride: int = 1
    groups: int = 1
    relu: bool = True

    @property
    def padding(self) -> int:
        return self.kernel // 2


Outline = tuple[ConvStep, ...]


def outline_three(
    inputs: int,
    rank: int,
    outputs: int,
    *,
    stride: int = 1,
    groups: int = 1,
    first_kernel: int = 1,
    relus: tuple[bool, bool, bool] = (True, True, False),
) -> Outline:
    """1x1 to the rank, 3x3 in groups, 1x1 to the outputs; groups = rank makes the second depthwise.

    first_kernel  3: the first convolution is the one with the stride (see netpact.models.bottlenecks)
    """
    before, within = (stride, 1) if first_kernel > 1 else (1, stride)
    return (
        ConvStep("conv1", inputs, rank, first_kernel, before, relu=relus[0]),
        ConvStep("conv2", rank, rank, 3, within, groups, relu=relus[1]),
        ConvStep("conv3", rank, outputs, relu=relus[2]),
    )


def outline_separable(
    inputs: int, outputs: int, *, stride: int = 1, relus: tuple[bool, bool] = (True, True)
) -> Outline:
    """3x3 depthwise, 1x1."""
    return (
        ConvStep("conv1", inputs, inputs, 3, stride, inputs, relu=relus[0]),
        ConvStep("conv2", inputs, outputs, relu=relus[1]),
    )


def outline_shuffled(inputs: int, rank: int, half: int, *, stride: int = 1, first_kernel: int = 1) -> Outline:
    """The half of a ShuffleNet v2 unit in which something happens (Ma et al. 2018, Figure 3)."""
    relus = (True, False, True)
    return outline_three(inputs, rank, half, stride=stride, groups=rank, first_kernel=first_kernel, relus=relus)


def outline_branch(inputs: int, half: int, *, stride: int) -> Outline:
    """The other half of a unit with a stride."""
    return outline_separable(inputs, half, stride=stride, relus=(False, True))


def outline_projection(inputs: int, outputs: int, *, stride: int) -> Outline:
    """What goes past a block whose output has another shape than its input."""
    return (ConvStep("conv", inputs, outputs, stride=stride, relu=False),)
