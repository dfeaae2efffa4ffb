"""Several layers in place of one: what a layer of low rank is run as."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

CONV_SETTINGS = ("stride", "padding", "dilation", "padding_mode")


class Chain(nn.Sequential, ABC):
    """Layers whose composition is linear, in the place of one linear layer or convolution."""

    @property
    def bias(self) -> Tensor | None:
        """As one layer for all of them would have it."""
        last: Any = [part for part in self if not isinstance(part, nn.Identity)][-1]
        bias: Tensor | None = last.bias
        return bias

    @abstractmethod
    def dense(self) -> nn.Linear | nn.Conv2d:
        """One layer for all of them, in float64."""

    def to_dense(self) -> nn.Linear | nn.Conv2d:
        """One layer for all of them, in their precision."""
        return self.dense().to(next(self.parameters()).dtype)


C = TypeVar("C", bound=Chain)


def make_like(layer: Any, make: Callable[..., C], **settings: Any) -> C:
    """A chain in a layer's place: its bias, device, precision and mode; the factors are not set."""
    held = next(layer.parameters())
    # Made without memory first: torch's own initialisation would take from the global random stream.
    made = make(**settings, bias=layer.bias is not None, dtype=held.dtype, device="meta")
    made = made.to_empty(device=held.device).train(layer.training)
    if layer.bias is not None:
        assert made.bias is not None
        made.bias.data.copy_(layer.bias.detach())
    return made


class Factored(Chain):
    """second(first(x)): a linear map to few channels, then one to all of them, which has the bias.

    Of a convolution the first one has kernel, stride, padding and dilation, the second one looks at single pixels.
    """

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__(OrderedDict(first=first, second=second))

    @torch.no_grad()
    def dense(self) -> nn.Linear | nn.Conv2d:
        first, second = (part.dense() if isinstance(part, Chain) else part for part in self)
        assert isinstance(first, (nn.Linear, nn.Conv2d))
        assert isinstance(second, (nn.Linear, nn.Conv2d))
        narrow, wide = first.weight.double(), second.weight.double().flatten(1)
        layer = resized(first, outputs=len(wide), bias=second.bias is not None).double()
        layer.weight.copy_((wide @ narrow.flatten(1)).reshape(layer.weight.shape))
        if layer.bias is not None and second.bias is not None:
            layer.bias.copy_(second.bias)
        return layer


def conv_settings(layer: Any) -> dict[str, Any]:
    """How the kernel is moved over the image."""
    return {name: getattr(layer, name) for name in CONV_SETTINGS}


def compose_conv(moved: nn.Conv2d, weight: Tensor, bias: Tensor | None) -> nn.Conv2d:
    """A convolution with this kernel (out, in, taps) and bias, moved over the image as another one, in float64."""
    made = resized(moved, outputs=len(weight), inputs=weight.shape[1], bias=bias is not None).double()
    assert isinstance(made, nn.Conv2d)
    made.weight.copy_(weight.reshape(made.weight.shape))
    if made.bias is not None and bias is not None:
        made.bias.copy_(bias)
    return made


def resized(
    layer: nn.Linear | nn.Conv2d, *, outputs: int, inputs: int | None = None, bias: bool | None = None
) -> nn.Linear | nn.Conv2d:
    """A layer like this one with other numbers of channels, on the same device; its weights are not set."""
    settings: dict[str, Any] = {"device": "meta", "dtype": layer.weight.dtype}
    settings["bias"] = layer.bias is not None if bias is None else bias
    inputs = layer.weight.shape[1] if inputs is None else inputs
    if isinstance(layer, nn.Conv2d):
        settings |= {"kernel_size": layer.kernel_size} | conv_settings(layer)
    made = type(layer)(inputs, outputs, **settings)
    # Made without memory first: torch's own initialisation would take from the global random stream.
    return made.to_empty(device=layer.weight.device).train(layer.training)
