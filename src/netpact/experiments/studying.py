"""Train one network of an experiment: the half of its task that all experiments share."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import nn

from netpact.core.errors import PactError
from netpact.core.json import encode_json
from netpact.core.seed import Seed
from netpact.core.version import __version__
from netpact.datasets import ArraySamples, Data, load_data
from netpact.experiments.presets import Case
from netpact.experiments.study import Setting, Study
from netpact.models import build, initialise, parse_model
from netpact.monitoring import Monitor, Observation
from netpact.training import PAPER_RECIPES, TrainOptions, error_rate, train


@dataclass(frozen=True)
class TrainedNetwork:
    """seed: for whatever is drawn next; study: what every study tells; history: what the Monitor saw."""

    module: nn.Module
    data: Data
    seed: Seed
    study: Study
    history: tuple[Observation, ...]


def train_network(
    setting: Setting,
    *,
    prepare: Callable[[Data, Seed], Data] | None = None,
    watched: tuple[str, ...] = (),
    start: Callable[[Case, Data, Seed], nn.Module] | None = None,
    watch: Callable[[Path, Data], Callable[[int, nn.Module], object]] | None = None,
) -> TrainedNetwork:
    """Train and test the network of one study. The checkpoint and the Monitor's lines in `setting.out` survive a kill.

    prepare  changes the data first, the labels for example
    watched  bounds that a Monitor estimates, at each epoch that the case asks for
    start    the network before training; default: of Gaussian weights, see start_network
    watch    makes what is called after each epoch in the Monitor's place, from a file of its own and the data
    """
    case = setting.case
    data, own, files = open_case(setting, prepare)
    monitor = None
    if case.every and watch is None:
        monitor = Monitor(data, files.with_suffix(".jsonl"), every=case.every, bounds=watched)
    trained = train(
        (start_network if start is None else start)(case, data, own),
        data.train,
        train_options(case, own),
        checkpoint=files.with_suffix(".checkpoint"),
        on_epoch=monitor if watch is None else watch(files.with_suffix(".watch"), data),
    ).module
    study = describe_study(setting, data, trained)
    return TrainedNetwork(trained, data, own, study, () if monitor is None else monitor.history)


def open_case(setting: Setting, prepare: Callable[[Data, Seed], Data] | None = None) -> tuple[Data, Seed, Path]:
    """The data of a study, its own seed, and where its files go, an ending to be added."""
    data = open_data(setting.data, limit=setting.case.limit, tested=setting.tested)
    if data.train.fingerprint() != setting.fingerprint:
        raise PactError("the data changed while the experiment was running", where=setting.data)
    own = Seed(setting.seed).child("experiment", setting.study)
    # Files of another setting or version in the same folder are not in the way.
    told = encode_json([setting.fingerprint, setting.tested, setting.case.to_json(), __version__], where=setting.study)
    name = f"{setting.study}-{setting.seed}-{hashlib.sha256(told.encode()).hexdigest()[:12]}"
    return (data if prepare is None else prepare(data, own.child("labels"))), own, Path(setting.out) / name


def describe_study(setting: Setting, data: Data, trained: nn.Module) -> Study:
    errors, count = error_rate(trained, data.train)
    assert data.test is not None, "open_data sees to it"
    test_errors, test_count = error_rate(trained, data.test)
    return Study(
        study=setting.study,
        seed=setting.seed,
        model=setting.case.model,
        parameters=sum(parameter.numel() for parameter in trained.parameters()),
        data=data.name,
        fingerprint=data.train.fingerprint(),
        samples=count,
        train_accuracy=1 - errors / count,
        test_accuracy=1 - test_errors / test_count,
        least=setting.case.least,
    )


def open_data(name: str, *, limit: int, tested: int) -> Data:
    """The first so many training samples (0: all) and at most `tested` test samples."""
    data = load_data(name, limit=limit or None)
    if not isinstance(data.test, ArraySamples):
        raise PactError("a test set is needed", where=name)
    if data.test.count <= tested:
        return data
    return replace(data, test=data.test.take(slice(tested), name=f"{data.test.name}[:{tested}]"))


def train_options(case: Case, seed: Seed) -> TrainOptions:
    if case.recipe:
        return replace(PAPER_RECIPES[case.recipe].options, epochs=case.epochs, seed=seed.child("training"))
    return TrainOptions(
        epochs=case.epochs,
        batch_size=case.batch_size,
        optimizer=case.optimizer,
        learning_rate=case.learning_rate,
        weight_decay=case.weight_decay,
        seed=seed.child("training"),
    )


def start_network(case: Case, data: Data, seed: Seed) -> nn.Module:
    """Gaussian weights: torch's own are too small for an AlexNet to learn from quickly."""
    module = build(parse_model(case.model, input_shape=data.input_shape, classes=data.classes))
    initialise(module, seed.child("start"))
    return draw_gaussian(module, seed.child("start"))


def draw_gaussian(module: nn.Module, seed: Seed) -> nn.Module:
    """The same layers with Gaussian weights of variance 2 / fan-in (He et al. 2015), and no biases."""
    other = copy.deepcopy(module)
    with torch.no_grad():
        for name, part in other.named_modules():
            if isinstance(part, (nn.Linear, nn.Conv2d)):
                drawn = torch.randn(part.weight.shape, generator=seed.child(name).torch())
                part.weight.copy_(drawn * math.sqrt(2 / part.weight[0].numel()))
                if part.bias is not None:
                    part.bias.zero_()
    return other
