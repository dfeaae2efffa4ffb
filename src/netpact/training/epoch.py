"""What one epoch of training reports."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.json import check_fields
from netpact.core.percent import percent


@dataclass(frozen=True)
class Epoch:
    """loss: mean over the epoch's batches as they went by; errors: shares of wrong answers of the network after it."""

    epoch: int
    loss: float
    train_error: float
    test_error: float | None
    seconds: float

    def __str__(self) -> str:
        test = "" if self.test_error is None else f", test error {percent(self.test_error, places=2)}"
        return f"epoch {self.epoch}: loss {self.loss:.4f}, train error {percent(self.train_error, places=2)}{test}"

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def parse_history(records: object, *, where: str) -> tuple[Epoch, ...]:
    """The inverse of to_json for a list of epochs 1, 2, ... from a file."""
    if not isinstance(records, list):
        raise PactError("the history is not a list", where=where)
    return tuple(_numbered(record, number, where=where) for number, record in enumerate(records, start=1))


def parse_epoch(record: object, *, where: str) -> Epoch:
    names = [entry.name for entry in fields(Epoch)]
    told = check_fields(record, names, where=where)
    check_integer(told["epoch"], where=f"{where}, epoch", least=1)
    for name in names[1:]:
        if told[name] is not None or name != "test_error":
            check_number(told[name], where=f"{where}, epoch {told['epoch']}, {name}")
    return Epoch(**told)


def _numbered(record: object, number: int, *, where: str) -> Epoch:
    epoch = parse_epoch(record, where=f"{where}, entry {number} of the history")
    if epoch.epoch != number:
        raise PactError(f"entry {number} of the history is not epoch {number}", where=where)
    return epoch
