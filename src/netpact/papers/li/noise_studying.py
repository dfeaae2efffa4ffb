"""The task behind the experiments under label noise: train one network, or two that teach each other, and keep the
test accuracy of each epoch. Training labels are noisy, test labels are true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any

from netpact.core.seed import Seed
from netpact.datasets import Data, add_label_noise
from netpact.experiments import Plan, Setting, Study
from netpact.experiments.studying import describe_study, open_case, train_options
from netpact.papers.li.noise_presets import CORRUPTED, TAUGHT, Noise, find_treatment
from netpact.papers.li.studying import start_by_default
from netpact.runs import JsonValue
from netpact.training import CoTeaching, Epoch, co_train, train

_LAST = 10  # epochs: "average test accuracy on MNIST over the last ten epochs", and T_k of Han et al. 2018
_PAPER = "Li et al. 2020"


@dataclass(frozen=True, kw_only=True)
class NoiseStudy(Study):
    """test_accuracy is the mean over the last epochs, in co-teaching of both networks, and so is train_accuracy.

    curve  the test accuracy after each epoch
    """

    curve: tuple[float, ...]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> NoiseStudy:
        return cls(**{**record, "curve": tuple(record["curve"])})

    @property
    def best_epoch(self) -> int:
        """The first epoch of the highest test accuracy, counted from 1."""
        return 1 + max(range(len(self.curve)), key=lambda place: (self.curve[place], -place))


def study_noise(*, setting: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Task: train the networks of one study on noisy labels, and keep the test accuracy of each epoch."""
    asked = Setting.read(setting)
    noise, together = find_treatment(asked.study)
    data, own, files = open_case(asked, lambda true, _: draw_labels(true, noise, asked.seed))
    case, options = asked.case, train_options(asked.case, own)
    first, checkpoint = start_by_default(case, data, own), files.with_suffix(".checkpoint")
    if together:
        second = start_by_default(case, data, own.child("second"))
        asked_of_both = CoTeaching(noise.rate, gradual=few(case.epochs))
        pair = co_train((first, second), data.train, asked_of_both, options, checkpoint=checkpoint, test=data.test)
        module, history = pair.modules[0], pair.history
    else:
        alone = train(first, data.train, options, checkpoint=checkpoint, test=data.test)
        module, history = alone.module, alone.history
    study = replace(describe_study(asked, data, module), train_accuracy=1 - history[-1].train_error)
    return _with_curve(study, history).to_json()


def draw_labels(data: Data, noise: Noise, seed: int) -> Data:
    """All networks of one seed and one noise see the same labels, and are tested with true ones."""
    return add_label_noise(data, kind=noise.kind, rate=noise.rate, seed=Seed(seed).child("label noise"), parts="train")


def few(epochs: int) -> int:
    """Ten epochs; of a short run a quarter."""
    return max(1, min(_LAST, epochs // 4))


def _with_curve(study: Study, history: tuple[Epoch, ...]) -> NoiseStudy:
    curve = tuple(1 - epoch.test_error for epoch in history if epoch.test_error is not None)
    return NoiseStudy(**{**study.facts(), "test_accuracy": fmean(curve[-few(len(curve)) :])}, curve=curve)


CorruptedPlan = partial(Plan, paper=_PAPER, presets=CORRUPTED, task=study_noise, record=NoiseStudy)
TaughtPlan = partial(Plan, paper=_PAPER, presets=TAUGHT, task=study_noise, record=NoiseStudy)
