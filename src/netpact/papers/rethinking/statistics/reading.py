"""Between torch and the statistical form: an ordinary network as a CompositeCNN, and back."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from netpact.core.checks import check_instance
from netpact.core.errors import PactError
from netpact.papers.rethinking.statistics.composite import CompositeCNN, ConvPool
from netpact.papers.rethinking.statistics.positions import Window, check_sizes

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_POOLINGS = (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)
_MOST_MODES = 3  # that torch convolves over


def read_network(module: nn.Sequential, input_shape: Sequence[int]) -> CompositeCNN:
    """Convolutions, average pooling and one linear layer of torch as <X, W_X> + intercept; channels are the first mode.

    input_shape  of one sample, channels first
    """
    shape = check_sizes(input_shape, where="input_shape")
    layers = [part for part in check_instance(module, nn.Sequential, where="module") if not _is_silent(part)]
    if not layers or not isinstance(layers[-1], nn.Linear):
        raise PactError("the last layer must be linear", where="module")
    stages: list[ConvPool] = []
    for convolution, pooling in _pairs(layers[:-1]):
        stages.append(_read_stage(convolution, pooling, first=not stages))
    head = layers[-1]
    empty = np.zeros((1, stages[-1].count, *_pooled(shape, stages)))
    if head.in_features != empty.size:
        raise PactError(f"the linear layer has {head.in_features} inputs, {empty.size} come in", where="module")
    with torch.no_grad():
        silent = copy.deepcopy(module).double()(torch.zeros(1, *shape, dtype=torch.float64))[0]
    output = _array(head.weight).reshape(-1, *empty.shape[1:])
    return CompositeCNN(shape, stages, output, intercept=silent.numpy())


def write_network(network: CompositeCNN) -> nn.Module:
    """The same network of torch's layers, in float64: inputs (samples, d_1, ..., d_N), outputs (samples, outputs).

    torch convolves over at most three modes; of more, one must be of channels, which every kernel covers.
    """
    return _Network(network)


class _Network(nn.Module):
    def __init__(self, network: CompositeCNN) -> None:
        super().__init__()
        self.channels = _channel_mode(network)
        modes = [mode for mode in range(network.order) if mode != self.channels]
        if len(modes) > _MOST_MODES:
            raise PactError(f"torch convolves over at most {_MOST_MODES} modes, got {len(modes)}", where="network")
        kind, pool = (_CONVOLUTIONS[len(modes) - 1], _POOLINGS[len(modes) - 1]) if modes else (None, None)
        if kind is None or pool is None:
            raise PactError("there is no mode to convolve over", where="network")
        parts: list[nn.Module] = []
        for place, stage in enumerate(network.stages):
            kernels = stage.kernels if place else stage.kernels[:, None]
            if self.channels is not None:
                # The channels take the place of the kernels before; behind the first convolution there is one of them.
                axis = 2 + self.channels
                kernels = np.moveaxis(kernels, axis, 1).squeeze(2) if not place else kernels.squeeze(axis)
            window: dict[str, Any] = {
                name: tuple(getattr(stage.window, name)[mode] for mode in modes)
                for name in ("kernel", "stride", "padding", "pooling", "pooling_stride")
            }
            layer = kind(
                kernels.shape[1],
                len(kernels),
                window["kernel"],
                stride=window["stride"],
                padding=window["padding"],
                bias=False,
                dtype=torch.float64,
            )
            layer.weight.data = torch.from_numpy(kernels.copy())
            parts += [layer, pool(window["pooling"], stride=window["pooling_stride"])]
        head = nn.Linear(network.output[0].size, network.outputs, dtype=torch.float64)
        head.weight.data = torch.from_numpy(network.output.reshape(network.outputs, -1).copy())
        head.bias.data = torch.from_numpy(network.intercept.copy())
        self.layers = nn.Sequential(*parts, nn.Flatten(), head)

    def forward(self, inputs: Tensor) -> Tensor:
        samples = inputs.unsqueeze(1) if self.channels is None else inputs.movedim(1 + self.channels, 1)
        found: Tensor = self.layers(samples)
        return found


def _channel_mode(network: CompositeCNN) -> int | None:
    """The first mode that torch can take for channels; None where all modes are to be convolved over."""
    first, *later = network.windows
    for mode, size in enumerate(network.shape):
        covered = first.kernel[mode] == size and first.padding[mode] == 0  # type: ignore[index]
        if covered and all(one.kernel[mode] == 1 and one.padding[mode] == 0 for one in later):  # type: ignore[index]
            return mode if network.order > 1 else None
    return None


def _is_silent(part: nn.Module) -> bool:
    return isinstance(part, (nn.Flatten, nn.Identity, nn.Dropout))


def _pairs(layers: Sequence[nn.Module]) -> Iterator[tuple[Any, Any]]:
    """Each convolution with the pooling behind it, or None."""
    place = 0
    while place < len(layers):
        convolution = layers[place]
        if not isinstance(convolution, _CONVOLUTIONS):
            raise PactError(
                f"{type(convolution).__name__} is not supported here; allowed: convolutions, each with average pooling "
                "or nothing behind it, and a linear layer",
                where=f"layer {place}",
                hint="the statistical form has linear activations",
            )
        following = layers[place + 1] if place + 1 < len(layers) else None
        pooling = following if isinstance(following, _POOLINGS) else None
        yield convolution, pooling
        place += 1 if pooling is None else 2
    if not place:
        raise PactError("at least one convolution is needed", where="module")


def _read_stage(convolution: Any, pooling: Any, *, first: bool) -> ConvPool:
    if convolution.groups != 1 or set(convolution.dilation) != {1} or isinstance(convolution.padding, str):
        raise PactError("groups, dilation and paddings by name are not supported here", where=str(convolution))
    if convolution.padding_mode != "zeros":
        raise PactError(f"only zeros can be padded, not {convolution.padding_mode}", where=str(convolution))
    order = len(convolution.kernel_size)
    size, step = (1, 1) if pooling is None else (pooling.kernel_size, pooling.stride)
    if pooling is not None and (pooling.ceil_mode or any(_spread(pooling.padding, order))):
        raise PactError("pooling with padding or ceil_mode is not supported here", where=str(pooling))
    kernels = _array(convolution.weight)
    kernels = kernels if first else kernels[:, :, None]
    window = Window(
        kernel=(convolution.in_channels if first else 1, *convolution.kernel_size),
        stride=(1, *convolution.stride),
        pooling=(1, *_spread(size, order)),
        pooling_stride=(1, *_spread(step, order)),
        padding=(0, *convolution.padding),
    )
    return ConvPool(kernels, window)


def _pooled(shape: tuple[int, ...], stages: Sequence[ConvPool]) -> tuple[int, ...]:
    for stage in stages:
        shape = stage.window.sizes(shape)[1]
    return shape


def _spread(value: int | tuple[int, ...], order: int) -> tuple[int, ...]:
    return (value,) * order if isinstance(value, int) else tuple(value) * (order if len(value) == 1 else 1)


def _array(tensor: Tensor) -> Any:
    return tensor.detach().double().numpy()
