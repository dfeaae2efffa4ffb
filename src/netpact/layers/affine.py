"""One scale and one shift for each channel."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class ChannelAffine(nn.Module):
    """weight_c x + bias_c in channel c of an image or a vector: what batch norm does once it is trained.

    It is run as a convolution of one pixel in groups of one channel, so what is known of those holds here too.
    """

    def __init__(
        self, channels: int, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> None:
        super().__init__()
        self.channels = channels
        self.weight = nn.Parameter(torch.ones(channels, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.zeros(channels, device=device, dtype=dtype))

    def forward(self, inputs: Tensor) -> Tensor:
        if inputs.dim() == 4:
            return self._convolve(inputs)
        # A vector is an image of one pixel, a sequence one of a single column.
        return self._convolve(inputs.reshape(len(inputs), self.channels, -1, 1)).reshape(inputs.shape)

    def _convolve(self, images: Tensor) -> Tensor:
        return functional.conv2d(images, self.weight.view(-1, 1, 1, 1), self.bias, groups=self.channels)

    def extra_repr(self) -> str:
        return str(self.channels)
