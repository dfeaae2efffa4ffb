"""The task behind every experiment: train one network, measure it, and keep the numbers."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from netpact.bounds import EstimateOptions, Estimates, estimate_bounds
from netpact.core.errors import PactError
from netpact.core.json import encode_json
from netpact.core.seed import Seed
from netpact.core.version import __version__
from netpact.datasets import ArraySamples, Data, load_data
from netpact.experiments.presets import SHUFFLED, VGG, Case
from netpact.experiments.records import DRAWN, SMOOTHNESS, Study, StudyLayer, describe_layer, finite
from netpact.measurements import MeasureOptions, measure
from netpact.measurements.folded import fold_for_measuring
from netpact.models import build, initialise, parse_model
from netpact.monitoring import Monitor
from netpact.runs import JsonValue
from netpact.training import PAPER_RECIPES, TrainOptions, error_rate, train

NORM_BASED = ("l1-inf", "frobenius", "spec-l1-2", "spec-fro")  # the four of Figure 2
_OURS, _COUNTING = "figure-2", ("parameters", "vc")
_FOR_BOUNDS = ("min_interlayer_cushion", "well_distributed", "margins", "max_output_norm", "effective_parameters")


def study_network(
    *, study: str, data: str, fingerprint: str, tested: int, case: dict[str, Any], seed: int, out: str
) -> dict[str, JsonValue]:
    """Task: train and measure one network. The checkpoint and the Monitor's lines in `out` survive a kill."""
    chosen = Case(**case)
    source = open_data(data, limit=chosen.limit, tested=tested)
    if source.train.fingerprint() != fingerprint:
        raise PactError("the data changed while the experiment was running", where=data)
    own = Seed(seed).child("experiment", study)
    if study == SHUFFLED:
        source = shuffle_labels(source, own.child("labels"))
    # Files of another setting or version in the same folder are not in the way.
    run = hashlib.sha256(encode_json([fingerprint, tested, case, __version__], where=study).encode()).hexdigest()[:12]
    files = Path(out) / f"{study}-{seed}-{run}"
    monitor = None
    if chosen.every:
        monitor = Monitor(source, files.with_suffix(".jsonl"), every=chosen.every, bounds=(_OURS, "spec-fro"))
    trained = train(
        start_network(chosen, source, own),
        source.train,
        train_options(chosen, own),
        checkpoint=files.with_suffix(".checkpoint"),
        on_epoch=monitor,
    ).module
    network = fold_for_measuring(trained, source)[0].module
    found, layers = _measure(network, source, chosen, own, with_noise=study == VGG)
    random: tuple[StudyLayer, ...] = ()
    if study == VGG:
        other = draw_gaussian(network, own.child("random"))
        random = _measure(other, source, chosen, own, with_noise=True)[1]
    reshaped = estimate_bounds(network, source, EstimateOptions(convolutions="reshaped"), only=NORM_BASED)
    errors, count = error_rate(trained, source.train)
    assert source.test is not None, "open_data sees to it"
    test_errors, test_count = error_rate(trained, source.test)
    return Study(
        study=study,
        seed=seed,
        model=chosen.model,
        parameters=sum(parameter.numel() for parameter in trained.parameters()),
        data=source.name,
        fingerprint=source.train.fingerprint(),
        samples=count,
        train_accuracy=1 - errors / count,
        test_accuracy=1 - test_errors / test_count,
        least=chosen.least,
        gamma=found.gammas[0],
        layers=layers,
        random=random,
        bounds=_powers(found, (_OURS, *NORM_BASED, *_COUNTING)),
        reshaped=_powers(reshaped, NORM_BASED),
        epochs=() if monitor is None else monitor.history,
    ).to_json()


def open_data(name: str, *, limit: int, tested: int) -> Data:
    """The first so many training samples (0: all) and at most `tested` test samples."""
    data = load_data(name, limit=limit or None)
    if not isinstance(data.test, ArraySamples):
        raise PactError("a test set is needed", where=name)
    if data.test.count <= tested:
        return data
    return replace(data, test=data.test.take(slice(tested), name=f"{data.test.name}[:{tested}]"))


def shuffle_labels(data: Data, seed: Seed) -> Data:
    """The training labels in random order, so that they say nothing about the images; the test set stays true."""
    train = cast(ArraySamples, data.train)  # load_data makes no other kind
    name = f"{data.name}, shuffled labels"
    mixed = train.labels[seed.numpy().permutation(train.count)]
    return replace(data, name=name, train=ArraySamples(train.inputs, mixed, f"{name} train", data.classes))


def train_options(case: Case, seed: Seed) -> TrainOptions:
    if case.recipe:
        return replace(PAPER_RECIPES[case.recipe].options, epochs=case.epochs, seed=seed.child("training"))
    return TrainOptions(
        epochs=case.epochs,
        batch_size=case.batch_size,
        learning_rate=case.learning_rate,
        seed=seed.child("training"),
    )


def start_network(case: Case, data: Data, seed: Seed) -> nn.Module:
    """Gaussian weights, as in the random network: torch's own are too small for an AlexNet to learn from quickly."""
    module = build(parse_model(case.model, input_shape=data.input_shape, classes=data.classes))
    initialise(module, seed.child("start"))
    return draw_gaussian(module, seed.child("start"))


def draw_gaussian(module: nn.Module, seed: Seed) -> nn.Module:
    """The same layers with Gaussian weights of variance 2 / fan-in (He et al. 2015), and no biases: the random network
    of Figure 1. What is measured there does not change with the scale of the weights."""
    other = copy.deepcopy(module)
    with torch.no_grad():
        for name, part in other.named_modules():
            if isinstance(part, (nn.Linear, nn.Conv2d)):
                drawn = torch.randn(part.weight.shape, generator=seed.child(name).torch())
                part.weight.copy_(drawn * math.sqrt(2 / part.weight[0].numel()))
                if part.bias is not None:
                    part.bias.zero_()
    return other


def _measure(
    network: nn.Module, data: Data, case: Case, seed: Seed, *, with_noise: bool
) -> tuple[Estimates, tuple[StudyLayer, ...]]:
    """Cushions as the paper prints them, without bias."""
    only = tuple(name for name in (*DRAWN, *_FOR_BOUNDS) if with_noise or name != SMOOTHNESS)
    options = MeasureOptions(samples=case.jacobians, only=only, seed=seed.child("measure"))
    measures = measure(network, data, options)
    found = estimate_bounds(
        network, data, EstimateOptions(cushions="plain"), only=(_OURS, *NORM_BASED, *_COUNTING), measures=measures
    )
    effective = {layer.name: finite(layer.log10_effective) for layer in found.layers}
    layers = tuple(describe_layer(layer, log10_effective=effective[layer.name]) for layer in measures.layers)
    return found, layers


def _powers(found: Estimates, names: Sequence[str]) -> dict[str, float | None]:
    return {name: finite(found[name].log10) for name in names}
