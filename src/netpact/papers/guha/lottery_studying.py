"""The task behind the experiment on lottery tickets: prune one network iteratively, and seal what each round gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import nn

from netpact.bounds import estimate_bounds
from netpact.core.files import read_bytes, write_atomically
from netpact.core.json import decode_json, encode_json
from netpact.core.seed import Seed
from netpact.datasets import Data
from netpact.experiments import Setting, Study
from netpact.experiments.studying import open_case, train_options
from netpact.methods import Quantize, compress
from netpact.models import build, initialise, parse_model
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.papers.guha.lottery_presets import WAYS, is_full, pruning_of
from netpact.runs import JsonValue
from netpact.training import PruningRound, Ticket, iterative_pruning

_BITS = 5
_THEOREM = "guha-6.2"


@dataclass(frozen=True)
class Sealed:
    """The file of a round, with 5 bits for each weight: its size, certified bound, and test accuracy.

    log_theorem  ln of the bound of Theorem 6.2 for the network before rounding, which is taken for the target M
    """

    message_bytes: int
    bound: float
    accuracy: float
    log_theorem: float


@dataclass(frozen=True)
class TicketRound:
    """share: of the weights that are left; control: test accuracy of the same masks with new initial weights."""

    share: float
    train_accuracy: float
    test_accuracy: float
    control: float | None
    sealed: Sealed | None

    @staticmethod
    def read(record: Mapping[str, Any]) -> TicketRound:
        sealed = record["sealed"]
        return TicketRound(**{**record, "sealed": None if sealed is None else Sealed(**sealed)})


@dataclass(frozen=True, kw_only=True)
class TicketStudy(Study):
    """Both accuracies are the dense network's, which is round 0."""

    rounds: tuple[TicketRound, ...]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> TicketStudy:
        return cls(**{**record, "rounds": tuple(map(TicketRound.read, record["rounds"]))})


class RoundFiles:
    """Called after each round: seals its network, and keeps what was found in a file that survives a kill."""

    def __init__(self, file: Path, data: Data) -> None:
        self._file, self._data = file, data
        found: Any = decode_json(read_bytes(file).decode(), where=str(file)) if file.exists() else {}
        self.found = {int(number): Sealed(**record) for number, record in found.items()}

    def __call__(self, one: PruningRound, module: nn.Module) -> None:
        self.found[one.number] = _seal(module, self._data)
        told = encode_json({str(number): asdict(sealed) for number, sealed in self.found.items()}, where="rounds")
        write_atomically(self._file, told.encode())


def study_ticket(*, setting: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Task: one network, dense and in all rounds of pruning."""
    asked = Setting.read(setting)
    case = asked.case
    data, _, files = open_case(asked)
    # One seed for all studies: they have the dense network in common.
    own = Seed(asked.seed).child("experiment", "guha-lottery")
    start = build(parse_model(case.model, input_shape=data.input_shape, classes=data.classes))
    initialise(start, own.child("start"))
    sealing = RoundFiles(files.with_suffix(".rounds"), data) if WAYS[asked.study].sealed else None
    ticket = iterative_pruning(
        start,
        data.train,
        pruning_of(asked.study, full=is_full(case)),
        train_options(case, own),
        test=data.test,
        checkpoint=files.with_suffix(".checkpoint"),
        on_round=sealing,
    )
    dense = ticket.rounds[0].last
    assert dense.test_error is not None, "open_data sees to it"
    return TicketStudy(
        study=asked.study,
        seed=asked.seed,
        model=case.model,
        parameters=sum(parameter.numel() for parameter in start.parameters()),
        data=data.name,
        fingerprint=ticket.fingerprint,
        samples=data.train.count,
        train_accuracy=1 - dense.train_error,
        test_accuracy=1 - dense.test_error,
        least=case.least,
        rounds=_describe(ticket, {} if sealing is None else sealing.found),
    ).to_json()


def _describe(ticket: Ticket, sealed: Mapping[int, Sealed]) -> tuple[TicketRound, ...]:
    found = []
    for one in ticket.rounds:
        assert one.last.test_error is not None
        control = None if one.control is None or one.control.test_error is None else 1 - one.control.test_error
        errors = (one.last.train_error, one.last.test_error)
        found.append(TicketRound(one.share, 1 - errors[0], 1 - errors[1], control, sealed.get(one.number)))
    return tuple(found)


def _seal(module: nn.Module, data: Data) -> Sealed:
    network = trace(module, data)
    certificate = certify(compress(network, Quantize(bits=_BITS)), data).certificate
    assert certificate is not None, "certify gives one"
    theorem = estimate_bounds(network, data, only=[_THEOREM]).rows[0].log_value
    return Sealed(certificate.message_bytes, certificate.bound, 1 - (certificate.test_error or 0.0), theorem)
