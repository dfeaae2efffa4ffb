"""estimate_bounds: every bound of the table for one network on one training set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from netpact.bounds.estimate import Estimate
from netpact.bounds.estimates import Estimates, budget
from netpact.bounds.facts import Facts
from netpact.bounds.logs import log_sum
from netpact.bounds.norms import measure_norms
from netpact.bounds.options import EstimateOptions
from netpact.bounds.rules import RULES, Rule
from netpact.bounds.stability import read_stability
from netpact.core.errors import PactError, one_of, wrong_kind
from netpact.core.progress import Progress
from netpact.datasets import Data, Samples, as_data
from netpact.measurements import Measures
from netpact.measurements.folded import fold_for_measuring
from netpact.measurements.structure import find_structure
from netpact.network import Margins, Network, measure_margins
from netpact.network.kinds import KINDS


def estimate_bounds(
    model: nn.Module | Network,
    data: Data | object,
    options: EstimateOptions | None = None,
    *,
    only: Sequence[str] = (),
    measures: Measures | None = None,
    progress: Progress | None = None,
) -> Estimates:
    """What the bounds of the literature come to for a trained network, the smallest capacity first.

    model     batch norm is folded into its neighbours first
    data      the training data: anything that load_data or as_data gives, or arrays (x, y)
    only      names out of netpact.bounds.RULES; all that fit the network where nothing is said
    measures  what netpact.measure found for this network on these data; the bounds that need it are left out without

    The measurements take long, so that they are not made here.
    """
    chosen = check_names(only)
    source = as_data(data)
    settings = EstimateOptions() if options is None else options
    if not isinstance(settings, EstimateOptions):
        raise wrong_kind(settings, needed="an EstimateOptions", where="options")
    network, _ = fold_for_measuring(model, source)
    margins = measure_margins(network, source.train, progress=progress)
    gammas = settings.gamma.candidates(margins) if any(RULES[name].uses_margin for name in chosen) else ()
    if measures is not None and measures.provenance.data_fingerprint != source.train.fingerprint():
        raise PactError(
            f"the measurements are of other data ({measures.provenance.data_name})",
            where="measures",
            hint="measure the network on the samples that the bounds are about",
        )
    plain = _collect(network, source, settings, measures, margins)
    facts = [replace(plain, gamma=one, margin_loss=margins.share_below(one), tried=len(gammas)) for one in gammas]
    rows, skipped = [], []
    for name in chosen:
        reason = _refusal(RULES[name], plain)
        if not reason:
            rows.append(_best(name, RULES[name], facts or [plain], settings))
        elif only:
            raise PactError(reason, where=name)
        else:
            skipped.append((name, reason))
    return Estimates(
        rows=tuple(sorted(rows, key=lambda row: (row.log_capacity, row.name))),
        gammas=gammas,
        losses=tuple(one.margin_loss for one in facts),
        network=network.name,
        data_name=source.train.name,
        samples=source.train.count,
        layers=() if plain.stability is None else tuple(budget(layer) for layer in plain.stability.layers),
        skipped=tuple(skipped),
    )


def check_names(only: Sequence[str]) -> tuple[str, ...]:
    """The names asked for, in the order of the table; all of them where none is given."""
    for name in only:
        if name not in RULES:
            raise one_of(name, RULES, option="only")
    return tuple(name for name in RULES if not only or name in only)


def _refusal(rule: Rule, facts: Facts) -> str:
    if rule.measured and facts.stability is None:
        return "it needs the measurements of the network: measures=netpact.measure(model, data)"
    return rule.refuses(facts)


def _best(name: str, rule: Rule, facts: Sequence[Facts], options: EstimateOptions) -> Estimate:
    """The estimate at the margin that serves this bound best; trying several has its price in the capacity."""
    found = [_estimate(name, rule, one, options) for one in facts]
    return min(found, key=lambda estimate: (estimate.value, estimate.log_capacity))


def _estimate(name: str, rule: Rule, facts: Facts, options: EstimateOptions) -> Estimate:
    capacity = rule.log_capacity(facts)
    assumptions = ["the samples are independent draws from one distribution"]
    if rule.uses_margin:
        assumptions.append(options.gamma.assumption())
        capacity = log_sum([capacity, math.log(math.log(facts.tried))]) if facts.tried > 1 else capacity
    if rule.measured:
        seen = facts.measured.jacobian_samples
        assumptions.append(f"interlayer cushions of {seen:,} samples stand for those of all {facts.samples:,}")
    zeta = facts.zeta if rule.measured else 0.0
    return Estimate(
        name=name,
        log_capacity=capacity,
        margin_loss=facts.margin_loss if rule.uses_margin else facts.errors,
        samples=facts.samples,
        theorem=f"{rule.theorem}, with Corollary C.1" if zeta else rule.theorem,
        gamma=facts.gamma if rule.uses_margin else None,
        zeta=zeta,
        assumptions=tuple(assumptions),
        ignored=rule.ignored,
        premises=rule.asks(facts),
    )


def _collect(
    network: Network, data: Data, options: EstimateOptions, measures: Measures | None, margins: Margins
) -> Facts:
    """All numbers but the margin, which is 1 until one is chosen."""
    structure = find_structure(network, _probe(data.train))
    errors = margins.share_below(0.0)
    return Facts(
        norms=tuple(measure_norms(layer, convolutions=options.convolutions) for layer in structure.layers),
        stability=None if measures is None else read_stability(measures, structure, options),
        parameters=network.parameters,
        classes=data.classes,
        samples=data.train.count,
        input_norm=_longest(data.train),
        output_norm=float(margins.norms.max()),
        gamma=1.0,
        margin_loss=errors,
        errors=errors,
        delta=options.delta,
        zeta=options.zeta,
        foreign=tuple(layer.name for layer in network.layers if layer.kind not in KINDS.measured()),
        is_chain=all(layer.alone for layer in structure.layers),
        has_biases=any(layer.bias is not None and bool(layer.bias.any()) for layer in structure.layers),
    )


def _probe(samples: Samples) -> torch.Tensor:
    inputs, _ = next(iter(samples.batches(4)))
    return torch.from_numpy(inputs)


def _longest(samples: Samples) -> float:
    """max |x|_2."""
    found = (np.linalg.norm(x.reshape(len(x), -1).astype(np.float64), axis=1).max() for x, _ in samples.batches())
    return float(max(found))
