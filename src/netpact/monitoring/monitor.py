"""Monitor: called after each epoch, it measures the network and keeps a line for each observed epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from torch import nn

from netpact.bounds import check_names
from netpact.core.checks import check_choice, check_integer
from netpact.core.errors import PactError
from netpact.core.files import read_bytes, write_atomically
from netpact.core.json import encode_json, read_object
from netpact.core.seed import Seed
from netpact.core.version import __version__
from netpact.datasets import Data, as_data, draw_samples
from netpact.measurements import QUANTITIES, MeasureOptions
from netpact.monitoring.drawing import draw_history
from netpact.monitoring.looking import MEASURED, digest_weights, look_at
from netpact.monitoring.observation import Observation, read_observation
from netpact.reports.charts.figure import Figure

_KIND = "netpact monitor 1"


@dataclass(eq=False, repr=False)
class Monitor:
    """Observes a network while it is trained: `monitor(epoch, module)` after an epoch. The module stays untouched.

    data        training data, with a test part if there is one; what netpact.as_data takes
    file        lines of JSON, the first about the run; rewritten after every observation. Epochs in an existing file
                are not measured again
    every       observe every n-th epoch, and epoch 1
    samples     number of training samples at which Jacobians are measured
    most        maximum number of training samples, and of test samples; drawn once
    bounds      names out of netpact.bounds.BOUNDS, "figure-2" of Arora et al. 2018 for one
    quantities  names out of netpact.measurements.QUANTITIES, beside those that the bounds read

    All numbers are estimates, from a part of the samples.
    """

    data: Data | object
    file: str | Path | None = None
    _: KW_ONLY
    every: int = 1
    samples: int = 10
    most: int = 1000
    bounds: Sequence[str] = ("figure-2", "spec-fro")
    quantities: Sequence[str] = ()
    seed: Seed | None = None

    def __post_init__(self) -> None:
        check_integer(self.every, where="every", least=1)
        check_integer(self.most, where="most", least=1)
        for option, names in (("bounds", self.bounds), ("quantities", self.quantities)):
            if isinstance(names, str):
                raise PactError(f"must be a list of names, got {names!r}", where=option)
        if not self.bounds:
            raise PactError("must be a list of at least one name", where="bounds")
        self.bounds = check_names(self.bounds)
        for name in self.quantities:
            check_choice(name, QUANTITIES, where="quantities")
        seed = Seed(0) if self.seed is None else self.seed
        if not isinstance(seed, Seed):
            raise PactError(f"must be a Seed, got {seed!r}", where="seed", hint="write Seed(0)")
        only = tuple(dict.fromkeys((*MEASURED, *self.quantities)))
        self._options = MeasureOptions(samples=self.samples, only=only, seed=seed)
        self._data = _draw(as_data(self.data), self.most, seed)
        self._path = None if self.file is None else Path(self.file)
        self._history: dict[int, Observation] = {}
        if self._path is not None and self._path.exists():
            self._history = self._read(self._path)
        elif self._path is not None:
            self._write()  # a file that cannot be written stops the run now, not after the first epoch

    @property
    def history(self) -> tuple[Observation, ...]:
        """What was seen so far, by epoch."""
        return tuple(self._history[epoch] for epoch in sorted(self._history))

    def __call__(self, epoch: int, module: nn.Module) -> Observation | None:
        """Look at the network as it is after this epoch; None where it is not this epoch's turn."""
        check_integer(epoch, where="epoch", least=0)
        if epoch > 1 and epoch % self.every:
            return None
        weights = digest_weights(module)
        known = self._history.get(epoch)
        if known is not None and known.weights != weights:
            raise PactError(
                f"epoch {epoch} is there already, and its network was another one",
                where="monitor" if self._path is None else str(self._path),
                hint="give each run a monitor and a file of its own",
            )
        if known is None:
            known = look_at(module, self._data, self._options, bounds=self.bounds, epoch=epoch, weights=weights)
            self._history[epoch] = known
            self._write()
        return known

    def figure(self, bound: str = "figure-2", *, width: int = 760) -> Figure:
        """Training and test error, their difference, and the bound rescaled to the range of the difference."""
        return draw_history(self.history, bound, width=width)

    def _header(self) -> str:
        test = self._data.test
        facts = {
            "kind": _KIND,
            "version": __version__,
            "train": self._data.train.fingerprint(),
            "test": None if test is None else test.fingerprint(),
            "jacobian_samples": self._options.samples,
            "seed": [self._options.seed.number, *self._options.seed.path],
            "bounds": list(self.bounds),
        }
        # Files of runs that ask for no further quantities read as they always did.
        further = {"quantities": list(self.quantities)} if self.quantities else {}
        return encode_json(facts | further, where="monitor")

    def _write(self) -> None:
        if self._path is not None:
            lines = [self._header(), *(one.to_line() for one in self.history)]
            write_atomically(self._path, "".join(f"{line}\n" for line in lines).encode())

    def _read(self, path: Path) -> dict[int, Observation]:
        try:
            first, *lines = read_bytes(path).decode().splitlines()
            header = read_object(first, where=str(path))
            if header.get("kind") != _KIND:
                raise ValueError("of another kind")
        except (PactError, ValueError) as error:
            raise PactError("this is not a file of a monitor", where=str(path), hint="give another file") from error
        own = read_object(self._header(), where="monitor")
        other = [name for name in {**own, **header} if header.get(name) != own.get(name)]
        if other:
            raise PactError(
                f"this file is of a run with another {', '.join(other)}",
                where=str(path),
                hint="give each run a file of its own",
            )
        found = [read_observation(line, where=f"{path}, line {number}") for number, line in enumerate(lines, start=2)]
        return {one.epoch: one for one in found}


def _draw(data: Data, most: int, seed: Seed) -> Data:
    """At most this many training and test samples, drawn once, so that all observations use the same ones."""
    test = None if data.test is None else draw_samples(data.test, most, seed.child("monitor", "test"))
    return replace(data, train=draw_samples(data.train, most, seed.child("monitor", "train")), test=test)
