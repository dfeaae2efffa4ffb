"""A network from which channels were removed, in the structure that it had: with those channels at 0.

The file does not say which channels were kept, only how many, so they are found by their weights: in each layer those
of the original, in their order, that are nearest to what is left. A wrong guess makes the bound larger, not false: how
far the network that is rebuilt is from the narrow one is measured with the rest (twins.py).
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.network.channels import STAYS, Channels, LayerUnits, find_channels
from netpact.network.narrowing import Kept, chosen, silence

Costs = NDArray[np.float64]
_UNKNOWN, _GONE, _KEPT = -1, 0, 1


def restore_channels(module: nn.Module, original: nn.Module, input_shape: tuple[int, ...]) -> nn.Module | None:
    """The original's structure with the weights of the module; None if the module is not the original but narrower."""
    if not _is_narrower(module, original):
        return None
    channels = find_channels(original, input_shape)
    kept = _find_kept(module, original, channels)
    return None if kept is None else _widen(module, original, channels, kept)


def _is_narrower(module: nn.Module, original: nn.Module) -> bool:
    pair = [{name: type(part) for name, part in one.named_modules()} for one in (module, original)]
    shapes = [{name: tuple(tensor.shape) for name, tensor in _tensors(one).items()} for one in (module, original)]
    if pair[0] != pair[1] or shapes[0].keys() != shapes[1].keys() or shapes[0] == shapes[1]:
        return False
    return all(
        len(own) == len(shapes[1][name]) and all(a <= b for a, b in zip(own, shapes[1][name], strict=True))
        for name, own in shapes[0].items()
    )


def _find_kept(module: nn.Module, original: nn.Module, channels: Channels) -> Kept | None:
    """Layer by layer as they run: what a layer reads is known by then. None where the counts do not fit."""
    state = np.full(channels.count + 1, _UNKNOWN)
    state[STAYS] = _KEPT
    for name, layer in channels.layers.items():
        own, whole = (_weight(one, name) for one in (module, original))
        if not layer.is_filter or own is None or whole is None:
            continue
        if own.shape[1:] == whole.shape[1:]:
            columns = whole
        else:
            read = np.flatnonzero(state[layer.inputs] == _KEPT)
            if len(layer.inputs) != whole.shape[1] or len(read) != own.shape[1]:
                return None
            columns = whole[:, torch.from_numpy(read)]
        places = _match(own.flatten(1), columns.flatten(1), state[layer.outputs])
        if places is None:
            return None
        found = np.full(len(layer.outputs), _GONE)
        found[places] = _KEPT
        if not (found[layer.outputs == STAYS] == _KEPT).all():
            return None
        state[layer.outputs] = found
        state[STAYS] = _KEPT
    return np.asarray(state[:-1] == _KEPT)


def _match(own: Tensor, whole: Tensor, state: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Rows of `whole` in growing order, as many as there are of `own`, with the least squared distance in all."""
    squares = [part.square().sum(dim=1) for part in (own, whole)]
    costs = (squares[0][:, None] + squares[1] - 2 * own @ whole.T).clamp(min=0).numpy()
    large = 1 + 2 * float(costs.sum())
    costs = costs + large * ((state == _GONE).astype(np.float64) - (state == _KEPT))
    if len(own) > len(whole):
        return None
    best: list[Costs] = [np.zeros(len(whole) + 1)]
    for row in costs:
        # The least cost with this row at one of the first j places.
        reached = np.minimum.accumulate(best[-1][:-1] + row)
        best.append(np.concatenate([[np.inf], reached]))
    places, limit = [], len(whole)
    for number in range(len(own) - 1, -1, -1):
        limit = int(np.argmin(best[number][:limit] + costs[number, :limit]))
        places.append(limit)
    found = np.array(places[::-1], dtype=np.int64)
    fits = not (state[found] == _GONE).any() and np.isin(np.flatnonzero(state == _KEPT), found).all()
    return found if fits else None


@torch.no_grad()
def _widen(module: nn.Module, original: nn.Module, channels: Channels, kept: Kept) -> nn.Module:
    twin = copy.deepcopy(original).double().eval()
    for name, part in twin.named_modules():
        own = _tensors(module.get_submodule(name), recurse=False)
        if name not in channels.layers:
            _fill(part, own, slice(None), None)
            continue
        layer = channels.layers[name]
        outputs, inputs = chosen(layer, kept)
        silence(part, torch.from_numpy(np.setdiff1d(np.arange(len(layer.outputs)), outputs)))
        _fill(part, own, torch.from_numpy(outputs), _columns(layer, inputs))
    return twin


def _columns(layer: LayerUnits, inputs: NDArray[np.int64]) -> Tensor | None:
    return None if len(inputs) == len(layer.inputs) else torch.from_numpy(inputs)


def _fill(part: nn.Module, own: dict[str, Tensor], rows: Tensor | slice, columns: Tensor | None) -> None:
    """Columns that read nothing but zeros stay those of the original: the layers are then closer to each other."""
    for key, tensor in _tensors(part, recurse=False).items():
        if not tensor.dim():
            tensor.copy_(own[key])
        elif columns is None or tensor.dim() < 2:
            tensor[rows] = own[key].to(tensor.dtype)
        else:
            filled = tensor[rows]
            filled[:, columns] = own[key].to(tensor.dtype)
            tensor[rows] = filled


def _weight(module: nn.Module, name: str) -> Tensor | None:
    weight = module.get_submodule(name)._parameters.get("weight")
    return None if weight is None else weight.detach().double()


def _tensors(module: nn.Module, *, recurse: bool = True) -> dict[str, Tensor]:
    return {**dict(module.named_parameters(recurse=recurse)), **dict(module.named_buffers(recurse=recurse))}
