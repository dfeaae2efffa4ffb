"""The file from which iterative pruning resumes: what is known between two rounds. Tensors and JSON, never pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from netpact.core.errors import PactError
from netpact.core.files import write_atomically
from netpact.models.tensors import pack_tensors, read_tensors
from netpact.training.checkpoints import check_same_run, digest_tensors
from netpact.training.tickets import PruningRound, parse_rounds

_KIND = "pruning checkpoint 1"
_PARTS = ("start", "trained", "removed")

State = dict[str, torch.Tensor]


@dataclass(frozen=True, eq=False)
class Standing:
    """Where a run stands after its last finished round.

    start    the state at the epoch that is gone back to; empty until it is reached
    trained  the state at the end of that round; empty before
    removed  by the name of the weight, the round in which each entry was pruned; 0 for those that are left
    """

    rounds: tuple[PruningRound, ...]
    start: State
    trained: State
    removed: State


def save_standing(path: Path, identity: Mapping[str, str], standing: Standing) -> None:
    tensors = {f"{part}/{name}": value for part in _PARTS for name, value in getattr(standing, part).items()}
    note = {
        "kind": _KIND,
        "identity": dict(identity),
        "rounds": [one.to_json() for one in standing.rounds],
        "digest": digest_tensors(tensors),
    }
    write_atomically(path, pack_tensors(tensors, note))


def load_standing(path: Path, identity: Mapping[str, str]) -> Standing:
    """The digest says that the tensors are those that were saved, the identity that they are this run's."""
    where = f"checkpoint {path}"
    found = read_tensors(path)
    note = found.note or {}
    if note.get("kind") != _KIND:
        raise PactError(f"the file is not a {_KIND}", where=where, hint="choose another file name")
    check_same_run(note.get("identity"), identity, where=where)
    if note.get("digest") != digest_tensors(found.tensors):
        raise PactError("the tensors are not those that were saved", where=where, hint="delete it to start again")
    parts: dict[str, State] = {part: {} for part in _PARTS}
    for key, value in found.tensors.items():
        part, _, name = key.partition("/")
        if part not in parts:
            raise PactError(f"{part} is not part of a {_KIND}", where=where)
        parts[part][name] = value
    return Standing(parse_rounds(note.get("rounds"), where=where), **parts)
