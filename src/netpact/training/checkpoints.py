"""One file from which a training run resumes as if it had never stopped. Tensors and JSON, never pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import nn

from netpact.core.errors import PactError
from netpact.core.files import write_atomically
from netpact.models.tensors import pack_tensors, read_tensors, state_of
from netpact.models.weights import fill_module
from netpact.training.epoch import Epoch, parse_history
from netpact.training.memory import Memory
from netpact.training.options import TrainOptions

_KIND = "training checkpoint 1"
_MODULE, _OPTIMIZER = "module/", "optimizer/"


def identify_run(module: nn.Module, options: TrainOptions, data: Memory, test: Memory | None) -> dict[str, str]:
    """Everything that decides a run, by name: two runs are the same when all of these are."""
    state = state_of(module)
    shapes = {name: list(tensor.shape) for name, tensor in state.items()}
    frozen = [name for name, parameter in module.named_parameters() if not parameter.requires_grad]
    network = json.dumps([str(module), shapes, frozen])
    return {
        "options": json.dumps(options.to_json(), sort_keys=True),
        "network": hashlib.sha256(network.encode()).hexdigest(),
        "starting weights": digest_tensors(state),
        "training data": data.fingerprint(),
        "test data": "none" if test is None else test.fingerprint(),
    }


def save_checkpoint(
    path: Path,
    identity: Mapping[str, str],
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    history: tuple[Epoch, ...],
) -> None:
    tensors = {_MODULE + name: tensor for name, tensor in state_of(module).items()}
    for index, slots in optimizer.state_dict()["state"].items():
        for name, value in slots.items():
            if isinstance(value, torch.Tensor):
                tensors[f"{_OPTIMIZER}{index}/{name}"] = value.detach().to("cpu", copy=True).contiguous()
            elif value is not None:
                raise PactError(f"cannot save {name} of type {type(value).__name__}", where="optimizer state")
    note = {
        "kind": _KIND,
        "identity": dict(identity),
        "history": [epoch.to_json() for epoch in history],
        "digest": digest_tensors(tensors),
    }
    write_atomically(path, pack_tensors(tensors, note))


def load_checkpoint(
    path: Path, identity: Mapping[str, str], module: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[Epoch, ...]:
    """Put module and optimizer where the saved run stood, and return its history."""
    where = f"checkpoint {path}"
    found = read_tensors(path)
    note = found.note or {}
    if note.get("kind") != _KIND:
        raise PactError(f"the file is not a {_KIND}", where=where, hint="choose another file name")
    check_same_run(note.get("identity"), identity, where=where)
    if note.get("digest") != digest_tensors(found.tensors):
        raise PactError("the tensors are not those that were saved", where=where, hint="delete it to start again")
    history = parse_history(note.get("history"), where=where)
    module_state = {
        name.removeprefix(_MODULE): value for name, value in found.tensors.items() if name.startswith(_MODULE)
    }
    slots = _optimizer_slots(found.tensors, optimizer, where=where)
    fill_module(module, module_state, where=where)
    optimizer.load_state_dict({"state": slots, "param_groups": optimizer.state_dict()["param_groups"]})
    return history


def check_same_run(saved: object, wanted: Mapping[str, str], *, where: str) -> None:
    if not isinstance(saved, dict):
        raise PactError("the file does not say which run it belongs to", where=where)
    other = [name for name in {**wanted, **saved} if saved.get(name) != wanted.get(name)]
    if other:
        raise PactError(
            f"belongs to another run: different {', '.join(other)}",
            where=where,
            hint="repeat the earlier run's settings to resume it, or choose another file to start again",
        )


def _optimizer_slots(
    tensors: Mapping[str, torch.Tensor], optimizer: torch.optim.Optimizer, *, where: str
) -> dict[int, dict[str, torch.Tensor]]:
    shapes = [parameter.shape for group in optimizer.param_groups for parameter in group["params"]]
    slots: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in tensors.items():
        if not name.startswith(_OPTIMIZER):
            continue
        index, _, slot = name.removeprefix(_OPTIMIZER).partition("/")
        known = index.isascii() and index.isdigit() and len(index) < 9 and int(index) < len(shapes)
        if not known or value.shape not in (torch.Size(), shapes[int(index)]):
            raise PactError(f"{name} does not belong to this optimizer", where=where)
        slots.setdefault(int(index), {})[slot] = value
    return slots


def digest_tensors(tensors: Mapping[str, torch.Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
