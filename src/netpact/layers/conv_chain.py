"""A convolution as several: what those in CP and in Tucker form have in common."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, NamedTuple, TypeVar

from torch import Tensor, nn

from netpact.algebra import ConvolutionOptions
from netpact.algebra.component_norms import component_gains
from netpact.algebra.cp_als import unit_columns
from netpact.algebra.outward import round_up
from netpact.core.checks import check_flag, check_integer, told
from netpact.core.errors import PactError, one_of
from netpact.layers.factored import CONV_SETTINGS, Chain, conv_settings, make_like

Self = TypeVar("Self", bound="PointwiseChain")


class ConvChain(Chain):
    """Layers of which one is moved over the image. Attributes are named as nn.Conv2d's are."""

    groups = 1

    @property
    @abstractmethod
    def moved(self) -> nn.Conv2d:
        """The layer that looks at more than one pixel."""

    @property
    @abstractmethod
    def in_channels(self) -> int: ...

    @property
    @abstractmethod
    def out_channels(self) -> int: ...

    @property
    def kernel_size(self) -> tuple[int, ...]:
        return self.moved.kernel_size

    @property
    def stride(self) -> tuple[int, ...]:
        return self.moved.stride

    @property
    def padding(self) -> str | tuple[int, ...]:
        return self.moved.padding

    @property
    def dilation(self) -> tuple[int, ...]:
        return self.moved.dilation

    @property
    def padding_mode(self) -> str:
        return self.moved.padding_mode


class PointwiseChain(ConvChain):
    """1x1, the layer that is moved, 1x1 with the bias."""

    pointwise_in: nn.Conv2d
    pointwise_out: nn.Conv2d

    @property
    def in_channels(self) -> int:
        return self.pointwise_in.in_channels

    @property
    def out_channels(self) -> int:
        return self.pointwise_out.out_channels

    @classmethod
    def like(cls: type[Self], layer: nn.Conv2d | ConvChain, rank: Any) -> Self:
        """With the settings and the bias of a convolution; the factors are not set."""
        make = partial(cls, layer.in_channels, layer.out_channels, layer.kernel_size, rank)
        return make_like(layer, make, **conv_settings(layer))


def kernel_gains(layer: nn.Conv2d) -> Tensor:
    """For each channel of a depthwise layer: at least the norm of convolving with its kernel, scaled to length 1."""
    options = ConvolutionOptions(layer.stride, layer.padding, layer.dilation, padding_mode=layer.padding_mode)
    units = unit_columns(layer.weight.detach().double().flatten(1).T)[0]
    return round_up(component_gains(units.T.reshape(-1, *layer.kernel_size), options))


class Settings(NamedTuple):
    """The arguments of nn.Conv2d by what they are about: moving the kernel, the bias, the place of the numbers."""

    moves: dict[str, Any]
    bias: bool
    place: dict[str, Any]


def check_settings(settings: dict[str, Any]) -> Settings:
    """Refuse what nn.Conv2d would refuse later, or in words of its own."""
    allowed = (*CONV_SETTINGS, "bias", "device", "dtype")
    for name in settings:
        if name not in allowed:
            raise one_of(name, allowed, option="settings")
    moves = {name: settings[name] for name in CONV_SETTINGS if name in settings}
    moves = {name: tuple(value) if isinstance(value, list) else value for name, value in moves.items()}
    ConvolutionOptions(**moves).along_axes((1, 1))
    place: dict[str, Any] = {name: settings[name] for name in ("device", "dtype") if name in settings}
    return Settings(moves, check_flag(settings.get("bias", True), where="bias"), place)


def check_channels(in_channels: object, out_channels: object, kernel_size: Any) -> tuple[int, int, tuple[int, int]]:
    """Two numbers of channels, and the kernel's size along both axes."""
    sides = (kernel_size, kernel_size) if isinstance(kernel_size, int) else kernel_size
    if not isinstance(sides, (tuple, list)) or len(sides) != 2:
        raise PactError(f"must be an integer >= 1 or two of them, got {told(kernel_size)}", where="kernel_size")
    height, width = (check_integer(side, where="kernel_size", least=1) for side in sides)
    inputs = check_integer(in_channels, where="in_channels", least=1)
    return inputs, check_integer(out_channels, where="out_channels", least=1), (height, width)


def check_conv(layer: object) -> nn.Conv2d:
    """Exactly this type: a subclass may compute anything."""
    if type(layer) is not nn.Conv2d or layer.groups != 1:
        what = f"needs an nn.Conv2d without groups, got {told(layer)}"
        hint = "it is factored already: truncate(rank) gives fewer components" if isinstance(layer, Chain) else ""
        raise PactError(what, where="layer", hint=hint)
    return layer
