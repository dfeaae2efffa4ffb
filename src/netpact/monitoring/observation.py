"""What was seen after one epoch, as one line of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from netpact.core.errors import PactError
from netpact.runs.json_values import decode_json, encode_json


@dataclass(frozen=True)
class LayerObservation:
    """The worst over the samples that were looked at; None where a number is infinite (a dead layer).

    cushion, interlayer  mu_i and mu_i->, as Arora et al. 2018 print them (without bias, clipped)
    contraction          c_i
    median_cushion       of mu_i's quotient over the samples, which moves less than the worst
    """

    name: str
    cushion: float | None
    median_cushion: float | None
    interlayer: float | None
    contraction: float | None


@dataclass(frozen=True)
class Observation:
    """After one epoch.

    weights   SHA-256 of all parameters and buffers: whether an epoch that comes again is the same one
    gamma     the margin that the bounds use; None where they use none
    margins   quantiles of the training margins, by share
    bounds    log10 of the capacity of each estimate; None where it is infinite
    """

    epoch: int
    weights: str
    train_error: float
    test_error: float | None
    gamma: float | None
    margins: Mapping[str, float]
    bounds: Mapping[str, float | None]
    layers: tuple[LayerObservation, ...]
    seconds: float

    @property
    def gap(self) -> float | None:
        """The generalization error: how much worse the test error is than the training error."""
        return None if self.test_error is None else self.test_error - self.train_error

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def to_line(self) -> str:
        return encode_json(self.to_json(), where=f"epoch {self.epoch}")

    def __str__(self) -> str:
        test = "" if self.test_error is None else f", test error {self.test_error:.2%}"
        told = ", ".join(f"{name} {_power(power)}" for name, power in self.bounds.items())
        return f"epoch {self.epoch}: train error {self.train_error:.2%}{test}; capacity of {told}"


def read_line(line: str, *, where: str) -> Observation:
    """The inverse of to_line, for a line of an untrusted file."""
    try:
        record = decode_json(line)
    except ValueError as error:
        raise _foreign(error, where) from error
    return read_observation(record, where=where)


def read_observation(record: object, *, where: str) -> Observation:
    """The inverse of to_json."""
    try:
        if not isinstance(record, dict):
            raise TypeError("no record")
        layers = tuple(LayerObservation(**layer) for layer in record["layers"])
        found = Observation(**{**record, "layers": layers})
        numbers = (found.train_error, found.seconds, *found.margins.values())
        if not isinstance(found.epoch, int) or not all(isinstance(number, (int, float)) for number in numbers):
            raise TypeError("a number is missing")
    except (KeyError, TypeError, AttributeError) as error:
        raise _foreign(error, where) from error
    return found


def _foreign(error: Exception, where: str) -> PactError:
    return PactError(
        f"this is not what a monitor writes: {error}", where=where, hint="give another file, or remove this one"
    )


def _power(power: float | None) -> str:
    return "infinite" if power is None else f"1e{power:.2f}"
