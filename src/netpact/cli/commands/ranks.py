from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.figures import write_figures
from netpact.cli.options import DataName, ModelName, PageOptions, RunOptions, WeightsOrNone
from netpact.cli.options_of import option


@dataclass(frozen=True, kw_only=True)
class RanksOptions:
    weights: WeightsOrNone = None
    tolerance: float = option(0.01, "SHARE", "Share of the decisions that may change, all layers together.")
    bits: int = option(8, "N", "Bits of a number before entropy coding, as for compress.")
    grid: str = option("uniform", "NAME", "How numbers are rounded: uniform, codebook or ternary.")
    points: int = option(10, "N", "Ranks tried in each layer.")
    samples: int = option(1000, "N", "Samples that changes are measured on.")
    bound_samples: int = option(50, "N", "Samples with a deviation bound; 0: none, which is faster.")
    curves: bool = option(False, None, "List every rank tried, not only the recommended ones.")
    seed: int = option(0, "N", "Seed of the choice of samples.")


def ranks(model: ModelName, data: DataName, options: RanksOptions, pages: PageOptions, run: RunOptions) -> None:
    """Recommend a CP rank for each layer: error, deviation bound, measured change and bytes at every rank tried.

    Each layer is decomposed at a few ranks (a CP layer loses components) and tried alone; then the ranks of the fewest
    bytes are looked for with which few enough decisions change when all layers are replaced. What is measured holds for
    these samples and is no certificate: compress --method cp and certify give one.

    Example: netpact ranks lenet5 --weights lenet5.safetensors --data mnist --tolerance 0.02
    """
    from netpact.cli.models import examined_model
    from netpact.core.files import write_atomically
    from netpact.core.seed import Seed
    from netpact.datasets import load_data
    from netpact.methods import RankOptions, advise_ranks
    from netpact.methods.rank_advice.listing import list_curve
    from netpact.reports.rank_page import draw_ranks, render_ranks

    run.set_threads()
    wanted = RankOptions(
        tolerance=options.tolerance,
        points=options.points,
        samples=options.samples,
        bound_samples=options.bound_samples,
        bits=options.bits,
        grid=options.grid,
        seed=Seed(options.seed),
    )
    source = load_data(data)
    module = examined_model(model, source, weights=options.weights)
    with progress_bar(f"trying ranks of {model}") as bar:
        advice = advise_ranks(module, source, wanted, progress=bar)
    write_figures(draw_ranks(advice), pages.figures)
    if pages.page is not None:
        command = shlex.join(["netpact", *sys.argv[1:]])
        write_atomically(pages.page, render_ranks(advice, title=f"Ranks for {model}", command=command).encode())
        people.print(f"figures in {pages.page}", soft_wrap=True)
    if run.json:
        print_json(advice.to_json())
        return
    for layer in advice.layers if options.curves else ():
        people.print(list_curve(layer), soft_wrap=True, markup=False)
    people.print(str(advice), soft_wrap=True, markup=False)
