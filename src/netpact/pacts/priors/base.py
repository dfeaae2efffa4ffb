"""A base network: there before the certified samples were looked at, and supplied by whoever decodes.

It was trained on other data, or it is a helper: trained by a recipe on a part of the sample that the bound leaves out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netpact.coding.forms import Weights
from netpact.core.checks import check_text
from netpact.core.display import Displayed
from netpact.core.errors import PactError
from netpact.core.files import as_path
from netpact.core.json import check_fields
from netpact.core.limits import Limits
from netpact.models import MAX_PARAMETERS, parameter_shapes, parse_architecture
from netpact.models.tensors import delimit, read_tensors
from netpact.models.weights import READERS, check_shapes, shapes_of
from netpact.training import Recipe

if TYPE_CHECKING:
    from torch import nn

HELPER_NOTE = "helper"  # the key in a weight file's note of a helper's data and recipe


@dataclass(frozen=True, eq=False, repr=False)
class Base(Displayed):
    """Named tensors, and what is known about where they came from.

    data_fingerprint  of the data the base was trained on, as far as its file says; "" if it does not. For a helper: of
                      all the training data, of which it has seen a part
    recipe            of a helper network; None for a base from other data
    retrained         a helper that was made here from its recipe, not read from a file
    """

    name: str
    tensors: Mapping[str, NDArray[Any]]
    data_fingerprint: str = ""
    recipe: Recipe | None = None
    retrained: bool = False

    def __post_init__(self) -> None:
        bad = [name for name, array in self.tensors.items() if not np.isfinite(array).all()]
        if bad:
            raise PactError(f"NaN or infinity in {', '.join(bad)}", where=f"base {self.name}")
        object.__setattr__(self, "tensors", MappingProxyType(dict(self.tensors)))

    def __reduce__(self) -> tuple[object, ...]:
        """As in Compressed: a mappingproxy can be neither pickled nor copied."""
        return type(self), (self.name, dict(self.tensors), self.data_fingerprint, self.recipe, self.retrained)

    def display_facts(self) -> dict[str, object]:
        numbers = sum(array.size for array in self.tensors.values())
        kind = "other data" if self.recipe is None else "helper"
        told = {"data_fingerprint": self.data_fingerprint, "retrained": self.retrained}
        return {"name": self.name, "kind": kind, "tensors": len(self.tensors), "numbers": numbers, **told}

    @property
    def sha256(self) -> str:
        """Over name, shape and little-endian float64 numbers of every tensor, in the order of their names.

        Names are delimited, and a shape tells how many numbers follow, so no two networks are hashed as one text.
        """
        digest = hashlib.sha256()
        for name in sorted(self.tensors):
            array = np.ascontiguousarray(self.tensors[name], dtype="<f8")
            digest.update(f"{delimit(name)} {array.shape};".encode() + array.tobytes())
        return digest.hexdigest()

    def own_name(self, name: str) -> str:
        """What the base calls a tensor of the network: the same, or the longest end of the name that it has; or "".

        A network that holds the base as a part calls the base's conv.weight backbone.conv.weight. The rule is fixed, so
        that nothing about it could be chosen by looking at the data.
        """
        parts = name.split(".")
        ends = (".".join(parts[start:]) for start in range(len(parts)))
        return next((end for end in ends if end in self.tensors), "")

    def has(self, name: str, shape: tuple[int, ...]) -> bool:
        """Whether a tensor of the network, of this name and shape, can be encoded against the base."""
        own = self.own_name(name)
        return bool(own) and self.tensors[own].shape == tuple(shape)

    def tensor(self, name: str, shape: tuple[int, ...]) -> Weights:
        own = self.own_name(name)
        if not self.has(name, shape):
            got = f"its shape is {self.tensors[own].shape}" if own else "it has none"
            raise PactError(f"the message needs the base's {name} of shape {shape}, {got}", where=f"base {self.name}")
        return self.tensors[own].astype(np.float64)


def base_of(
    module: nn.Module, *, name: str, data_fingerprint: str = "", recipe: Recipe | None = None, retrained: bool = False
) -> Base:
    """A trained module as the base; its weights are copied."""
    named = [*module.named_parameters(), *module.named_buffers()]
    tensors = {key: tensor.detach().cpu().numpy().copy() for key, tensor in named}
    return Base(name, tensors, data_fingerprint, recipe, retrained)


def open_base(path: str | Path, *, max_parameters: Limits | int = MAX_PARAMETERS) -> Base:
    """A .pact file of a network of ours, which is decoded and names its data; or a file of named tensors.

    Such a file is .safetensors, .pt or .pth; of the latter two nothing but tensors is read. It may come from any
    program, and hold more tensors than a network takes from it.
    """
    place = as_path(path, where="base")
    if place.suffix in READERS:
        return _open_weights(place, max_parameters=max_parameters)
    if place.suffix != ".pact":
        raise PactError(
            f"{place.suffix!r} is not known; allowed: {', '.join((*READERS, '.pact'))}", where=f"base {path}"
        )
    from netpact.coding.format.pact import Pact

    pact = Pact.read(place)
    told = "" if pact.certificate is None else pact.certificate.data_fingerprint
    return base_of(pact.to_module(max_parameters=max_parameters), name=place.stem, data_fingerprint=told)


def _open_weights(path: Path, *, max_parameters: Limits | int) -> Base:
    note: Mapping[str, object] = {}
    if path.suffix == ".safetensors":
        found = read_tensors(path)
        tensors, note = found.tensors, found.note or {}
    else:
        tensors = READERS[path.suffix](path)
    arrays = {name: _as_array(name, tensor, path) for name, tensor in tensors.items()}
    count, most = sum(array.size for array in arrays.values()), Limits.of(max_parameters).max_parameters
    if count > most:
        raise PactError(
            f"it holds {count:,} numbers, more than max_parameters = {most:,}",
            where=f"base {path}",
            hint="if you trust this file: a larger max_parameters in Python, --max-parameters on the command line",
        )
    if "architecture" in note:  # a network of ours, which must be whole
        check_shapes(shapes_of(tensors), parameter_shapes(parse_architecture(note["architecture"])), where=str(path))
    if HELPER_NOTE not in note:
        return Base(path.stem, arrays)
    told = check_fields(note[HELPER_NOTE], ("data_fingerprint", "recipe"), where=f"base {path}")
    fingerprint = check_text(told["data_fingerprint"], where=f"base {path}, data_fingerprint")
    return Base(path.stem, arrays, fingerprint, Recipe.from_json(told["recipe"]))


def _as_array(name: str, tensor: Tensor, path: Path) -> NDArray[Any]:
    """As float32 or an integer; what a half precision holds is held by float32 as well."""
    if tensor.is_complex() or tensor.is_quantized:
        raise PactError(f"{name} is {tensor.dtype}, which is no real number", where=f"base {path}")
    plain = tensor.detach().contiguous()
    return np.asarray((plain.float() if plain.dtype in (torch.float16, torch.bfloat16) else plain).numpy())


def as_base(source: Base | str | Path | object, *, max_parameters: Limits | int = MAX_PARAMETERS) -> Base | None:
    """A base network from a Base or the path of its file; None stays None."""
    if source is None or isinstance(source, Base):
        return source
    if isinstance(source, (str, Path)):
        return open_base(source, max_parameters=max_parameters)
    raise PactError(
        f"must be a Base or the path of its file, got {type(source).__name__}",
        where="base",
        hint="open_base(path) opens one, base_of(module, name=...) makes one from a trained module",
    )
