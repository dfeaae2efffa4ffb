"""The task behind the experiments: train one network, measure it, and keep the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from torch import nn

from netpact.bounds import EstimateOptions, Estimates, estimate_bounds
from netpact.core.json import finite
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples, Data
from netpact.experiments import Plan, Setting, train_network
from netpact.experiments.studying import draw_gaussian
from netpact.measurements import MeasureOptions, measure
from netpact.measurements.folded import fold_for_measuring
from netpact.papers.arora.layer_study import DRAWN, SMOOTHNESS, LayerStudy, StudyLayer, describe_layer
from netpact.papers.arora.presets import PRESETS, SHUFFLED, VGG
from netpact.runs import JsonValue

OURS = "figure-2"
NORM_BASED = ("l1-inf", "frobenius", "spec-l1-2", "spec-fro")  # the four of Figure 2
_COUNTING = ("parameters", "vc")
_FOR_BOUNDS = ("min_interlayer_cushion", "well_distributed", "margins", "max_output_norm", "effective_parameters")


def study_network(*, setting: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Task: train and measure one network; of VGG also the same layers with random weights, as in Figure 1."""
    asked = Setting.read(setting)
    prepare = shuffle_labels if asked.study == SHUFFLED else None
    trained = train_network(asked, prepare=prepare, watched=(OURS, "spec-fro"))
    network = fold_for_measuring(trained.module, trained.data)[0].module
    noisy, samples = asked.study == VGG, asked.case.jacobians
    found, layers = _measure(network, trained.data, samples, trained.seed, with_noise=noisy)
    random: tuple[StudyLayer, ...] = ()
    if noisy:
        # What is measured does not change with the scale of these weights.
        other = draw_gaussian(network, trained.seed.child("random"))
        random = _measure(other, trained.data, samples, trained.seed, with_noise=True)[1]
    reshaped = estimate_bounds(network, trained.data, EstimateOptions(convolutions="reshaped"), only=NORM_BASED)
    return LayerStudy(
        **trained.study.facts(),
        gamma=found.gammas[0],
        layers=layers,
        random=random,
        bounds=_powers(found, (OURS, *NORM_BASED, *_COUNTING)),
        reshaped=_powers(reshaped, NORM_BASED),
        epochs=trained.history,
    ).to_json()


PaperPlan = partial(Plan, paper="Arora et al. 2018", presets=PRESETS, task=study_network, record=LayerStudy)


def shuffle_labels(data: Data, seed: Seed) -> Data:
    """The training labels in random order, so that they say nothing about the images; the test set stays true."""
    train = cast(ArraySamples, data.train)  # load_data makes no other kind
    name = f"{data.name}, shuffled labels"
    mixed = train.labels[seed.numpy().permutation(train.count)]
    return replace(data, name=name, train=replace(train, labels=mixed, name=f"{name} train"))


def _measure(
    network: nn.Module, data: Data, samples: int, seed: Seed, *, with_noise: bool
) -> tuple[Estimates, tuple[StudyLayer, ...]]:
    """Cushions as the paper prints them, without bias."""
    only = tuple(name for name in (*DRAWN, *_FOR_BOUNDS) if with_noise or name != SMOOTHNESS)
    measures = measure(network, data, MeasureOptions(samples=samples, only=only, seed=seed.child("measure")))
    found = estimate_bounds(
        network, data, EstimateOptions(cushions="plain"), only=(OURS, *NORM_BASED, *_COUNTING), measures=measures
    )
    effective = {layer.name: finite(layer.log10_effective) for layer in found.layers}
    layers = tuple(describe_layer(layer, log10_effective=effective[layer.name]) for layer in measures.layers)
    return found, layers


def _powers(found: Estimates, names: Sequence[str]) -> dict[str, float | None]:
    return {name: finite(found[name].log10) for name in names}
