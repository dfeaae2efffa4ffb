"""How long a comparison will take, and what methods that train are allowed: from the time of one pass and one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from netpact.comparisons.options import CompareOptions
from netpact.comparisons.planning import Trial

_TRAINING = 0.3  # of the time that methods which train may take, all together
_EPOCH = 7.0  # plain passes in an epoch of rate-aware training, with its share of the last sweep
_COUNT = 5.0  # plain passes in a count with rounding bounds; as many in its check
_OTHERS = 1.5  # what a file takes on average, in units of the first one, which is rounded only
_MOST_EPOCHS, _LEAST_SAMPLES = 20, 1000
_SEARCH = {"steps": 500, "restarts": 1}  # enough to see what a search is good for
_CHECKING = 0.1  # of the time, for checking certificates
_FEW, _MOST = 3, 8
_MINUTE = 60.0


@dataclass(frozen=True)
class Allowance:
    """What each method that trains gets. samples: of the training set, evenly spread."""

    epochs: int
    samples: int

    def apply(self, trial: Trial) -> Trial:
        """An option that the plan sets itself stays."""
        known = {"epochs": self.epochs, **_SEARCH}
        method = trial.make()
        own = {name: value for name, value in known.items() if hasattr(method, name) and name not in trial.options}
        changed = {name: value for name, value in own.items() if value != getattr(method, name)}
        return replace(trial, limits=changed)


def allow(
    trials: Sequence[Trial], options: CompareOptions, *, pass_seconds: float, samples: int, jobs: int
) -> Allowance:
    """As many epochs as fit into the share of the time that training may take, on all samples if one epoch fits."""
    training = [trial for trial in trials if trial.trains]
    if not training:
        return Allowance(_MOST_EPOCHS, samples)
    each = _TRAINING * _MINUTE * options.minutes * jobs / len(training)
    epochs = each / (_EPOCH * pass_seconds * samples)
    least = min(samples, _LEAST_SAMPLES)
    return Allowance(
        epochs=max(1, min(_MOST_EPOCHS, int(epochs))),
        samples=samples if epochs >= 1 else max(least, int(samples * epochs)),
    )


@dataclass(frozen=True)
class Forecast:
    """seconds: of the whole comparison, with so many tasks at a time; trials, certificates: still to be made."""

    seconds: float
    trials: int
    certificates: int
    jobs: int

    def __str__(self) -> str:
        if not self.trials:
            return "all files are made already"
        told = f"{self.trials} files to make, {self.certificates} of them to certify on all samples"
        return f"{told}: about {_told(self.seconds)} with {self.jobs} at a time"


def certified_files(options: CompareOptions, *, pass_seconds: float, samples: int, jobs: int) -> int:
    """How many files get a certificate; both counting and checking take their time."""
    if options.certified is not None:
        return options.certified
    room = _CHECKING * _MINUTE * options.minutes * jobs / (2 * check_seconds(pass_seconds, samples))
    return max(_FEW, min(_MOST, int(room)))


def check_all(options: CompareOptions, files: int, *, pass_seconds: float, samples: int, jobs: int) -> bool:
    """Whether all certificates are checked, or only that of the file which the page will speak of."""
    return check_seconds(pass_seconds, samples) * files / jobs <= _CHECKING * _MINUTE * options.minutes


def forecast(
    trials: Sequence[Trial],
    options: CompareOptions,
    allowance: Allowance,
    *,
    pass_seconds: float,
    trial_seconds: float,
    samples: int,
    jobs: int,
) -> Forecast:
    """samples: those that a certificate counts, training and test."""
    training = [trial for trial in trials if trial.trains]
    passes = sum(_EPOCH * getattr(trial.make(), "epochs", 1) for trial in training)
    certificates = certified_files(options, pass_seconds=pass_seconds, samples=samples, jobs=jobs)
    certificates = min(certificates, len(trials))
    total = _OTHERS * trial_seconds * len(trials) + passes * pass_seconds * allowance.samples
    total += 2 * check_seconds(pass_seconds, samples) * certificates
    return Forecast(total / jobs, len(trials), certificates, jobs)


def check_seconds(pass_seconds: float, samples: int) -> float:
    """To count the errors of one file with rounding bounds."""
    return _COUNT * pass_seconds * samples


def _told(seconds: float) -> str:
    return f"{max(1, round(seconds))} seconds" if seconds < 2 * _MINUTE else f"{seconds / _MINUTE:.0f} minutes"
