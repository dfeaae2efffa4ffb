"""compare_with_pruning_lemmas: what pruning did to a network, beside what the lemmas say of it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import nn

from netpact.algebra.stream import MAX_SEED
from netpact.bounds.estimate import Premise
from netpact.bounds.logs import exp
from netpact.certificates.inputs import failure_probability
from netpact.coding.format import Compressed, Pact
from netpact.coding.format.loading import load_module
from netpact.core.checks import check_flag, check_instance, check_integer, check_number
from netpact.core.errors import wrong_kind
from netpact.core.progress import Progress
from netpact.datasets import Data, as_data
from netpact.deviations import deviation_bound
from netpact.measurements.folded import fold_for_measuring
from netpact.measurements.structure import Structure
from netpact.models import OwnModule
from netpact.network import Network
from netpact.papers.guha.lemmas.measuring import chain_of, measure_layers, run_both
from netpact.papers.guha.lemmas.report import PrintedLemma, PruningLemmaReport
from netpact.papers.guha.lemmas.stating import (
    LemmaLayer,
    input_factor,
    log_output_error,
    log_valid_error,
    norm_of_pruned,
)
from netpact.papers.guha.pruned import prune_matrices, round_matrices

_FLOAT32 = 1 + 1e-5  # activations come from a run in float32


@dataclass(frozen=True, kw_only=True)
class PruningLemmaOptions:
    """step  rho: what is kept is rounded to multiples of it; 0 for no rounding
    delta          the failure probability that each lemma is stated for: eps_l = L / delta in Lemma 4.3
    constant       the C of Lemma 4.2, which has no known value
    a, b           of Condition C.1
    keep_diagonal  as Algorithm 1 does
    seed           of the masks: those of netpact.RandomPrune(scale, seed=seed)
    """

    step: float = 0.0
    delta: float = 0.05
    constant: float = 1.0
    a: float = 1.0
    b: float = 0.5
    keep_diagonal: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_number(self.step, where="step", least=0)
        failure_probability(self.delta)
        for name in ("constant", "a", "b"):
            check_number(getattr(self, name), where=name, above=0)
        check_flag(self.keep_diagonal, where="keep_diagonal")
        check_integer(self.seed, where="seed", least=0, most=MAX_SEED)


def compare_with_pruning_lemmas(
    model: nn.Module | Network,
    pruned: float | Pact | Compressed | nn.Module | str | Path,
    data: Data | object,
    options: PruningLemmaOptions | None = None,
    *,
    progress: Progress | None = None,
) -> PruningLemmaReport:
    """Measured errors of a pruned network, its deviation bound, and the lemmas of Guha et al. 2023 as printed.

    model   a chain of linear layers, with biases or without; batch norm is folded first
    pruned  a number: the d of Algorithm 1, and the network is pruned here. Or a file, a compressed network or a module:
            there the lemmas know no d, and Lemma B.2 is stated with the measured |A^ - A|_2
    data    the training part of a data set, or samples: data.test, or a pair of arrays
    """
    chosen = PruningLemmaOptions() if options is None else check_instance(options, PruningLemmaOptions, where="options")
    source = as_data(data)
    network, _ = fold_for_measuring(model, source)
    structure = chain_of(network, source)
    scale = _scale_of(pruned)
    if scale is None:
        first = other = _open(pruned, network, source)
    else:
        first = prune_matrices(
            network.module, scale=scale, seed=chosen.seed, names=_names(structure), keep_diagonal=chosen.keep_diagonal
        )
        other = round_matrices(first, dict.fromkeys(_names(structure), chosen.step))
    deviation = deviation_bound(network, other, source, progress=progress)
    shifts = {part.name: part.shift for part in deviation.layers}
    layers = measure_layers(structure, network, first, other, shifts)
    inputs, worst = run_both(network, structure, source, first)
    expected = () if scale is None else _expected(layers, scale, chosen)
    sizes = float(np.exp(log_valid_error(layers, inputs)).max()) * _FLOAT32
    return PruningLemmaReport(
        network=network.name,
        scale=scale,
        constant=chosen.constant,
        layers=layers,
        expected=expected,
        printed=_state(
            layers, scale, chosen, source, pruned_error=worst, error=float(deviation.measured.max()), expected=expected
        ),
        valid=sizes,
        deviation=deviation,
        premises=_premises(structure, layers, expected, source, inputs),
    )


def _names(structure: Structure) -> list[str]:
    return [layer.name for layer in structure.layers]


def _scale_of(pruned: object) -> float | None:
    if isinstance(pruned, (int, float)) and not isinstance(pruned, bool):
        return float(check_number(pruned, where="pruned", above=0))
    if not isinstance(pruned, (Pact, Compressed, nn.Module, str, Path)):
        needed = "the d of Algorithm 1, a number > 0, or a Pact, a Compressed, a torch.nn.Module or a path"
        raise wrong_kind(pruned, needed=needed, where="pruned")
    return None


def _open(pruned: object, network: Network, data: Data) -> nn.Module:
    opened = Pact.read(pruned) if isinstance(pruned, (str, Path)) else pruned
    if isinstance(opened, nn.Module):
        return opened
    assert isinstance(opened, (Pact, Compressed))
    shell = copy.deepcopy(network.module) if isinstance(opened.architecture, OwnModule) else None
    module = opened.to_module(shell) if isinstance(opened, Pact) else load_module(opened, shell)
    return fold_for_measuring(module, data)[0].module


def _expected(layers: Sequence[LemmaLayer], scale: float, options: PruningLemmaOptions) -> tuple[float, ...]:
    """eps_l Gamma_l with eps_l = L / delta: all layers together fail with probability delta (Lemma 4.2)."""
    eps = len(layers) / options.delta
    return tuple(
        eps
        * norm_of_pruned(
            rows=layer.rows,
            columns=layer.columns,
            variance=layer.variance,
            scale=scale,
            constant=options.constant,
        )
        for layer in layers
    )


def _state(
    layers: Sequence[LemmaLayer],
    scale: float | None,
    options: PruningLemmaOptions,
    data: Data,
    *,
    expected: Sequence[float],
    pruned_error: float,
    error: float,
) -> tuple[PrintedLemma, ...]:
    """Lemmas 4.3 and C.3 are about the pruned network, 4.4 and C.4 about the one that is rounded, too."""
    size = float(np.prod(data.input_shape))
    grow = partial(
        log_output_error,
        norms=[one.norm for one in layers],
        lipschitz=[one.lipschitz for one in layers],
        input_size=size,
    )
    if scale is None:
        bound = exp(grow(changes=[layer.total for layer in layers]))
        return (PrintedLemma(name="B.2", bound=bound, measured=error, failure=0.0),)
    share = options.delta / len(layers)
    factors = [
        input_factor(
            rows=one.rows, columns=one.columns, samples=data.train.count, failure=share, a=options.a, b=options.b
        )
        for one in layers
    ]
    rounded = [found + options.step * layer.nonzeros for found, layer in zip(expected, layers, strict=True)]
    found = []
    for name, changes, kappas, seen, failure in (
        ("4.3", expected, (), pruned_error, options.delta),
        ("4.4", rounded, (), error, options.delta),
        ("C.3", expected, factors, pruned_error, 2 * options.delta),
        ("C.4", rounded, factors, error, 2 * options.delta),
    ):
        bound = exp(grow(changes=changes, factors=kappas))
        found.append(PrintedLemma(name=name, bound=bound, measured=seen, failure=failure))
    return tuple(found)


def _premises(
    structure: Structure,
    layers: Sequence[LemmaLayer],
    expected: Sequence[float],
    data: Data,
    inputs: NDArray[np.float64],
) -> tuple[Premise, ...]:
    depth, size = len(layers), float(np.prod(data.input_shape))
    biased = [layer.name for layer in structure.layers if layer.bias is not None and bool(layer.bias.any())]
    far = [layer.name for layer in layers if layer.total > layer.norm / depth]
    wide = [layer.name for layer, gamma in zip(layers, expected, strict=False) if gamma > layer.norm / depth]
    longest = float(inputs[0].max())
    return (
        Premise("no biases", not biased, ", ".join(biased[:3])),
        Premise("|x|_2 <= d_1^0", longest <= size, f"{longest:.3g} and {size:g}"),
        Premise("|U^l|_2 <= |A^l|_2 / L (Lemma B.2)", not far, _few(far, depth)),
        *([Premise("eps_l Gamma_l <= |A^l|_2 / L (Lemma 4.3)", not wide, _few(wide, depth))] if expected else []),
    )


def _few(names: Sequence[str], depth: int) -> str:
    return f"in {len(names)} of {depth} layers" if names else ""
