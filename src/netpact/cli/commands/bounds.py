from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netpact.bounds.bound import BOUNDS, check_names, option_records
from netpact.cli.completion import complete_bound
from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.figures import write_figures
from netpact.cli.options import BaseOptions, DataName, ModelName, PageOptions, RunOptions, WeightsOrNone
from netpact.cli.options_of import option
from netpact.core.errors import PactError
from netpact.core.percent import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netpact.bounds import Estimates, Gamma
    from netpact.datasets import Data
    from netpact.measurements import Measures
    from netpact.network import Network
    from netpact.reports.bound_rows import Row


@dataclass(frozen=True, kw_only=True)
class BoundOptions:
    weights: WeightsOrNone = None
    samples: int = option(200, "N", "Samples that Jacobians are measured on.", least=1)
    gamma: tuple[float, ...] = option(
        (), "MARGIN", "The margin. Repeated: a grid fixed beforehand, of which each bound takes its best."
    )
    gamma_quantile: float | None = option(
        None,
        "SHARE",
        "The margin as a quantile of the training margins.",
        shown="0.1, among correctly classified samples",
    )
    only: tuple[str, ...] = option(
        (),
        "NAME",
        f"Evaluate this bound only; may be repeated. {', '.join(BOUNDS)}.",
        shown="all",
        complete=complete_bound,
    )
    pact: Path | None = option(
        None, "FILE", "A certified file of this network: its certificate, verified, beside the estimates."
    )


if TYPE_CHECKING:

    class OwnOptions:
        """The options that bounds of the table have of their own, as one record."""

else:
    OwnOptions = make_dataclass("OwnOptions", [], bases=tuple(dict.fromkeys(option_records().values())), frozen=True)


def bounds(
    model: ModelName,
    data: DataName,
    options: BoundOptions,
    own: OwnOptions,
    base: BaseOptions,
    pages: PageOptions,
    run: RunOptions,
) -> None:
    """Evaluate published generalization bounds on a trained network. All of them are estimates, none is proven for it.

    Norm-based bounds are computed from the weights; for others the network is measured first, which takes longer.
    With --pact, the certificate of a compressed form of this network is verified and shown beside them. A file of
    another network, of other data, or with a false certificate is refused.

    Example: netpact bounds mlp --weights mlp.safetensors --data digits --pact mlp.pact
    """
    from netpact.bounds import EstimateOptions, estimate_bounds
    from netpact.cli.models import examined_model, names_own_function, own_model
    from netpact.datasets import load_data
    from netpact.network import trace
    from netpact.reports.beside import certificate_beside
    from netpact.reports.bound_rows import bound_table
    from netpact.reports.charts.bars import draw_bars

    run.set_threads()
    chosen = EstimateOptions(gamma=_read_gamma(options), **vars(own))
    only, pact = list(options.only), options.pact
    check_names(only)
    if base.base is not None and pact is None:
        raise PactError("a base network needs a file", where="--base", hint="give --pact, or leave it out")
    source = load_data(data)
    network = trace(examined_model(model, source, weights=options.weights), source)
    certified = []
    if pact is not None:
        ground, ground_data = base.open()
        made = own_model(model) if names_own_function(model) else None
        certified = [certificate_beside(pact, network, source, model=made, base=ground, base_data=ground_data)]
    measures = _measure(network, source, only, options.samples)
    with progress_bar("margins") as bar:
        found = estimate_bounds(network, source, chosen, only=only, measures=measures, progress=bar)
    rows: list[Row] = [*found.rows, *certified]
    write_figures([draw_bars(rows, samples=found.samples, width=900)], pages.figures)
    if pages.page is not None:
        _write_page(pages.page, rows, found, source)
    people.print(bound_table(rows, title=f"{found.network} on {source.train.count:,} samples of {source.name}"))
    _tell(found)
    if run.json:
        stated = [{**row.to_json(), "file": str(pact)} for row in certified]
        print_json(sorted([*(row.to_json() for row in found.rows), *stated], key=_capacity))


def _capacity(record: dict[str, object]) -> float:
    value = record["log10"]
    return value if isinstance(value, float) else float("inf")


def _read_gamma(options: BoundOptions) -> Gamma:
    from netpact.bounds import EstimateOptions, Gamma

    values, quantile = options.gamma, options.gamma_quantile
    if values and quantile is not None:
        raise PactError("give --gamma or --gamma-quantile, not both", where="--gamma")
    if values:
        return Gamma(value=values[0]) if len(values) == 1 else Gamma(grid=values)
    return EstimateOptions().gamma if quantile is None else Gamma(quantile=quantile)


def _measure(network: Network, data: Data, only: list[str], samples: int) -> Measures | None:
    from netpact.measurements import MeasureOptions, measure

    needed = dict.fromkeys(quantity for name in check_names(only) for quantity in BOUNDS[name].quantities)
    if not needed:
        return None
    with progress_bar("measuring") as bar:
        return measure(
            network,
            data,
            MeasureOptions(samples=samples, only=tuple(needed)),
            announce=lambda cost: people.print(str(cost), soft_wrap=True),
            progress=bar,
        )


def _write_page(path: Path, rows: Sequence[Row], found: Estimates, data: Data) -> None:
    from netpact.core.files import write_atomically
    from netpact.reports.bound_page import render_estimates

    text = render_estimates(rows, found, data)
    people.print(f"{write_atomically(path, text.encode())} is written", soft_wrap=True)


def _tell(found: Estimates) -> None:
    """What the table has no room for: the margin, effective parameters, premises that fail, what does not apply."""
    for gamma, loss in zip(found.gammas, found.losses, strict=True):
        people.print(
            f"gamma = {gamma:.4g}: L_gamma = {percent(loss, places=2)}; capacity C as in L_gamma + sqrt(C / samples)"
        )
    for names, layers in found.budgets.items():
        people.print(f"effective parameters by {', '.join(names)}:")
        for layer in layers:
            people.print(f"  {layer}", markup=False)
    failing = dict.fromkeys(str(premise) for row in found.rows for premise in row.failing)
    if failing:
        people.print("* premises that fail:")
    for premise in failing:
        people.print(f"  {premise}", markup=False)
    for name, reason in found.skipped:
        people.print(f"{name} is left out: {reason}", markup=False)
