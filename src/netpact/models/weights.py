"""Weight files in and out: checked by name and shape, all problems listed at once, nothing unpickled."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeAlias

import torch
from torch import nn

from netpact.core.errors import PactError, one_of, wrong_kind
from netpact.core.files import as_path, read_bytes, write_atomically
from netpact.core.limits import MAX_PARAMETERS, Limits
from netpact.models.architecture import Architecture, parameter_shapes, parse_architecture
from netpact.models.building import build
from netpact.models.tensors import pack_tensors, read_tensors, state_of


def save_weights(module: nn.Module, path: str | Path) -> Path:
    """Write a .safetensors file; a module of ours also notes its architecture, so that load_model can rebuild it."""
    target = check_weights_path(path)
    module = as_module(module, where="module")
    state = state_of(module)
    _check_finite(state, where=str(target))
    note: dict[str, object] | None = None
    architecture = getattr(module, "netpact_architecture", None)
    if isinstance(architecture, Architecture):
        check_shapes(shapes_of(state), parameter_shapes(architecture), where=f"module built as {architecture}")
        note = {"architecture": architecture.to_json()}
    return write_atomically(target, pack_tensors(state, note))


def check_weights_path(path: str | Path) -> Path:
    """Refuse a file name that save_weights would refuse, before the hours of training that lead there."""
    target = as_path(path)
    if target.suffix != ".safetensors":
        raise one_of(target.suffix, (".safetensors",), option=f"file name ending of {target}")
    return target


def load_weights(module: nn.Module, path: str | Path) -> None:
    """Fill the module from a .safetensors, .pt or .pth file; it is changed only when everything in the file fits."""
    read = READERS.get(as_path(path).suffix)
    if read is None:
        raise one_of(Path(path).suffix, READERS, option=f"file name ending of {path}")
    tensors = read(path)
    fill_module(module, _without_wrapper(tensors, module), where=str(path))


def _without_wrapper(tensors: dict[str, torch.Tensor], module: nn.Module) -> dict[str, torch.Tensor]:
    """Of a module that was saved inside another one (DataParallel, torch.compile, Lightning), its own names."""
    inner = {name.partition(".")[2]: tensor for name, tensor in tensors.items()}
    wrappers = {name.partition(".")[0] for name in tensors}
    return inner if len(wrappers) == 1 and inner.keys() == module.state_dict().keys() else tensors


def load_model(path: str | Path, *, max_parameters: Limits | int = MAX_PARAMETERS) -> nn.Module:
    """Rebuild a network of one of our architectures from a file of save_weights."""
    found = read_tensors(path)
    if found.note is None or "architecture" not in found.note:
        raise PactError(
            "the file does not say which architecture it holds",
            where=str(path),
            hint="build the module yourself and use load_weights",
        )
    architecture = parse_architecture(found.note["architecture"])
    # Before the build: the memory taken is bounded by what is really in the file.
    check_shapes(shapes_of(found.tensors), parameter_shapes(architecture), where=str(path))
    module = build(architecture, max_parameters=max_parameters)
    fill_module(module, found.tensors, where=str(path))
    return module


class HoldsModule(Protocol):
    """What train and trace return, for example."""

    @property
    def module(self) -> nn.Module: ...


AnyModule: TypeAlias = "nn.Module | str | Path | HoldsModule"


def as_module(source: AnyModule, *, where: str = "model") -> nn.Module:
    """A module from a module, a record that holds one (a Trained, a Network), or a weight file of ours."""
    if isinstance(source, nn.Module):
        return source
    held = getattr(source, "module", None)
    if isinstance(held, nn.Module):
        return held
    if isinstance(source, (str, Path)):
        return load_model(source)
    hint = "make the module first, then module.load_state_dict(weights)" if isinstance(source, dict) else ""
    raise wrong_kind(source, needed="a torch.nn.Module, or the path of a file of save_weights", where=where, hint=hint)


def _read_safetensors(path: str | Path) -> dict[str, torch.Tensor]:
    return read_tensors(path).tensors


def _read_torch(path: str | Path) -> dict[str, torch.Tensor]:
    content = read_bytes(path)
    hint = "save it with torch.save(module.state_dict(), path)"
    try:
        loaded = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, IndexError, AttributeError) as error:
        first_line = str(error).partition("\n")[0]
        raise PactError(f"not a file of plain weights: {first_line}", where=str(path), hint=hint) from error
    if not _are_tensors(loaded):
        # A checkpoint of a training loop: the weights stand beside the optimizer's state, the epoch and the like.
        inner = {str(name): value for name, value in loaded.items()} if isinstance(loaded, Mapping) else {}
        found = [name for name, value in inner.items() if value and _are_tensors(value)]
        if len(found) != 1:
            what = (
                f"several sets of named tensors: {', '.join(found)}" if found else "something else than named tensors"
            )
            raise PactError(f"the file holds {what}", where=str(path), hint=hint)
        loaded = inner[found[0]]
    return {str(name): value for name, value in loaded.items()}


def _are_tensors(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(tensor, torch.Tensor) for tensor in value.values())


READERS: dict[str, Callable[[str | Path], dict[str, torch.Tensor]]] = {
    ".safetensors": _read_safetensors,
    ".pt": _read_torch,
    ".pth": _read_torch,
}


def fill_module(module: nn.Module, tensors: Mapping[str, torch.Tensor], *, where: str) -> None:
    """Copy named tensors into the module, or change nothing and list everything that does not fit."""
    state = module.state_dict()
    check_shapes(shapes_of(tensors), shapes_of(state), where=where)
    kinds = [
        f"{name} is {tensors[name].dtype}, expected {value.dtype}"
        for name, value in state.items()
        if tensors[name].is_floating_point() != value.is_floating_point() or tensors[name].is_complex()
    ]
    if kinds:
        raise PactError("; ".join(kinds), where=where)
    # Cast first: a float64 value may be finite in the file and infinite in the module.
    cast = {name: tensors[name].to(value.dtype) for name, value in state.items()}
    _check_finite(cast, where=where)
    module.load_state_dict(cast)


def shapes_of(tensors: Mapping[str, torch.Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def check_shapes(found: Mapping[str, tuple[int, ...]], wanted: Mapping[str, tuple[int, ...]], *, where: str) -> None:
    problems = [f"{name} is missing" for name in wanted if name not in found]
    problems += [f"{name} is not part of the network" for name in found if name not in wanted]
    problems += [
        f"{name} has shape {found[name]}, expected {shape}"
        for name, shape in wanted.items()
        if name in found and found[name] != shape
    ]
    if problems:
        raise PactError(
            "weights and network do not fit: " + "; ".join(problems),
            where=where,
            hint="give the model that these weights were trained with, and data of the same shape and classes",
        )


def _check_finite(tensors: Mapping[str, torch.Tensor], *, where: str) -> None:
    bad = [name for name, tensor in tensors.items() if not bool(torch.isfinite(tensor).all())]
    if bad:
        raise PactError(f"NaN or infinite weights in {', '.join(bad)}", where=where)
