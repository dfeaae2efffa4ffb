"""What was seen after one epoch, as one line of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from netpact.core.errors import PactError
from netpact.core.json import encode_json, read_object
from netpact.core.percent import percent


@dataclass(frozen=True)
class LayerObservation:
    """One layer: columns by name, which are attributes too. None where a number is infinite (a dead layer).

    The column of a quantity is the worst over the observed samples, median_... their median, which moves
    less. Names as in netpact.measurements.QUANTITIES; those that have a short name there bear it here: cushion,
    interlayer, contraction.
    """

    name: str
    columns: Mapping[str, float | None]

    def __getattr__(self, name: str) -> float | None:
        if name.startswith("_") or name == "columns" or name not in self.columns:
            raise AttributeError(f"nothing was observed under the name {name!r}")
        return self.columns[name]

    def to_json(self) -> dict[str, object]:
        return {"name": self.name, **self.columns}


@dataclass(frozen=True)
class Observation:
    """After one epoch.

    weights   SHA-256 of all parameters and buffers: whether an epoch that comes again is the same one
    gamma     the margin that the bounds use; None where they use none
    margins   quantiles of the training margins, by share
    bounds    log10 of the capacity of each estimate; None where it is infinite
    network   columns of the network as a whole, as those of the layers
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
    network: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def gap(self) -> float | None:
        """The generalization error: how much worse the test error is than the training error."""
        return None if self.test_error is None else self.test_error - self.train_error

    def to_json(self) -> dict[str, object]:
        record = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return record | {"layers": [layer.to_json() for layer in self.layers]}

    def to_line(self) -> str:
        return encode_json(self.to_json(), where=f"epoch {self.epoch}")

    def __str__(self) -> str:
        test = "" if self.test_error is None else f", test error {percent(self.test_error, places=2)}"
        told = ", ".join(f"{name} {_power(power)}" for name, power in self.bounds.items())
        return f"epoch {self.epoch}: train error {percent(self.train_error, places=2)}{test}; capacity of {told}"


def read_observation(source: object, *, where: str) -> Observation:
    """The inverse of to_json, and of to_line for a line of an untrusted file."""
    try:
        record = read_object(source, where=where)
        layers = tuple(_read_layer(**layer) for layer in record["layers"])
        found = Observation(**{**record, "layers": layers})
        numbers = [found.train_error, found.seconds, *found.margins.values()]
        for columns in (found.network, *(layer.columns for layer in layers)):
            numbers += [value for value in columns.values() if value is not None]
        if not isinstance(found.epoch, int) or not all(isinstance(number, (int, float)) for number in numbers):
            raise TypeError("a number is missing")
    except (PactError, KeyError, TypeError, AttributeError) as error:
        raise PactError(
            f"this is not what a monitor writes: {error}", where=where, hint="give another file, or remove this one"
        ) from error
    return found


def _read_layer(*, name: str, **columns: float | None) -> LayerObservation:
    return LayerObservation(name, columns)


def _power(power: float | None) -> str:
    return "infinite" if power is None else f"1e{power:.2f}"
