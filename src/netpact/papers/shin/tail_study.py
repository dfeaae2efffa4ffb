"""The task behind the figures about tails: train one network, and fit the tails of each of its layers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor, nn

from netpact.algebra import StableFit, stable_density
from netpact.experiments import Plan, Setting, Study, train_network
from netpact.measurements import TailOptions, measure_tails
from netpact.papers.shin.tail_presets import TAIL_PRESETS
from netpact.runs import JsonValue

_MOST = 20_000  # weights of a layer that likelihoods are computed from, evenly spread over it


@dataclass(frozen=True)
class LayerTail:
    """One layer, as plain numbers; None where there is no fit.

    final         it is the last one
    alpha         of the density |w|^-alpha of the largest weights, as Table 1 counts it
    fits          nothing speaks against a power law, see netpact.measurements.tails.TailFit.warnings
    eigenvalue_alpha  the same of the eigenvalues of W^T W
    stable_alpha  of the alpha-stable distribution fitted to all weights
    over_gaussian, over_laplace  log-likelihood per weight of the stable distribution less that of the other
    """

    name: str
    shape: tuple[int, ...]
    final: bool
    alpha: float | None
    alpha_stderr: float | None
    tail_count: int | None
    fits: bool | None
    eigenvalue_alpha: float | None
    stable_rank: float | None
    stable_alpha: float | None
    stable_stderr: float | None
    over_gaussian: float | None
    over_laplace: float | None

    @staticmethod
    def read(record: Mapping[str, Any]) -> LayerTail:
        return LayerTail(**{**record, "shape": tuple(record["shape"])})


@dataclass(frozen=True, kw_only=True)
class TailStudy(Study):
    """One network, trained and measured."""

    layers: tuple[LayerTail, ...]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> TailStudy:
        return cls(**{**record, "layers": tuple(map(LayerTail.read, record["layers"]))})


def study_tails(*, setting: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Task: train one network and measure its tails. The figures share its result."""
    trained = train_network(Setting.read(setting))
    return TailStudy(**trained.study.facts(), layers=layer_tails(trained.module)).to_json()


def layer_tails(module: nn.Module) -> tuple[LayerTail, ...]:
    """Of every linear layer and convolution, weights as they are stored."""
    found, parts = measure_tails(module, TailOptions()).layers, dict(module.named_modules())
    rows = []
    for layer in found:
        weights, eigenvalues, stable = layer.weights, layer.eigenvalues, layer.stable
        part = parts.get(layer.name, module)
        gains = (None, None) if stable is None else _gains(part.weight, stable)
        rows.append(
            LayerTail(
                name=layer.name,
                shape=layer.shape,
                final=layer is found[-1],
                alpha=None if weights is None else weights.alpha,
                alpha_stderr=None if weights is None else weights.fit.alpha_stderr,
                tail_count=None if weights is None else weights.fit.tail_count,
                fits=None if weights is None else not weights.warnings,
                eigenvalue_alpha=None if eigenvalues is None else eigenvalues.alpha,
                stable_rank=layer.stable_rank,
                stable_alpha=None if stable is None else stable.alpha,
                stable_stderr=None if stable is None else stable.alpha_stderr,
                over_gaussian=gains[0],
                over_laplace=gains[1],
            )
        )
    return tuple(rows)


def _gains(weight: Tensor, stable: StableFit) -> tuple[float, float]:
    """Log-likelihood per weight of the stable fit less that of the best Gaussian, and of the best Laplace."""
    numbers = weight.detach().double().flatten().numpy()
    numbers = numbers[:: -(-len(numbers) // _MOST)]
    beta = 0.0 if abs(stable.alpha - 1) < 0.01 else stable.beta
    density = stable_density(numbers, alpha=stable.alpha, beta=beta, scale=stable.scale, location=stable.location)
    ours = float(np.log(np.maximum(density, np.finfo(float).tiny)).mean())
    gaussian = -math.log(float(numbers.std()) * math.sqrt(2 * math.pi)) - 0.5
    laplace = -math.log(2 * float(np.abs(numbers - np.median(numbers)).mean())) - 1
    return ours - gaussian, ours - laplace


TailPlan = partial(Plan, paper="Shin 2021", presets=TAIL_PRESETS, task=study_tails, record=TailStudy)
