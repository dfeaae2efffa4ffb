from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.engine_options import ShardOptions
from netpact.cli.figures import write_figures
from netpact.cli.interrupts import keeping, shards_in
from netpact.cli.options import DataName, ModelName, PageOptions, RunOptions, WeightsOrNone
from netpact.cli.options_of import option
from netpact.core.errors import PactError
from netpact.core.percent import percent
from netpact.runs.idle import kept_workers

if TYPE_CHECKING:
    from torch import nn

    from netpact.datasets import Data
    from netpact.measurements import MeasureOptions, Measures
    from netpact.shards import Execution

_INITIAL = "initial"


@dataclass(frozen=True, kw_only=True)
class MeasuredOptions:
    weights: WeightsOrNone = None
    samples: int = option(200, "N", "Samples that Jacobians and noise are measured on.")
    only: tuple[str, ...] = option(
        (), "NAME", "Measure this quantity only; may be repeated. See docs/measurements.md.", shown="all"
    )
    rank: int = option(0, "N", "Components kept, for tensorization_factor and tensor_noise_bound.", shown="equal size")
    convolution: str = option(
        "matrix",
        "matrix|slices",
        "Matrices of a convolution, for the tails of eigenvalues: one, or one per kernel place.",
    )
    repeats: int = option(100, "N", "Repeats of the bootstrap, for weight_tail_p_value and eigenvalue_tail_p_value.")
    prune_scale: float = option(1.0, "D", "Strength of random pruning, for kept_share and the like.", least=0.0)
    against: str = option(
        "",
        "initial|FILE",
        "Measure a second network too: the weights that training with --seed starts from, or those of a file.",
    )
    zeta: float = option(
        0.0, "SHARE", "Leave out this share of the samples, the worst of each quantity.", least=0.0, most=0.99
    )
    seed: int = option(0, "N", "Seed of samples, probes and initial weights.")


@kept_workers()
def measure(
    model: ModelName,
    data: DataName,
    options: MeasuredOptions,
    pages: PageOptions,
    work: ShardOptions,
    run: RunOptions,
) -> None:
    """Measure why a network is compressible: cushions, contraction, smoothness, margins (Arora et al. 2018).

    Norms are computed over all training samples, Jacobians on some of them (--samples) by random probes with a standard
    error. The results are estimates, not a certificate.

    Example: netpact measure mlp:64-32 --weights mlp.safetensors --data digits
    """
    from netpact.cli.models import examined_model
    from netpact.core.files import write_atomically
    from netpact.core.seed import Seed
    from netpact.datasets import load_data
    from netpact.measurements import FROM_INITIAL, MeasureOptions, TailOptions, leave_out_outliers
    from netpact.reports.measure_page import draw_measures, render_measures
    from netpact.shards import Execution

    run.set_threads()
    workers = Execution(work.make_engine(run.threads), work.resume)
    against, zeta = options.against, options.zeta
    names = tuple(name for entry in options.only for name in entry.split(",") if name)
    seed, rank = Seed(options.seed), options.rank or None
    tails = TailOptions(convolution=options.convolution, repeats=options.repeats, seed=seed)
    wanted = MeasureOptions(
        samples=options.samples, only=names, seed=seed, rank=rank, tails=tails, prune_scale=options.prune_scale
    )
    source = load_data(data)
    module = examined_model(model, source, weights=options.weights)
    other = _open_other(against, model, source, seed=options.seed)
    initial = other if against == _INITIAL else None
    found = _run(module, source, wanted, workers, initial=initial, what=f"measuring {model}")
    rest = tuple(name for name in names if name not in FROM_INITIAL)
    second = None
    if other is not None and (rest or not names):
        second = _run(other, source, replace(wanted, only=rest), workers, initial=None, what="measuring the other one")
    if zeta:
        found, second = leave_out_outliers(found, zeta), None if second is None else leave_out_outliers(second, zeta)
        people.print(f"the worst {percent(zeta, places=2)} of the samples are left out of each quantity")
    write_figures(draw_measures(found, against=second), pages.figures)
    if pages.page is not None:
        text = render_measures(
            found,
            against=second,
            against_name="the network before training" if against == _INITIAL else f"the network with {against}",
            title=f"What was measured on {model}",
            command=shlex.join(["netpact", *sys.argv[1:]]),
        )
        write_atomically(pages.page, text.encode())
        people.print(f"figures in {pages.page}", soft_wrap=True)
    if run.json:
        print_json(found.to_json() | {"zeta": zeta} | ({} if second is None else {"against": second.to_json()}))
        return
    people.print(str(found), soft_wrap=True, markup=False)
    if second is not None:
        people.print(f"against {against}:\n{second}", soft_wrap=True, markup=False)


def _run(
    module: nn.Module,
    data: Data,
    options: MeasureOptions,
    workers: Execution,
    *,
    initial: nn.Module | None,
    what: str,
) -> Measures:
    from netpact.measurements import measure as run_measuring

    with keeping(shards_in(workers.folder)), progress_bar(what) as bar:
        return run_measuring(
            module,
            data,
            options,
            initial=initial,
            announce=lambda cost: people.print(str(cost), soft_wrap=True),
            progress=bar,
            engine=workers.engine,
            resume=workers.folder,
        )


def _open_other(against: str, model: str, data: Data, *, seed: int) -> nn.Module | None:
    """The second network: as `netpact train` would start it, or with the weights of a file."""
    from netpact.cli.models import names_own_function, open_model
    from netpact.core.seed import Seed
    from netpact.models import initialise

    if not against:
        return None
    if against != _INITIAL:
        return open_model(model, data, weights=Path(against))
    if names_own_function(model):
        raise PactError(
            "the weights that a module of your own started from are not known",
            where="--against",
            hint="save them before training and give the file",
        )
    module = open_model(model, data, weights=None)
    initialise(module, Seed(seed).child("start"))
    return module
