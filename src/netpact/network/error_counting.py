"""count_errors: the errors of a network on samples, shard by shard, in this process or by many workers."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from typing import Any

from torch import nn

from netpact.certificates.program import AS_RUN
from netpact.core.errors import PactError
from netpact.core.json import JsonValue
from netpact.core.progress import Progress
from netpact.datasets import Samples
from netpact.network.as_run import this_program
from netpact.network.as_run_counting import as_run_batch, count_batch_as_run
from netpact.network.rounding.counting import CountingRun, ErrorCount, count_batch, open_run
from netpact.network.rounding.tolerance_run import ToleranceRun
from netpact.network.travelling import module_parcel
from netpact.runs.parcels import Parcel, at_hand, made_of, parcel
from netpact.shards import HERE, Execution, Shards, go_through, shard_done

_BATCH = 512  # more gains nothing, and progress would be reported too rarely
_COUNTS = tuple(one.name for one in fields(ErrorCount))


def count_errors(
    module: nn.Module,
    samples: Samples,
    *,
    arithmetic: str,
    progress: Progress | None = None,
    network: Parcel | None = None,
    execution: Execution = HERE,
) -> ErrorCount:
    """How many samples are not proven to be classified rightly by every run in this precision.

    A sample is right if its own logit minus its spread exceeds every other logit plus that one's spread. With
    arithmetic as run: how many this program gets wrong. Samples are counted shard by shard, and the shards do not
    depend on who counts them.

    network    the module as it travels to workers; default: any module that can
    execution  who counts, and where finished counts are kept
    """
    network = network or module_parcel(module)
    with at_hand([network]):
        run = _opened(network.name, arithmetic)
        size = run.batch(samples.input_shape, most=_BATCH)
        size = as_run_batch(size, samples.count, execution) if arithmetic == AS_RUN else size
        shards = Shards(samples, size, turn=1)
        program = asdict(this_program()) if arithmetic == AS_RUN else None
        given: dict[str, JsonValue] = {
            "network": network.name,
            "arithmetic": arithmetic,
            "batch": shards.batch,
            "program": program,
        }

        def count(which: range, trials: int | None, by: Execution) -> list[Any]:
            arguments = {**given, "trials": trials}
            return go_through(
                shards, count_shard, arguments, parcels=[network], which=which, execution=by, progress=progress
            )

        # What the first shard shows holds for all others: a count must not depend on which of them came before.
        trials = _trials(run)
        first = [] if trials is None else count(range(1), trials, replace(execution, engine=None))
        rest = range(len(first), len(shards.parts))
        found = [*first, *count(rest, first[0]["trials"] if first else None, execution)]
    return sum((ErrorCount(**{name: one[name] for name in _COUNTS}) for one in found), ErrorCount(0, 0, 0))


def count_shard(
    network: str, shard: str, arithmetic: str, batch: int, program: JsonValue, trials: int | None
) -> JsonValue:
    """The counts of one shard. In a worker or here; network and shard are parcels.

    trials  of ToleranceRun, at the start and, in what is returned, at the end
    """
    if program is not None and program != asdict(this_program()):
        raise PactError(
            "arithmetic as run is about one program, and this worker's is another one",
            where=str(this_program()),
            hint="use machines of one kind, with the same torch",
        )
    run = _opened(network, arithmetic)
    if isinstance(run, ToleranceRun):
        run.trials = trials
    count = count_batch_as_run if arithmetic == AS_RUN else count_batch
    counted = ErrorCount(0, 0, 0)
    for inputs, labels, places in parcel(shard).batches(batch):
        counted += count(run, inputs, labels, places)
        shard_done(counted.samples)
    run.finish()
    return {**asdict(counted), "trials": _trials(run)}


def _opened(network: str, arithmetic: str) -> CountingRun:
    """Prepared once in each process."""
    run: CountingRun = made_of(
        network, f"count {arithmetic}", lambda module: open_run(module, arithmetic, patient=False)
    )
    return run


def _trials(run: CountingRun) -> int | None:
    return run.trials if isinstance(run, ToleranceRun) else None
