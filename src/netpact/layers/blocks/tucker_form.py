"""Blocks that stand for a kernel in Tucker form ("Rethinking compressed CNNs" 2021, section 3: T1, T2, Figure 8)."""

from __future__ import annotations

from netpact.core.errors import PactError
from netpact.layers.blocks.making import Shortcut, check_sizes, make_chain, make_shortcut
from netpact.layers.blocks.outline import ConvStep, outline_three


class Bottleneck(Shortcut):
    """1x1 to R channels, 3x3, 1x1 to K (He et al. 2016); then the shortcut and a ReLU. t = K / R.

    shortcut      "identity", "projection" or "none"; None chooses one of the first two by the shapes
    first_kernel  3 for the first block of a group at t = 1, whose first convolution has the stride
    dimensions    2 for images, 1 for sequences, 3 for volumes
    """

    def __init__(
        self,
        inputs: int,
        R: int,
        K: int,
        *,
        stride: int = 1,
        shortcut: str | None = None,
        first_kernel: int = 1,
        dimensions: int = 2,
    ) -> None:
        check_sizes(inputs=inputs, R=R, K=K, stride=stride, first_kernel=first_kernel)
        body = make_chain(outline_three(inputs, R, K, stride=stride, first_kernel=first_kernel), dimensions=dimensions)
        super().__init__(body, make_shortcut(shortcut, inputs, K, stride=stride, dimensions=dimensions), relu=True)


class ResNeXt(Shortcut):
    """A bottleneck whose 3x3 convolution has groups (Xie et al. 2017): a sum of Tucker forms of R / cardinality."""

    def __init__(
        self,
        inputs: int,
        R: int,
        K: int,
        *,
        cardinality: int = 32,
        stride: int = 1,
        shortcut: str | None = None,
        first_kernel: int = 1,
        dimensions: int = 2,
    ) -> None:
        check_sizes(inputs=inputs, R=R, K=K, cardinality=cardinality, stride=stride, first_kernel=first_kernel)
        if R % cardinality:
            raise PactError(f"must be a multiple of the cardinality {cardinality}, got {R}", where="R")
        outline = outline_three(inputs, R, K, stride=stride, groups=cardinality, first_kernel=first_kernel)
        body = make_chain(outline, dimensions=dimensions)
        super().__init__(body, make_shortcut(shortcut, inputs, K, stride=stride, dimensions=dimensions), relu=True)


class Funnel(Shortcut):
    """1x1 to fewer channels, then 3x3 to all K = R of them; then the shortcut and a ReLU."""

    def __init__(
        self,
        inputs: int,
        inner: int,
        R: int,
        *,
        stride: int = 1,
        shortcut: str | None = None,
        dimensions: int = 2,
    ) -> None:
        check_sizes(inputs=inputs, inner=inner, R=R, stride=stride)
        outline = (ConvStep("conv1", inputs, inner), ConvStep("conv2", inner, R, 3, stride, relu=False))
        body = make_chain(outline, dimensions=dimensions)
        super().__init__(body, make_shortcut(shortcut, inputs, R, stride=stride, dimensions=dimensions), relu=True)
