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
from numpy.typing import NDArray

from netpact.coding.forms import Weights
from netpact.core.checks import check_text
from netpact.core.display import Displayed
from netpact.core.errors import PactError
from netpact.core.files import as_path
from netpact.core.json import check_fields
from netpact.core.limits import Limits
from netpact.models import MAX_PARAMETERS
from netpact.models.tensors import delimit
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

    def tensor(self, name: str, shape: tuple[int, ...]) -> Weights:
        found = self.tensors.get(name)
        if found is None or found.shape != shape:
            got = "it has none" if found is None else f"its shape is {found.shape}"
            raise PactError(f"the message needs the base's {name} of shape {shape}, {got}", where=f"base {self.name}")
        return found.astype(np.float64)


def base_of(
    module: nn.Module, *, name: str, data_fingerprint: str = "", recipe: Recipe | None = None, retrained: bool = False
) -> Base:
    """A trained module as the base; its weights are copied."""
    named = [*module.named_parameters(), *module.named_buffers()]
    tensors = {key: tensor.detach().cpu().numpy().copy() for key, tensor in named}
    return Base(name, tensors, data_fingerprint, recipe, retrained)


def open_base(path: str | Path, *, max_parameters: Limits | int = MAX_PARAMETERS) -> Base:
    """A .safetensors file of save_weights or save_helper, or a .pact file, which is decoded and names its data."""
    place = as_path(path, where="base")
    if place.suffix == ".safetensors":
        return _open_weights(place, max_parameters=max_parameters)
    if place.suffix != ".pact":
        raise PactError(f"{place.suffix!r} is not known; allowed: .safetensors, .pact", where=f"base {path}")
    from netpact.coding.format.pact import Pact

    pact = Pact.read(place)
    told = "" if pact.certificate is None else pact.certificate.data_fingerprint
    return base_of(pact.to_module(max_parameters=max_parameters), name=place.stem, data_fingerprint=told)


def _open_weights(path: Path, *, max_parameters: Limits | int) -> Base:
    from netpact.models import load_model
    from netpact.models.tensors import read_tensors

    module, note = load_model(path, max_parameters=max_parameters), read_tensors(path).note or {}
    if HELPER_NOTE not in note:
        return base_of(module, name=path.stem)
    told = check_fields(note[HELPER_NOTE], ("data_fingerprint", "recipe"), where=f"base {path}")
    fingerprint = check_text(told["data_fingerprint"], where=f"base {path}, data_fingerprint")
    recipe = Recipe.from_json(told["recipe"])
    return base_of(module, name=path.stem, data_fingerprint=fingerprint, recipe=recipe)


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
