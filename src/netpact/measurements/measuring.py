"""measure: the quantities of Arora et al. 2018 for one network on one set of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from netpact.core.errors import PactError, wrong_kind
from netpact.core.progress import Progress
from netpact.core.version import __version__
from netpact.datasets import Data, Samples, as_data, draw_samples
from netpact.measurements.assembly import Findings, assemble
from netpact.measurements.cost import Cost, forecast
from netpact.measurements.folded import fold_for_measuring
from netpact.measurements.interlayer import PairNumbers, join_batches, measure_pairs
from netpact.measurements.jacobians import Pair
from netpact.measurements.options import FROM_INITIAL, JACOBIANS, NOISE, SAMPLES, MeasureOptions
from netpact.measurements.quantity import Numbers
from netpact.measurements.records import MeasureProvenance, Measures
from netpact.measurements.smoothness import draw_weights, measure_smoothness
from netpact.measurements.streaming import SampleNorms, measure_samples
from netpact.measurements.structure import Structure, find_structure
from netpact.network import Network

_SHAPE_SAMPLES = 2
_ROOM = 1 << 26  # numbers that the outputs of all layers may take up together: half a gigabyte with what goes along
_MOST = 256


def measure(
    model: nn.Module | Network,
    data: Data | Samples | object,
    options: MeasureOptions | None = None,
    *,
    initial: nn.Module | None = None,
    announce: Callable[[Cost], None] | None = None,
    progress: Progress | None = None,
) -> Measures:
    """Measure a trained classifier (Arora et al. 2018, Sections 3 and 5).

    Batch norm is folded into the layers first. Norms at the layers, margins and sizes of the output are taken over all
    samples; what needs Jacobians over a random part of them, so it is an estimate, with the standard error of the
    probes beside it. The last layer's cushion to the logits is summed row by row.

    data      the training part of a data set, or samples: data.test, or a pair of arrays
    initial   the network before training, for the distance that the weights went
    announce  called once, before the long work, with a forecast of how long it will take
    """
    chosen_options = MeasureOptions() if options is None else options
    if not isinstance(chosen_options, MeasureOptions):
        raise wrong_kind(chosen_options, needed="a MeasureOptions", where="options")
    for name in FROM_INITIAL:
        if name in chosen_options.only and initial is None:
            raise PactError(f"{name} needs the network before training", where="only", hint="give it as `initial`")
    source = as_data(data)
    network, folded = fold_for_measuring(model, source)
    start = None if initial is None else fold_for_measuring(initial, source)[0]
    samples = source.train
    inputs = choose_inputs(samples, chosen_options)
    structure = find_structure(network, inputs[:_SHAPE_SAMPLES])
    if announce is not None:
        announce(forecast(network, structure, inputs, chosen_options, samples=samples.count, chosen=len(inputs)))
    work = _Work(network, structure, inputs, chosen_options, _count_steps(chosen_options, samples, inputs), progress)
    findings = Findings(
        network,
        structure,
        start,
        work.over_samples(samples) if chosen_options.needs(SAMPLES) else None,
        work.pairs() if chosen_options.needs(JACOBIANS) else None,
        work.smoothness() if chosen_options.needs(NOISE) else None,
        complete=len(inputs) == samples.count,
    )
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
    return assemble(findings, chosen_options, provenance)


def choose_inputs(samples: Samples, options: MeasureOptions) -> Tensor:
    """So many inputs, drawn without return and kept in their order; all of them if there are no more."""
    drawn = draw_samples(samples, options.samples, options.seed.child("samples"))
    found = [torch.from_numpy(inputs) for inputs, _ in drawn.batches()]
    if not found:
        raise PactError("no samples to measure on", where=samples.name)
    return torch.cat(found)


def _count_steps(options: MeasureOptions, samples: Samples, inputs: Tensor) -> int:
    total = samples.count if options.needs(SAMPLES) else 0
    return total + len(inputs) * (options.needs(JACOBIANS) + options.draws * options.needs(NOISE))


@dataclass
class _Work:
    """The three long parts, which count the samples that are done together."""

    network: Network
    structure: Structure
    inputs: Tensor
    options: MeasureOptions
    total: int
    progress: Progress | None
    done: int = 0

    def over_samples(self, samples: Samples) -> SampleNorms:
        found = measure_samples(
            self.network, self.structure, samples, batch=self._batch(), progress=lambda seen, _: self._tell(seen)
        )
        self.done += samples.count
        return found

    def pairs(self) -> dict[Pair, PairNumbers]:
        found = []
        for number, batch in self._batches():
            seed = self.options.seed.child("jacobians", number)
            found.append(measure_pairs(self.network, self.structure, batch, accuracy=self.options.accuracy, seed=seed))
        return join_batches(found)

    def smoothness(self) -> dict[int, Numbers]:
        worst: dict[int, Numbers] = {}
        for draw in range(self.options.draws):
            drawn = draw_weights(self.structure, self.options.noise, seed=self.options.seed.child("smoothness", draw))
            parts = [measure_smoothness(self.network, self.structure, batch, drawn) for _, batch in self._batches()]
            for index in parts[0]:
                numbers = np.concatenate([part[index] for part in parts])
                worst[index] = np.minimum(worst.get(index, numbers), numbers)
        return worst

    def _batches(self) -> Iterator[tuple[int, Tensor]]:
        for number, batch in enumerate(self.inputs.split(self._batch())):
            yield number, batch
            self.done += len(batch)
            self._tell(0)

    def _tell(self, seen: int) -> None:
        if self.progress is not None:
            self.progress(self.done + seen, self.total)

    def _batch(self) -> int:
        """As many samples at once as fit into the room."""
        outputs = sum(layer.units * layer.places for layer in self.structure.layers)
        return max(1, min(_MOST, _ROOM // (8 * outputs)))
