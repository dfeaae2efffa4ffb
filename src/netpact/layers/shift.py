"""A bias alone."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Shift(nn.Module):
    """x + bias, one number for each of the last axis: the bias of a linear map that is run as several layers."""

    def __init__(
        self, features: int, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> None:
        super().__init__()
        self.features = features
        self.slope = 1.0  # 0 in the difference of two of them, never else
        self.bias = nn.Parameter(torch.zeros(features, device=device, dtype=dtype))

    def forward(self, inputs: Tensor) -> Tensor:
        return (inputs if self.slope == 1 else self.slope * inputs) + self.bias

    def extra_repr(self) -> str:
        return str(self.features)
