"""estimate_bounds: every bound of the table for one network on one training set."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import nn

from netpact.bounds.bound import BOUNDS, Bound, check_names
from netpact.bounds.estimate import Estimate
from netpact.bounds.estimates import Estimates
from netpact.bounds.facts import Facts
from netpact.bounds.logs import log_sum
from netpact.bounds.options import EstimateOptions
from netpact.core.errors import PactError, wrong_kind
from netpact.core.progress import Progress
from netpact.datasets import Data, Samples, as_data
from netpact.measurements import Measures
from netpact.measurements.folded import fold_for_measuring
from netpact.network import Network, measure_margins


def estimate_bounds(
    model: nn.Module | Network,
    data: Data | object,
    options: EstimateOptions | None = None,
    *,
    only: Sequence[str] = (),
    measures: Measures | None = None,
    progress: Progress | None = None,
) -> Estimates:
    """Evaluate published bounds for a trained network, the smallest capacity first.

    model     batch norm is folded into its neighbours first
    data      the training data: anything that load_data or as_data gives, or arrays (x, y)
    only      names out of netpact.bounds.RULES. Default: all that apply to the network
    measures  what netpact.measure found for this network on these data; bounds that need it are left out without

    The measurements take long, so that they are not made here.
    """
    chosen = {BOUNDS[name].name: BOUNDS[name] for name in check_names(only)}
    source = as_data(data)
    settings = EstimateOptions() if options is None else options
    if not isinstance(settings, EstimateOptions):
        raise wrong_kind(settings, needed="an EstimateOptions", where="options")
    network, _ = fold_for_measuring(model, source)
    margins = measure_margins(network, source.train, progress=progress)
    gammas = settings.gamma.candidates(margins) if any(bound.uses_margin for bound in chosen.values()) else ()
    if measures is not None:
        check_same_data(measures, source.train)
    known = {"network": network, "data": source, "margins": margins, "measures": measures}
    facts = Facts(settings, known=known)
    reasons = {name: _refusal(bound, facts) for name, bound in chosen.items()}
    for name, reason in reasons.items():
        if reason and only:
            raise PactError(reason, where=name)
    apply = [bound for name, bound in chosen.items() if not reasons[name]]
    rows = [_best(bound, [facts.at(gamma, tried=len(gammas)) for gamma in gammas] or [facts]) for bound in apply]
    return Estimates(
        rows=tuple(sorted(rows, key=lambda row: (row.log_capacity, row.name))),
        gammas=gammas,
        losses=tuple(margins.share_below(gamma) for gamma in gammas),
        network=network.name,
        data_name=source.train.name,
        samples=source.train.count,
        layers=next((row.layers for row in rows if row.layers), ()),
        skipped=tuple((name, reason) for name, reason in reasons.items() if reason),
    )


def check_same_data(measures: Measures, samples: Samples) -> None:
    if measures.provenance.data_fingerprint != samples.fingerprint():
        raise PactError(
            f"the measurements are of other data ({measures.provenance.data_name})",
            where="measures",
            hint="measure the network on the samples that the bounds are about",
        )


def _refusal(bound: Bound, facts: Facts) -> str:
    if bound.quantities and facts.measures is None:
        return "it needs the measurements of the network: measures=netpact.measure(model, data)"
    return bound.refuses(facts)


def _best(bound: Bound, facts: Sequence[Facts]) -> Estimate:
    """The estimate at the margin that serves this bound best; trying several has its price in the capacity."""
    return min((_estimate(bound, one) for one in facts), key=lambda found: (found.value, found.log_capacity))


def _estimate(bound: Bound, facts: Facts) -> Estimate:
    capacity = bound.log_capacity(facts)
    assumptions = ["the samples are independent draws from one distribution"]
    if bound.uses_margin:
        assumptions.append(facts.options.gamma.assumption())
        capacity = log_sum([capacity, math.log(math.log(facts.tried))]) if facts.tried > 1 else capacity
    sampling = bound.sampling(facts)
    return Estimate(
        name=bound.name,
        log_capacity=capacity,
        margin_loss=facts.margins.share_below(facts.gamma) if bound.uses_margin else facts.errors,
        samples=facts.samples,
        theorem=f"{bound.theorem}, with {sampling.theorem}" if sampling.zeta else bound.theorem,
        gamma=facts.gamma if bound.uses_margin else None,
        zeta=sampling.zeta,
        assumptions=(*assumptions, *sampling.assumptions),
        ignored=bound.ignored,
        premises=bound.premises(facts),
        layers=bound.layers(facts),
    )
