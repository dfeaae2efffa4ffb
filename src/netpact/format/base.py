"""A base network: fixed before the sample, trained on other data, and supplied by whoever decodes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netpact.errors import PactError
from netpact.format.compressed import Compressed
from netpact.forms import Relative, Weights

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, eq=False)
class Base:
    """Named tensors, and what is known about where they came from.

    data_fingerprint  of the data the base was trained on, as far as its file tells; "" if it does not
    """

    name: str
    tensors: Mapping[str, NDArray[Any]]
    data_fingerprint: str = ""

    def __post_init__(self) -> None:
        bad = [name for name, array in self.tensors.items() if not np.isfinite(array).all()]
        if bad:
            raise PactError(f"NaN or infinity in {', '.join(bad)}", where=f"base {self.name}")
        object.__setattr__(self, "tensors", MappingProxyType(dict(self.tensors)))

    @property
    def sha256(self) -> str:
        """Over name, shape and little-endian float64 numbers of every tensor, in the order of their names."""
        digest = hashlib.sha256()
        for name in sorted(self.tensors):
            array = np.ascontiguousarray(self.tensors[name], dtype="<f8")
            digest.update(f"{name} {array.shape};".encode() + array.tobytes())
        return digest.hexdigest()

    def tensor(self, name: str, shape: tuple[int, ...]) -> Weights:
        found = self.tensors.get(name)
        if found is None or found.shape != shape:
            got = "it has none" if found is None else f"its shape is {found.shape}"
            raise PactError(f"the message needs the base's {name} of shape {shape}, {got}", where=f"base {self.name}")
        return found.astype(np.float64)


def base_of(module: nn.Module, *, name: str, data_fingerprint: str = "") -> Base:
    """A trained module as the base; its weights are copied."""
    named = [*module.named_parameters(), *module.named_buffers()]
    tensors = {key: tensor.detach().cpu().numpy().copy() for key, tensor in named}
    return Base(name, tensors, data_fingerprint)


def open_base(path: str | Path) -> Base:
    """A .safetensors file of save_weights, or a .pact file, which is decoded first and tells its data."""
    from netpact.models import load_model

    place = Path(path)
    if place.suffix == ".safetensors":
        return base_of(load_model(place), name=place.stem)
    if place.suffix != ".pact":
        raise PactError(f"{place.suffix!r} is not known; allowed: .safetensors, .pact", where=f"base {path}")
    from netpact.format.pact import Pact

    pact = Pact.read(place)
    told = "" if pact.certificate is None else pact.certificate.data_fingerprint
    return base_of(pact.to_module(), name=place.stem, data_fingerprint=told)


def is_relative(compressed: Compressed) -> bool:
    return any(isinstance(tensor.form, Relative) for tensor in compressed.tensors.values())
