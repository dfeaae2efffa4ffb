"""Named tensors and a note in one safetensors file. Nothing is unpickled."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import nn

from netpact.core.errors import PactError
from netpact.core.files import read_bytes
from netpact.core.json import read_object

# One key only: safetensors writes the metadata in no fixed order, and equal content should be equal bytes.
_NOTE = "netpact"


@dataclass(frozen=True)
class TensorFile:
    """What read_tensors found; note is the JSON object that netpact wrote, or None in a file of another program."""

    tensors: dict[str, torch.Tensor]
    note: dict[str, object] | None


def state_of(module: nn.Module) -> dict[str, torch.Tensor]:
    """Copies of all parameters and buffers by name, on the CPU, none sharing memory with another."""
    state = module.state_dict()
    other = [name for name, value in state.items() if not isinstance(value, torch.Tensor)]
    if other:
        raise PactError(f"the state holds {', '.join(other)}, which are not tensors", where="state_dict")
    return {name: value.detach().to("cpu", copy=True).contiguous() for name, value in state.items()}


def delimit(name: str) -> str:
    """A tensor's name in a text that is hashed: one can tell where it ends.

    Common names stay as they are. Others become JSON texts, whose quotes no common name has.
    """
    return name if re.fullmatch("[A-Za-z0-9_.-]+", name) else json.dumps(name)


def hash_network(module: nn.Module) -> str:
    """sha256 over name, type, shape and little-endian bytes of every parameter, then of every buffer.

    Names are delimited, and type and shape tell how many bytes follow, so no two networks are hashed as one text.
    """
    digest = hashlib.sha256()
    for name, tensor in tensors_of(module).items():
        array = tensor.detach().cpu().contiguous().numpy()
        little = array.astype(array.dtype.newbyteorder("<"))
        digest.update(f"{delimit(name)} {tensor.dtype} {tuple(tensor.shape)};".encode() + little.tobytes())
    return digest.hexdigest()


def tensors_of(module: nn.Module) -> dict[str, torch.Tensor]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def pack_tensors(tensors: Mapping[str, torch.Tensor], note: Mapping[str, object] | None) -> bytes:
    metadata = None if note is None else {_NOTE: json.dumps(note, sort_keys=True, allow_nan=False)}
    return safetensors.torch.save(dict(tensors), metadata=metadata)


def read_tensors(path: str | Path) -> TensorFile:
    content = read_bytes(path)
    try:
        tensors = safetensors.torch.load(content)
    except (safetensors.SafetensorError, KeyError, ValueError) as error:
        pickled = Path(path).suffix in (".pt", ".pth")
        raise PactError(
            f"not a whole safetensors file: {error}",
            where=str(path),
            hint="make the module yourself, load its state_dict, and give the module" if pickled else "",
        ) from error
    return TensorFile(tensors, _note(content, path))


def _note(content: bytes, path: str | Path) -> dict[str, object] | None:
    """The header stands after its length, 8 bytes little-endian; the loader above has checked both."""
    length = int.from_bytes(content[:8], "little")
    metadata = read_object(content[8 : 8 + length], where=str(path)).get("__metadata__")  # null is allowed, too
    text = (metadata or {}).get(_NOTE)
    if text is None:
        return None
    return dict(read_object(text, where=f"{path}, netpact's note"))
