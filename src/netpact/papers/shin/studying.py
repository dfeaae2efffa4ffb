"""The task behind the experiments: train one network, put noise in its last layer, look at its first and last one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from netpact.algebra import fit_stable
from netpact.core.seed import Seed
from netpact.datasets import Data
from netpact.experiments import Plan, Setting, train_network
from netpact.experiments.studying import TrainedNetwork
from netpact.methods.heavy_tail import find_last_dense
from netpact.methods.tail_split import split_by_theory
from netpact.network import Network, trace
from netpact.papers.shin.brackets import missed_entries
from netpact.papers.shin.noise_study import FirstLayer, LastLayer, NoiseStudy
from netpact.papers.shin.presets import MLP, PRESETS
from netpact.papers.shin.spiked import Spikes, measure_spikes, simulate_spikes, stretch_spread
from netpact.papers.shin.table import make_row
from netpact.runs import JsonValue

Array = NDArray[np.float64]
ALPHAS = (3.0, 4.5, 6.0)  # from 4 on the squares have a variance, and the mean settles
POSITIVE, CENTRED = "entries of x in [0, 1]", "entries of x normal"
_TAU, _WIDTH = 1.5, 64  # the lowest entry is 1
_PAIRS = 500


def label_spikes(alpha: float, kind: str) -> str:
    return f"alpha = {alpha:g}, {kind}"


def study_tails(*, setting: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Task: train and measure one network. The experiments share its result, so it has what each of them asks for."""
    asked = Setting.read(setting)
    trained = train_network(asked)
    network = trace(trained.module, trained.data)
    return NoiseStudy(
        **trained.study.facts(),
        row=make_row(asked.case.model, network, trained.data),
        first=_first_layer(network, trained.data),
        last=_last_layer(network),
        simulated=_simulate(trained) if asked.study == MLP else (),
    ).to_json()


PaperPlan = partial(Plan, paper="Shin 2021", presets=PRESETS, task=study_tails, record=NoiseStudy)


def _last_layer(network: Network) -> LastLayer:
    values = dict(network.module.named_parameters())[find_last_dense(network)].detach().double().numpy()
    fit = fit_stable(values.ravel())
    return LastLayer(values.size, fit.alpha, fit.scale, missed_entries(values))


def _first_layer(network: Network, data: Data) -> FirstLayer | None:
    part = network.module.get_submodule(network.layers[0].name)
    if not isinstance(part, nn.Linear):
        return None
    values = part.weight.detach().double().numpy()
    inputs = next(iter(data.train.batches(2 * _PAIRS)))[0]
    flat = inputs.reshape(len(inputs), -1).astype(np.float64)
    half = len(flat) // 2
    apart = flat[:half] - flat[half : 2 * half]
    split = split_by_theory(values, float(values.std()))
    whole = split_by_theory(values, float(np.abs(values).max()))  # everything is noise of the same size
    return FirstLayer(
        stretch_spread(values, apart),
        stretch_spread(split.weights(), apart),
        stretch_spread(whole.weights(), apart),
        measure_spikes("first layer", np.where(split.kept, values, 0.0), flat),
    )


def _simulate(trained: TrainedNetwork) -> tuple[Spikes, ...]:
    """Power-law matrices with vectors whose entries have one sign, as behind a ReLU, and with centred ones."""
    return tuple(_spikes(alpha, kind, trained.seed.child("spikes")) for alpha in ALPHAS for kind in (POSITIVE, CENTRED))


def _spikes(alpha: float, kind: str, seed: Seed) -> Spikes:
    random = seed.child(kind, str(alpha)).numpy()
    x: Array = random.random(_WIDTH) if kind == POSITIVE else random.standard_normal(_WIDTH)
    return simulate_spikes(random, label=label_spikes(alpha, kind), alpha=alpha, tau=_TAU, x=x)
