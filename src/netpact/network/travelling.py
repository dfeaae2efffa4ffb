"""A module on its way to workers."""

from __future__ import annotations

import pickle
import uuid
from typing import Any

from torch import nn

from netpact.core.errors import PactError
from netpact.models import hash_source
from netpact.models.own import current_directory_first
from netpact.models.tensors import hash_network
from netpact.runs.parcels import Content, Parcel


def module_parcel(module: nn.Module) -> Parcel:
    """Any module. It travels as its class's name and its state, so a worker must be able to import the class.

    Its name is a hash of its weights and of its code. Where the source of the code is not available, it has a name that
    nobody else has.
    """
    code = hash_source(module, module)
    name = f"code {code}, weights {hash_network(module)}" if code else f"module {uuid.uuid4().hex}"
    return Parcel(name, lambda: module, write_pickle, open_pickle, stays=True, lasting=bool(code))


def write_pickle(thing: Any) -> bytes:
    try:
        return pickle.dumps(thing)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise PactError(
            f"it cannot travel to a worker: {error}",
            where=f"network {type(thing).__name__}",
            hint="its class has to stand at the top level of a module that workers can import; or use one process",
        ) from error


def open_pickle(content: Content) -> Any:
    """What this very run has written: no file is opened by it."""
    with current_directory_first():
        return pickle.loads(content)
