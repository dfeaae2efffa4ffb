"""The network in a file on its way to workers: as its message, which is decoded there."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from torch import nn

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples
from netpact.datasets.layout import layout_of, restore
from netpact.models import OwnModel, OwnModule, name_model
from netpact.models.tensors import hash_network
from netpact.network.travelling import open_pickle, write_pickle
from netpact.runs.parcels import Content, Parcel

if TYPE_CHECKING:
    from netpact.pacts.priors.subject import Subject

_FEW = 64  # samples on which a user's own module is looked at before it is run


def subject_parcel(subject: Subject) -> Parcel:
    """Named by what the network depends on: message, base, the code of a user's own module."""
    base = "none" if subject.base is None else subject.base.sha256
    code = subject.module_sha256 if subject.model is not None else "ours"
    if not code and subject.execution.folder is not None:
        raise PactError(
            "the code of the module is not identified, so what was counted before may be of other code",
            where="resume",
            hint="leave it out, or give the function that makes the module",
        )
    name = f"message {subject.pact.message_sha256}, base {base}, code {code or uuid.uuid4().hex}"
    return Parcel(
        name,
        lambda: subject.module,
        lambda module: write_pickle(_travelling(subject, module)),
        open_network_there,
        stays=True,
        lasting=bool(code),
    )


def _travelling(subject: Subject, module: nn.Module) -> dict[str, object]:
    own = isinstance(subject.header.architecture, OwnModule)
    train = subject.data.train
    inputs, labels = next(iter(train.batches(_FEW if own else 1)))
    return {
        "message": subject.pact.message,
        "model": _named(subject.model),
        "base": subject.base,
        "few": ArraySamples(restore(inputs, layout_of(train)), labels, train.name, train.classes),
        "max_parameters": subject.max_parameters,
        "sha256": hash_network(module),
        "code": subject.module_sha256,
    }


def _named(model: OwnModel | None) -> object:
    """A function by its name, which every process imports for itself; a module itself."""
    return model if model is None or isinstance(model, nn.Module) else name_model(model)


def open_network_there(content: Content) -> nn.Module:
    """In a worker: decode, and see that it is the same network."""
    from netpact.coding.format import Pact
    from netpact.datasets import Data
    from netpact.pacts.priors.subject import open_subject

    given = open_pickle(content)
    few = given["few"]
    subject = open_subject(
        Pact(given["message"]),
        Data(few.name, few.classes, few),
        model=given["model"],
        base=given["base"],
        max_parameters=given["max_parameters"],
    )
    module = subject.module
    if hash_network(module) != given["sha256"] or subject.module_sha256 != given["code"]:
        raise PactError(
            "this worker has another network than the process that started it",
            where="network",
            hint="the same version of netpact, and of your own module, has to be installed on every node",
        )
    return module
