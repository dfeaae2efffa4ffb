"""The network and the data of a comparison: as plain JSON for the tasks, and opened once in each process."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from netpact.core.errors import PactError
from netpact.core.files import read_bytes
from netpact.core.json import JsonValue, encode_json
from netpact.datasets import ArraySamples, Data, Samples, as_samples, load_data
from netpact.models import Architecture, load_model, load_weights, model_maker, save_weights
from netpact.network import Network, trace

if TYPE_CHECKING:
    from netpact.models import OwnModel

ORIGINAL = "original.safetensors"
MEMORY = "memory"  # in place of a name: what only the process has that called compare


@dataclass(frozen=True, eq=False)
class Subject:
    """model: what certify takes for a module of the user's own; None for a network of ours."""

    module: nn.Module
    data: Data
    model: OwnModel | None

    @property
    def network(self) -> Network:
        """Anew for each method, so that none can change what the next one gets."""
        return trace(copy.deepcopy(self.module), self.data)

    def shell(self) -> nn.Module | None:
        return None if self.model is None else copy.deepcopy(self.module)


_HELD: dict[str, Subject] = {}


def keep_subject(module: nn.Module, data: Data, *, model: str, data_name: str, folder: Path) -> Mapping[str, JsonValue]:
    """Write the weights to the folder and give the JSON that opens them again, here and in other processes.

    model      package.module:function of a module of the user's own; "" for a network of ours, or one in memory
    data_name  what load_data takes; "" for data in memory
    """
    weights = save_weights(module, folder / ORIGINAL)
    ours = isinstance(getattr(module, "netpact_architecture", None), Architecture)
    source: dict[str, JsonValue] = {
        "model": "" if ours else model or MEMORY,
        "weights": str(weights),
        "sha256": hashlib.sha256(read_bytes(weights)).hexdigest(),
        "data": data_name or MEMORY,
        "fingerprint": data.train.fingerprint(),
    }
    own: OwnModel | None = None if ours else module if not model else model_maker(model)
    _HELD.clear()
    _HELD[encode_json(source, where="subject")] = Subject(module.eval(), data, own)
    return source


def is_in_memory(source: Mapping[str, JsonValue]) -> bool:
    """Whether only this process can open it."""
    return MEMORY in (source["model"], source["data"])


def open_subject(source: Mapping[str, Any]) -> Subject:
    key = encode_json(dict(source), where="subject")
    if key not in _HELD:
        _HELD.clear()
        _HELD[key] = _open(source)
    return _HELD[key]


def _open(source: Mapping[str, str]) -> Subject:
    if is_in_memory(source):
        raise PactError(
            "a module or data in memory can be compared in one process only",
            where="engine",
            hint="leave the engine out, or give the network as package.module:function and the data by name",
        )
    weights, model = source["weights"], source["model"]
    if hashlib.sha256(read_bytes(weights)).hexdigest() != source["sha256"]:
        raise PactError("the weights changed while the comparison was running", where=weights)
    maker: Callable[[], nn.Module] | None = model_maker(model) if model else None
    module = load_model(weights) if maker is None else maker()
    if maker is not None:
        load_weights(module, weights)
    data = load_data(source["data"])
    if data.train.fingerprint() != source["fingerprint"]:
        raise PactError("the data changed while the comparison was running", where=source["data"])
    return Subject(module.eval(), data, maker)


def thin(samples: Samples, count: int) -> Samples:
    """So many samples, evenly spread: the first ones of a set may all be of one class."""
    if count >= samples.count:
        return samples
    if isinstance(samples, ArraySamples):
        places = np.arange(count, dtype=np.int64) * samples.count // count
        return samples.take(places, name=f"{samples.name}, {count:,} of {samples.count:,}")
    return as_samples(next(iter(samples.batches(count))), classes=samples.classes)
