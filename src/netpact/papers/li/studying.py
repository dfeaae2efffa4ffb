"""The task behind the experiments about spectra: train one network, and read its tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from netpact.core.seed import Seed
from netpact.datasets import Data
from netpact.datasets.noise import add_label_noise
from netpact.experiments import Case, Plan, Setting, train_network
from netpact.experiments.studying import TrainedNetwork
from netpact.measurements.folded import fold_for_measuring
from netpact.models import build, initialise, parse_model
from netpact.papers.li.bound_history import BoundHistory
from netpact.papers.li.by_arora import count_arora
from netpact.papers.li.layer_properties import measure_properties
from netpact.papers.li.presets import COMPARED, CORRUPTED, CP_VGG, NOISE, PRESETS
from netpact.papers.li.pruning import measure_pruning
from netpact.papers.li.spectrum import layer_spectra
from netpact.papers.li.study import TensorStudy
from netpact.runs import JsonValue


def study_tensors(*, setting: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Task: train and measure one network. The experiments share its result, so it has what each of them asks for."""
    asked = Setting.read(setting)
    watching: list[BoundHistory] = []

    def watch(file: Path, data: Data) -> BoundHistory:
        watching.append(BoundHistory(file, data, every=asked.case.every))
        return watching[-1]

    trained = train_network(
        asked,
        prepare=corrupt_labels if asked.study == CORRUPTED else None,
        start=start_by_default,
        watch=watch if asked.case.every else None,
    )
    module, data = trained.module, trained.data
    return TensorStudy(
        **trained.study.facts(),
        layers=layer_spectra(module, seed=trained.seed.child("decompose")),
        pruned=measure_pruning(module, data) if asked.study == CP_VGG else (),
        properties=measure_properties(module, data) if asked.study in COMPARED else (),
        history=watching[0].points if watching else (),
        arora=_all_by_arora(trained, asked.case.jacobians) if watching else None,
    ).to_json()


def _all_by_arora(trained: TrainedNetwork, jacobians: int) -> float | None:
    network, _ = fold_for_measuring(trained.module, trained.data)
    found = count_arora(network, trained.data, jacobians, trained.seed).values()
    powers = [power for power in found if power is not None]
    return math.log10(math.fsum(10.0**power for power in powers)) if len(powers) == len(found) else None


PaperPlan = partial(Plan, paper="Li et al. 2020", presets=PRESETS, task=study_tensors, record=TensorStudy)


def start_by_default(case: Case, data: Data, seed: Seed) -> nn.Module:
    """Appendix A.1: "default initializations provided by PyTorch"."""
    module = build(parse_model(case.model, input_shape=data.input_shape, classes=data.classes))
    initialise(module, seed.child("start"))
    return module


def corrupt_labels(data: Data, seed: Seed) -> Data:
    """Half of the training labels changed to other classes at random; the test set stays true."""
    return add_label_noise(data, kind="symmetric", rate=NOISE, seed=seed, parts="train")
