"""measure: the quantities of the table for one network on one set of samples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from netpact.core.errors import PactError, wrong_kind
from netpact.core.progress import Progress
from netpact.core.version import __version__
from netpact.datasets import Data, Samples, as_data, draw_samples
from netpact.measurements.assembly import assemble
from netpact.measurements.cost import Cost, forecast
from netpact.measurements.definition import choose, names_needing
from netpact.measurements.folded import fold_for_measuring
from netpact.measurements.options import MeasureOptions
from netpact.measurements.passes import Context
from netpact.measurements.records import MeasureProvenance, Measures
from netpact.measurements.structure import find_structure
from netpact.measurements.weights import INITIAL
from netpact.network import Network
from netpact.runs import Engine, kept_workers
from netpact.shards import Execution

_SHAPE_SAMPLES = 2


def measure(
    model: nn.Module | Network,
    data: Data | Samples | object,
    options: MeasureOptions | None = None,
    *,
    initial: nn.Module | None = None,
    announce: Callable[[Cost], None] | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
    resume: str | Path | None = None,
) -> Measures:
    """Measure a trained classifier: the quantities of netpact.measurements.QUANTITIES, or some of them.

    Batch norm is folded into the layers first. Norms at the layers, margins and sizes of the output are taken over all
    samples; what needs Jacobians over a random part of them, so it is an estimate, with the standard error of the
    probes beside it. The last layer's cushion to the logits is summed row by row.

    data      the training part of a data set, or samples: data.test, or a pair of arrays
    initial   the network before training, for the distance from it
    announce  called once, before the long work, with a forecast of how long it will take
    engine    whose workers go through the samples: netpact.runs.Processes(2), Ray("auto"). None: this process. With as
              many threads the numbers are the same to the last bit
    resume    a folder for what is finished: the same call goes on from there after an interrupt
    """
    chosen_options = MeasureOptions() if options is None else options
    if not isinstance(chosen_options, MeasureOptions):
        raise wrong_kind(chosen_options, needed="a MeasureOptions", where="options")
    for name in names_needing(INITIAL):
        if name in chosen_options.only and initial is None:
            raise PactError(f"{name} needs the network before training", where="only", hint="give it as `initial`")
    source = as_data(data)
    network, folded = fold_for_measuring(model, source)
    start = None if initial is None else fold_for_measuring(initial, source)[0]
    samples = source.train
    inputs = choose_inputs(samples, chosen_options)
    execution = Execution(engine, None if resume is None else Path(resume))
    structure = find_structure(network, inputs[:_SHAPE_SAMPLES])
    context = Context(network, structure, samples, inputs, chosen_options, start, progress, execution)
    rows = choose(chosen_options.only)
    passes = tuple(dict.fromkeys(each for row in rows for each in row.needs))
    if announce is not None:
        announce(forecast(context, passes))
    with kept_workers():
        context.run(passes)
    provenance = MeasureProvenance(
        __version__,
        network.name,
        samples.name,
        samples.fingerprint(),
        samples.count,
        len(inputs),
        chosen_options.seed.number,
        folded,
    )
    return assemble(context, rows, provenance)


def choose_inputs(samples: Samples, options: MeasureOptions) -> Tensor:
    """`options.samples` inputs, drawn without replacement, in their order; all of them if there are no more."""
    drawn = draw_samples(samples, options.samples, options.seed.child("samples"))
    found = [torch.from_numpy(inputs) for inputs, _ in drawn.batches()]
    if not found:
        raise PactError("no samples to measure on", where=samples.name)
    return torch.cat(found)
