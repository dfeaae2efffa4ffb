"""Passes: work over the samples or the weights that runs once, and whose result several quantities share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from torch import Tensor

from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import Samples
from netpact.measurements.structure import Structure
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.measurements.cost import Cost, Timing
    from netpact.measurements.options import MeasureOptions

_ROOM = 1 << 26  # floats in all layers' outputs of one batch, times 8: about half a gigabyte with gradients
_MOST = 256

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, eq=False)
class Pass(Generic[ResultT]):
    """Run once, before the quantities, if one of those that are wanted needs it.

    run       what it finds; it reports progress by `Context.report`, or by iterating over `Context.batches`
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
    """

    network: Network
    structure: Structure
    samples: Samples
    inputs: Tensor
    options: MeasureOptions
    initial: Network | None = None
    progress: Progress | None = None
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

    def batches(self) -> Iterator[Tensor]:
        """The drawn samples, counted as done one after the other."""
        for batch in self.inputs.split(self.batch):
            yield batch
            self._done += len(batch)
            self.report(0)

    def report(self, seen: int) -> None:
        """So many samples of this pass are done, beside those of `batches`."""
        if self.progress is not None:
            self.progress(self._done + seen, self._total)
