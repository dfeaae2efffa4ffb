"""Tensors of a network beside those of its base: what can be encoded against it, and what cannot."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from torch import Tensor, nn

from netpact.coding.format import Compressed
from netpact.coding.forms import CodedTensor, Relative
from netpact.core.errors import PactError
from netpact.methods.approximations import BIAS_GRID, UNIT_STEP, Dense, FromBase, as_array, code_buffer
from netpact.methods.fitting import Array
from netpact.methods.grids import Grid, UniformGrid
from netpact.network import Network
from netpact.pacts.priors import Base

_FEW = 6  # names in an error
_BUFFER_BITS = (8, 12, 16)
_BUFFER_ERROR = 2.0**-7  # of a variance, or of the root mean square of means: what batch norm does not notice


def all_tensors(module: nn.Module) -> dict[str, Tensor]:
    """In the order of the message."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def refuse_foreign_base(network: Network, base: Base) -> None:
    """A base that has no tensor of the network is the base of another network; both are then named."""
    tensors = all_tensors(network.module)
    if any(base.has(name, tuple(tensor.shape)) for name, tensor in tensors.items() if tensor.dim()):
        return
    own = [f"{name} {tuple(tensor.shape)}" for name, tensor in tensors.items()]
    given = [f"{name} {array.shape}" for name, array in base.tensors.items()]
    raise PactError(
        f"none of its tensors has the name and shape of one of {network.name}'s; it has {list_some(given)}, the "
        f"network has {list_some(own)}",
        where=f"base {base.name}",
        hint="names may differ by what stands before a dot at their beginning: backbone.conv.weight is conv.weight",
    )


def list_some(names: list[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more


def unchanged(shape: tuple[int, ...]) -> CodedTensor:
    """The base's tensor itself, as a difference of zero."""
    return CodedTensor(Relative(UNIT_STEP), np.zeros(int(np.prod(shape)), dtype=np.int64), shape)


def difference(base: Base, name: str, values: Array) -> Array:
    return np.asarray(values - base.tensor(name, values.shape))


def code_by_base(network: Network, base: Base, coded: Mapping[str, CodedTensor], grid: Grid) -> Compressed:
    """The network, with the tensors that a method has coded; what it left is coded here.

    Against the base where it has the tensor: numbers in the grid, integers exactly, running statistics nearly so. What
    the base lacks (a new head) is coded alone: matrices in the grid, vectors in 8 bits, buffers exactly.
    """
    refuse_foreign_base(network, base)
    tensors = {
        name: coded[name] if name in coded else _code_one(name, tensor, base, grid)
        for name, tensor in all_tensors(network.module).items()
    }
    split = None if base.recipe is None else base.recipe.split
    return Compressed(network.architecture, tensors, split=split)


def _code_one(name: str, tensor: Tensor, base: Base, grid: Grid) -> CodedTensor:
    if not base.has(name, tuple(tensor.shape)):
        if not isinstance(tensor, nn.Parameter) or not tensor.is_floating_point():
            return code_buffer(tensor)
        return Dense(as_array(tensor)).code(grid if tensor.dim() >= 2 else BIAS_GRID)
    values = as_array(tensor)
    beyond = difference(base, name, values)
    if not beyond.any():
        return unchanged(values.shape)
    if not tensor.is_floating_point():
        if bool((beyond != np.rint(beyond)).any()):  # the base has fractions there
            return code_buffer(tensor)
        return CodedTensor(Relative(UNIT_STEP), beyond.astype(np.int64).ravel(), values.shape)
    if isinstance(tensor, nn.Parameter):
        return FromBase(Dense(beyond)).code(grid)
    return _code_statistics(tensor, values, beyond)


def _code_statistics(tensor: Tensor, values: Array, beyond: Array) -> CodedTensor:
    """In as few bits as leave variances what they are, one by one, and means as a whole; else exactly."""
    positive = bool((values > 0).all())
    allowed = _BUFFER_ERROR * (values if positive else np.full_like(values, np.sqrt(np.square(values).mean())))
    for bits in _BUFFER_BITS:
        coded = FromBase(Dense(beyond)).code(UniformGrid(bits))
        if bool((np.abs(coded.weights() - beyond) <= allowed).all()):
            return coded
    return code_buffer(tensor)
