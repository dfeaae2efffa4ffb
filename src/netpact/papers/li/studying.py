"""The task behind the experiments about spectra: train one network, and read its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import nn

from netpact.core.seed import Seed
from netpact.datasets import Data
from netpact.datasets.noise import add_label_noise
from netpact.experiments import Case, Plan, Setting, train_network
from netpact.models import build, initialise, parse_model
from netpact.papers.li.layer_properties import measure_properties
from netpact.papers.li.presets import COMPARED, CORRUPTED, CP_VGG, NOISE, PRESETS
from netpact.papers.li.pruning import measure_pruning
from netpact.papers.li.spectrum import layer_spectra
from netpact.papers.li.study import TensorStudy
from netpact.runs import JsonValue


def study_tensors(*, setting: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Task: train and measure one network. The experiments share its result, so it has what each of them asks for."""
    asked = Setting.read(setting)
    prepare = corrupt_labels if asked.study == CORRUPTED else None
    trained = train_network(asked, prepare=prepare, start=start_by_default)
    return TensorStudy(
        **trained.study.facts(),
        layers=layer_spectra(trained.module, seed=trained.seed.child("decompose")),
        pruned=measure_pruning(trained.module, trained.data) if asked.study == CP_VGG else (),
        properties=measure_properties(trained.module, trained.data) if asked.study in COMPARED else (),
    ).to_json()


PaperPlan = partial(Plan, paper="Li et al. 2020", presets=PRESETS, task=study_tensors, record=TensorStudy)


def start_by_default(case: Case, data: Data, seed: Seed) -> nn.Module:
    """Appendix A.1: "default initializations provided by PyTorch"."""
    module = build(parse_model(case.model, input_shape=data.input_shape, classes=data.classes))
    initialise(module, seed.child("start"))
    return module


def corrupt_labels(data: Data, seed: Seed) -> Data:
    """Half of the training labels changed to other classes at random; the test set stays true."""
    return add_label_noise(data, kind="symmetric", rate=NOISE, seed=seed, parts="train")
