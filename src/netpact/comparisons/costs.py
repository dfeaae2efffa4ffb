"""How long a comparison will take, and what methods that train are allowed: from the time of one pass and one file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from netpact.comparisons.options import CompareOptions
from netpact.comparisons.planning import Trial
from netpact.core.progress import time_words

_TRAINING = 0.3  # of the time that methods which train may take, all together
_EPOCH = 7.0  # plain passes in an epoch of rate-aware training, with its share of the last sweep
_COUNT = 10.0  # plain passes in a count with rounding bounds in float64; as many in its check
_OTHERS = 1.5  # what a file takes on average, in units of one that is rounded only
_SPEED = 0.1  # what measuring the speed of a file takes, in the same units
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
    """With so many tasks at a time; trials, certificates: still to be made.

    of_trials  seconds on the clock that each trial adds, by its key
    of_stages  the same for the other stages, by their names
    """

    of_trials: Mapping[str, float]
    of_stages: Mapping[str, float]
    certificates: int
    jobs: int

    @property
    def trials(self) -> int:
        return len(self.of_trials)

    @property
    def seconds(self) -> float:
        """Of the whole comparison."""
        return sum(self.of_trials.values()) + sum(self.of_stages.values())

    def share(self, stage: str, done: float, finished: Collection[str]) -> float:
        """How much of the time has gone by, as forecast: stages come in their order, `done` is the share of this one.

        finished  keys of the trials that are done
        """
        before = list(self.of_stages)[: list(self.of_stages).index(stage)] if stage in self.of_stages else []
        passed = sum(self.of_stages[name] for name in before) + done * self.of_stages.get(stage, 0.0)
        passed += sum(seconds for key, seconds in self.of_trials.items() if key in finished)
        return min(1.0, passed / max(self.seconds, 1e-9))

    def __str__(self) -> str:
        if not self.trials:
            return "all files are made already"
        told = f"{self.trials} files to make, {self.certificates} of them to certify on all samples"
        return f"{told}: about {time_words(self.seconds)} with {self.jobs} at a time"


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
    """trials: those without a file yet; samples: those that a certificate counts, training and test."""
    certificates = certified_files(options, pass_seconds=pass_seconds, samples=samples, jobs=jobs)
    certificates = min(certificates, len(trials))
    check = check_seconds(pass_seconds, samples) / jobs
    every = check_all(options, certificates, pass_seconds=pass_seconds, samples=samples, jobs=jobs)
    epoch = _EPOCH * pass_seconds * allowance.samples
    return Forecast(
        {trial.key: (_OTHERS * trial_seconds + epoch * _epochs(trial)) / jobs for trial in trials},
        {
            "certify": check * certificates,
            "verify": check * (certificates if every else min(1, certificates)),
            "speed": _SPEED * trial_seconds * len(trials),
            "measure": trial_seconds,
        },
        certificates,
        jobs,
    )


def _epochs(trial: Trial) -> int:
    return int(getattr(trial.make(), "epochs", 0)) if trial.trains else 0


def check_seconds(pass_seconds: float, samples: int) -> float:
    """To count the errors of one file with rounding bounds."""
    return _COUNT * pass_seconds * samples
