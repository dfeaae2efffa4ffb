"""The unit of ShuffleNet v2 ("Rethinking compressed CNNs" 2021, Figure 9)."""

from __future__ import annotations

from netpact.core.errors import PactError
from netpact.layers.blocks.making import check_sizes, make_chain
from netpact.layers.blocks.outline import outline_branch, outline_shuffled
from netpact.layers.skips import ShuffleStep


class ShuffleUnit(ShuffleStep):
    """1x1 to R channels, 3x3 depthwise, 1x1 to K, on one half of the channels; then both halves are shuffled.

    K             channels of each half of the output, 2 K together; with a stride of 1 there are as many inputs
    first_kernel  3 for the first unit of a group at t = 1, as of a Bottleneck
    """

    def __init__(self, inputs: int, R: int, K: int, *, stride: int = 1, first_kernel: int = 1) -> None:
        check_sizes(inputs=inputs, R=R, K=K, stride=stride, first_kernel=first_kernel)
        if stride == 1 and inputs != 2 * K:
            raise PactError(
                f"with a stride of 1 there must be 2 K = {2 * K} of them, got {inputs}",
                where="inputs",
                hint="one half of the channels stays as it is",
            )
        read = inputs // 2 if stride == 1 else inputs
        body = make_chain(outline_shuffled(read, R, K, stride=stride, first_kernel=first_kernel))
        super().__init__(body, None if stride == 1 else make_chain(outline_branch(inputs, K, stride=stride)))
