"""The task behind Tables 1 and 2 and Figure 2: train one MLP, and evaluate the bounds that the paper compares."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from netpact.bounds import EstimateOptions, Facts, Gamma, estimate_bounds
from netpact.core.seed import Seed
from netpact.datasets import Data
from netpact.experiments import Case, Plan, Setting, train_network
from netpact.experiments.history import History
from netpact.measurements.folded import fold_for_measuring
from netpact.models import build, initialise, parse_model
from netpact.network import measure_margins
from netpact.papers.guha.bounds.theorems import measured_pruning, printed_pruning
from netpact.papers.guha.compressed import MeasuredPruning
from netpact.papers.guha.published import BASELINES, log_dense_count
from netpact.papers.guha.study import (
    COUNTING,
    DENSE,
    LISTED,
    LISTED_MEASURED,
    MEASURED,
    PRINTED,
    BoundPoint,
    BoundStudy,
)
from netpact.runs import JsonValue
from netpact.training import error_rate


@dataclass(frozen=True)
class Found:
    """All bounds of one network at one margin, and the pruned network that the measured ones are about."""

    gamma: float
    train_error: float
    bounds: dict[str, float]
    pruned: MeasuredPruning
    printed_scale: float


def evaluate_bounds(module: nn.Module, data: Data) -> Found:
    """Natural logarithms of the bounds on the error: L_gamma + sqrt(C / m), or L_0 where a bound uses no margin."""
    network, _ = fold_for_measuring(copy.deepcopy(module).eval(), data)
    margins = measure_margins(network, data.train)
    gamma = EstimateOptions().gamma.candidates(margins)[0]
    plain, measured = (EstimateOptions(gamma=Gamma(value=gamma), pruning_form=form) for form in ("printed", "measured"))
    names = [*BASELINES, COUNTING, PRINTED, LISTED]
    bounds = {row.name: row.log_value for row in estimate_bounds(network, data, plain, only=names).rows}
    facts = Facts(measured, known={"network": network, "data": data, "margins": margins}, gamma=gamma)
    pruned = measured_pruning(facts)
    loss, samples = margins.share_below(gamma), data.train.count
    numbers = math.fsum(count.sketched for count in pruned.counts)
    listed = (math.fsum(count.listed for count in pruned.counts) + math.log(1 / measured.delta)) / 2
    bounds[MEASURED] = math.log(loss + math.sqrt(numbers / samples))
    bounds[LISTED_MEASURED] = math.log(loss + math.sqrt(listed / samples))
    bounds[DENSE] = log_dense_count([(one.layer.rows, one.layer.columns) for one in pruned.counts], samples=samples)
    return Found(gamma, margins.share_below(0.0), bounds, pruned, printed_pruning(facts).scale)


def look(epoch: int, module: nn.Module, data: Data) -> BoundPoint:
    assert data.test is not None, "the networks of experiments are tested"
    found = evaluate_bounds(module, data)
    errors, count = error_rate(module, data.test)
    return BoundPoint(epoch, found.train_error, errors / count, found.gamma, found.bounds)


class BoundHistory(History[BoundPoint]):
    def __init__(self, file: Path, data: Data, *, every: int) -> None:
        super().__init__(file, every=every, look=lambda epoch, module: look(epoch, module, data), read=BoundPoint.read)


def study_bounds(*, setting: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Task: train one network and evaluate its bounds. The three experiments share its result."""
    asked = Setting.read(setting)
    watching: list[BoundHistory] = []

    def watch(file: Path, data: Data) -> BoundHistory:
        watching.append(BoundHistory(file, data, every=asked.case.every))
        return watching[-1]

    trained = train_network(asked, start=start_by_default, watch=watch if asked.case.every else None)
    found = evaluate_bounds(trained.module, trained.data)
    assert trained.data.test is not None
    errors, count = error_rate(found.pruned.module, trained.data.test)
    weights = sum(one.layer.entries for one in found.pruned.counts)
    return BoundStudy(
        **trained.study.facts(),
        gamma=found.gamma,
        bounds=found.bounds,
        pruned_error=errors / count,
        kept=math.fsum(one.kept for one in found.pruned.counts) / weights,
        scale=found.pruned.scale,
        bits=found.pruned.bits,
        printed_scale=found.printed_scale,
        history=watching[0].points if watching else (),
    ).to_json()


def start_by_default(case: Case, data: Data, seed: Seed) -> nn.Module:
    """The paper names no initialization: PyTorch's."""
    module = build(parse_model(case.model, input_shape=data.input_shape, classes=data.classes))
    initialise(module, seed.child("start"))
    return module


PaperPlan = partial(Plan, paper="Guha et al. 2023", task=study_bounds, record=BoundStudy)
