"""Trying settings: each is compressed once, and measured only as far as the target needs it."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from torch import nn

from netpact.certificates import risk_bound
from netpact.coding.format import Compressed, Pact, seal
from netpact.coding.format.loading import Base, open_network
from netpact.core.errors import PactError
from netpact.core.progress import Progress, Stop
from netpact.core.seed import Seed
from netpact.core.version import __version__
from netpact.datasets import Samples, find_copies, leave_out, set_aside
from netpact.methods.method import Method, compress
from netpact.methods.targets.records import Target, Tried
from netpact.models import hash_source
from netpact.network import Network, count_errors
from netpact.pacts.priors.base import base_of
from netpact.runs import MISSING, JsonValue, ResultStore, Task
from netpact.training.evaluation import wrong

_MOST_MEASURED = 10_000  # samples that accuracy is measured on; of more, so many are drawn, always the same
_BATCH = 256


class StoppedError(Exception):
    """No time is left for more."""


@dataclass(eq=False)
class Trial:
    """A method, its file, and what is known about it so far."""

    method: Method
    told: Tried
    compressed: Compressed | None = None
    pact: Pact | None = None
    key: float | None = None  # its bound, and above 1 for vacuous ones, so that they can be told apart too

    @property
    def size(self) -> int:
        assert self.told.file_bytes is not None
        return self.told.file_bytes


@dataclass(eq=False)
class Trials:
    """Runs settings and remembers them.

    samples    training samples: methods may look at them, and the bound is about them
    measured   labelled samples that accuracy is measured on
    store      keeps what is finished; None: nothing is kept
    tell       called with everything that is newly known
    stop       asked before and during what is new
    """

    network: Network
    target: Target
    samples: Samples
    measured: Samples
    arithmetic: str | None
    store: ResultStore | None = None
    tell: Callable[[Tried], None] | None = None
    working: Callable[[str], Progress] | None = None
    stop: Stop | None = None
    _known: dict[str, Trial] = field(default_factory=dict)

    @property
    def all(self) -> list[Trial]:
        return list(self._known.values())

    def run(self, method: Method, setting: str) -> Trial | None:
        """The method's file; None where it refuses this setting."""
        key = _identify(method)
        if key not in self._known:
            self._refuse_overtime()
            started = time.monotonic()
            self._known[key] = trial = self._compress(method, setting)
            trial.told = replace(trial.told, seconds=time.monotonic() - started)
            if self.target.max_bytes is not None or trial.pact is None:
                self._tell(trial)
        trial = self._known[key]
        return None if trial.pact is None else trial

    def _compress(self, method: Method, setting: str) -> Trial:
        told = Tried(setting, repr(method))
        try:
            message = bytes.fromhex(
                str(self._kept(setting, {"method": _identify(method)}, lambda: self._write(method, setting)))
            )
        except (PactError, np.linalg.LinAlgError) as error:  # at extreme settings a layer may be left without weights
            return Trial(method, replace(told, refused=str(error)))
        pact = Pact(message)
        compressed = pact.decode(self.network.module if self.network.is_own_module else None)
        size = len(pact.to_bytes())
        return Trial(method, replace(told, file_bytes=size), replace(compressed, method=repr(method)), pact)

    def _write(self, method: Method, setting: str) -> str:
        """The message, in hexadecimal digits."""
        progress = self._progress(setting)
        compressed = compress(self.network, method, samples=self.samples, arithmetic=self.arithmetic, progress=progress)
        return seal(compressed).message.hex()

    def measure(self, trial: Trial) -> float:
        """Accuracy on the measured samples."""
        if trial.told.accuracy is None:
            right = self._count(trial, "right", lambda: self._right(self._module(trial), trial.told.setting))
            count = self.measured.count
            loss = 100 * (self._original_right - right) / count  # of whole numbers: 3 of 300 are 1 point, and no more
            trial.told = replace(trial.told, accuracy=right / count, accuracy_loss=loss)
            self._tell(trial)
        assert trial.told.accuracy is not None
        return trial.told.accuracy

    def bound(self, trial: Trial) -> float:
        """What certify would state; above 1 for what would be 1."""
        if trial.key is not None:
            return trial.key
        assert trial.pact is not None
        counted, bits, delta = self._counted(trial), trial.pact.code_bits, self.target.delta
        samples, most = counted.count, max(self.target.max_bound or 0.0, 1 - 1 / self.samples.classes)
        if risk_bound(errors=0, samples=samples, code_bits=bits, delta=delta) >= most:
            trial.key = 1 + bits / samples
            trial.told = replace(trial.told, too_long=True)
            self._tell(trial)
            return trial.key
        errors = self._count(trial, "errors", lambda: self._errors(trial, counted))
        found = risk_bound(errors=errors, samples=samples, code_bits=bits, delta=delta)
        trial.key = found if found < 1 else 1 + errors / samples + bits / samples
        trial.told = replace(trial.told, bound=found)
        self._tell(trial)
        return trial.key

    @property
    def original_accuracy(self) -> float:
        return self._original_right / self.measured.count

    @cached_property
    def _original_right(self) -> int:
        return self._right(self.network.module, "before compression")

    @cached_property
    def _distinct(self) -> Samples:
        """As they will be counted by certify: exact copies once."""
        return leave_out(self.samples, find_copies(self.samples))

    @cached_property
    def _about(self) -> dict[str, JsonValue]:
        """All that a result depends on but the method."""
        module = self.network.module
        return {
            "network": base_of(module, name="network").sha256,
            "code": hash_source(module, module) if self.network.is_own_module else str(self.network.architecture),
            "samples": self.samples.fingerprint(),
            "measured": self.measured.fingerprint(),
            "arithmetic": self.arithmetic or "",
        }

    def _counted(self, trial: Trial) -> Samples:
        assert trial.compressed is not None
        if trial.compressed.split is None:
            return self._distinct
        return set_aside(self._distinct, trial.compressed.split)[1]  # what a helper has not seen

    def _errors(self, trial: Trial, counted: Samples) -> int:
        assert trial.compressed is not None
        progress = self._progress(f"{trial.told.setting}, counting errors")
        arithmetic = trial.compressed.arithmetic
        return count_errors(self._module(trial), counted, arithmetic=arithmetic, progress=progress).errors

    def _module(self, trial: Trial) -> nn.Module:
        """What the file decodes to."""
        assert trial.compressed is not None
        base: Base | None = getattr(trial.method, "base", None)
        return open_network(trial.compressed, self.network.module if self.network.is_own_module else None, base)

    @torch.no_grad()
    def _right(self, module: nn.Module, setting: str) -> int:
        progress = self._progress(f"{setting}, measuring accuracy", stoppable=False)
        module, right, seen = copy.deepcopy(module).eval(), 0, 0
        precision = next(module.parameters()).dtype
        for inputs, labels in self.measured.batches(_BATCH):
            logits = module(torch.from_numpy(np.array(inputs)).to(precision))
            right += int((~wrong(logits, torch.from_numpy(np.asarray(labels)))).sum())
            seen += len(labels)
            progress(seen, self.measured.count)
        return right

    def _count(self, trial: Trial, what: str, count: Callable[[], int]) -> int:
        assert trial.pact is not None
        about: dict[str, JsonValue] = {"message": trial.pact.message_sha256, "what": what}
        found = self._kept(f"{trial.told.setting}, {what}", about, count)
        return found if isinstance(found, int) else count()

    def _kept(self, name: str, about: dict[str, JsonValue], make: Callable[[], int | str]) -> JsonValue:
        """From the store, or new."""
        if self.store is None:
            return make()
        task = Task(_readable(name), describe_result, {"about": {**self._about, **about}}, version=__version__)
        found = self.store.get(task)
        if found is MISSING:
            started = time.monotonic()
            found = make()
            self.store.put(task, found, seconds=time.monotonic() - started)
        return found

    def _refuse_overtime(self) -> None:
        if self.stop is not None and self.stop():
            raise StoppedError

    def _progress(self, name: str, *, stoppable: bool = True) -> Progress:
        shown = None if self.working is None else self.working(name)

        def tell(done: int, total: int) -> None:
            if stoppable:
                self._refuse_overtime()
            if shown is not None:
                shown(done, total)

        return tell

    def _tell(self, trial: Trial) -> None:
        if self.tell is not None:
            self.tell(trial.told)


def draw_measured(samples: Samples) -> Samples:
    """All of them, or so many drawn at random where there are more: data are often sorted by class."""
    if samples.count <= _MOST_MEASURED:
        return samples
    left_out = np.ones(samples.count, dtype=np.bool_)
    drawn = Seed(0).child("accuracy").numpy().choice(samples.count, _MOST_MEASURED, replace=False)
    left_out[drawn] = False
    return leave_out(samples, left_out)


def describe_result(*, about: dict[str, str]) -> str:
    """What identifies a result in the store."""
    return ", ".join(f"{name} {value}" for name, value in about.items())


def _identify(method: Method) -> str:
    base = getattr(method, "base", None)
    return repr(method) + ("" if base is None else base.sha256)


def _readable(setting: str) -> str:
    return "".join(letter if letter.isalnum() or letter in " .=,-" else "_" for letter in setting)
