"""The layers that may own parameters, and the error that names everything else."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from netpact.core.errors import PactError
from netpact.layers import ChannelAffine

# The layers that may own parameters, and what they are called.
LAYER_KINDS: dict[type[nn.Module], str] = {
    nn.Linear: "linear",
    nn.Conv2d: "conv2d",
    nn.BatchNorm1d: "batch_norm",
    nn.BatchNorm2d: "batch_norm",
    ChannelAffine: "channel_affine",
}


class UnsupportedNetworkError(PactError):
    """Everything that is in the way, each by name: `problems` holds one line for each."""

    def __init__(self, problems: Sequence[str], *, where: str) -> None:
        self.problems = tuple(problems)
        kinds = ", ".join(sorted({kind.__name__ for kind in LAYER_KINDS}))
        super().__init__(
            "the network is not supported:\n  " + "\n  ".join(problems),
            where=where,
            hint=f"layers with parameters may be {kinds}; docs/networks.md says how to mend the rest",
        )
