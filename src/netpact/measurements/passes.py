"""Passes: work over the samples or the weights that runs once, and whose result several quantities share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import numpy as np
from torch import Tensor

from netpact.core.errors import PactError
from netpact.core.json import JsonValue
from netpact.core.progress import Progress
from netpact.datasets import ArraySamples, Samples
from netpact.measurements.numbers import join_numbers
from netpact.measurements.quantity import Numbers
from netpact.measurements.structure import Structure
from netpact.network import Network
from netpact.network.travelling import module_parcel, open_pickle, write_pickle
from netpact.runs.parcels import Content, Parcel, at_hand
from netpact.shards import HERE, Execution, Shards, go_through

if TYPE_CHECKING:
    from netpact.measurements.cost import Cost, Timing
    from netpact.measurements.options import MeasureOptions

_ROOM = 1 << 26  # floats in all layers' outputs of one batch, times 8: about half a gigabyte with gradients
_MOST = 256

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, eq=False)
class Pass(Generic[ResultT]):
    """Run once, before the quantities, if one of those that are wanted needs it.

    run       what it finds; it reports progress by `Context.report`, or goes through samples by `Context.numbers`:
              that, workers can share
    steps     how many samples it goes through, for the total of the progress
    forecast  how long it will take; None where it costs next to nothing
    """

    name: str
    run: Callable[[Context], ResultT]
    steps: Callable[[Context], int] = lambda context: 0
    forecast: Callable[[Timing], Cost | None] = lambda timing: None


@dataclass(eq=False)
class Context:
    """One network on one set of samples, and what the passes found: `context[PASS]`.

    inputs   the samples that were drawn for what is too costly for all of them
    initial  the network before training, where it was given
    execution  who goes through the samples, and where what is finished is kept
    """

    network: Network
    structure: Structure
    samples: Samples
    inputs: Tensor
    options: MeasureOptions
    initial: Network | None = None
    progress: Progress | None = None
    execution: Execution = HERE
    _done: int = 0
    _total: int = 0
    _results: dict[Pass[Any], object] = field(default_factory=dict)

    def __getitem__(self, wanted: Pass[ResultT]) -> ResultT:
        if wanted not in self._results:
            raise PactError(
                f"the pass {wanted.name!r} was not run", where="quantity", hint="name it in `needs` of the quantity"
            )
        return cast(ResultT, self._results[wanted])

    @property
    def complete(self) -> bool:
        """The drawn samples are all samples."""
        return len(self.inputs) == self.samples.count

    @property
    def batch(self) -> int:
        """How many samples fit into memory at once."""
        outputs = sum(layer.units * layer.places for layer in self.structure.layers)
        return max(1, min(_MOST, _ROOM // (8 * outputs)))

    def run(self, passes: Iterable[Pass[Any]]) -> None:
        chosen = tuple(passes)
        self._total = sum(each.steps(self) for each in chosen)
        for each in chosen:
            end = self._done + each.steps(self)
            self._results[each] = each.run(self)
            self._done = end

    def numbers(self, function: Callable[..., JsonValue], *, drawn: bool, steps: int = 1) -> dict[str, Numbers]:
        """What the function finds in each shard of the samples, joined in the order of the samples, by name.

        Each sample's numbers depend on its batch at most, and batches on nothing but the network: so they are the same,
        whoever goes through them. Nothing is summed over samples.

        function  of the names of two parcels, `context` and `shard`, and of the size of a batch; it returns
                  pack_numbers(...) and stands at the top level of a module
        drawn     it goes through the drawn samples, whose batches cost much; else through all
        steps     that a sample counts for
        """
        samples = self._drawn() if drawn else self.samples
        shards = Shards(samples, self.batch, each=1 if drawn else None)
        context = self._parcel()
        with at_hand([context]):
            found = go_through(
                shards,
                function,
                {"context": context.name, "batch": self.batch},
                parcels=[context],
                execution=self.execution,
                progress=lambda done, _: self.report(steps * done),
            )
        return join_numbers(found)

    def _drawn(self) -> ArraySamples:
        """As samples; nobody looks at their labels."""
        labels = np.zeros(len(self.inputs), dtype=np.int64)
        return ArraySamples(self.inputs.numpy(), labels, f"{len(labels)} of {self.samples.name}", self.samples.classes)

    def _parcel(self) -> Parcel:
        """Network, structure and options, as they travel to workers."""
        module = module_parcel(self.network.module)
        options = hashlib.sha256(repr(self.options).encode()).hexdigest()
        return Parcel(
            f"measuring {module.name}, options {options}",
            lambda: self,
            lambda context: write_pickle((context.network, context.structure, context.options, context.inputs[:1])),
            open_context,
            stays=True,
            lasting=module.lasting,
        )

    def report(self, seen: int) -> None:
        """So many steps of this pass are done."""
        if self.progress is not None:
            self.progress(self._done + seen, self._total)


def open_context(content: Content) -> Context:
    """In a worker: enough for the functions of Context.numbers, which find their samples in a shard."""
    network, structure, options, inputs = open_pickle(content)
    few = ArraySamples(inputs.numpy(), np.zeros(len(inputs), dtype=np.int64), network.name, 2)
    return Context(network, structure, few, inputs, options)
