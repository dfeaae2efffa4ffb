"""WholeNumber: a trained network becomes an integer network, weights and activations alike."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from netpact.coding.format import WHOLE, Compressed
from netpact.core.checks import check_choice, check_integer
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.methods.calibrated.options import ROUNDINGS
from netpact.methods.method import METHODS
from netpact.methods.size_knobs import SizeKnob
from netpact.methods.whole_numbers.assembling import assemble
from netpact.methods.whole_numbers.converting import Conversion, convert_layers
from netpact.methods.whole_numbers.units import find_readings
from netpact.methods.whole_numbers.watching import watch_layers
from netpact.methods.whole_numbers.wiring import find_wiring
from netpact.network import Network
from netpact.network.folding import fold_norms
from netpact.network.probing import PROBE
from netpact.network.rounding.batching import samples_at_once

if TYPE_CHECKING:
    from netpact.datasets import Samples

_PARTS = 8  # a run without rounding bounds takes less memory for each sample


@METHODS.add
@dataclass(frozen=True)
class WholeNumber:
    """Weights and activations as integers: the same logits on every machine, without rounding bounds.

    Batch norm is folded, every layer's input is rounded to `activations` bits and its weights to `bits`, a step for
    each output channel; sums stay below 2^24, or below 2^53 in float64. Ranges come from calibration inputs; no label
    is looked at.

    bits         2 to 8, of a weight before entropy coding
    activations  2 to 8 bits of a layer's input
    calibration  how many of the samples are looked at, the first ones
    rounding     "nearest", or "second-order": weights are rounded one after the other, each making up for the errors of
                 those before; the default for fewer than 8 bits
    """

    bits: int = 8
    activations: int = 8
    calibration: int = 512
    rounding: str = ""
    name: ClassVar[str] = "whole"
    arithmetic: ClassVar[str] = WHOLE
    knobs: ClassVar[tuple[SizeKnob, ...]] = (SizeKnob("bits", (8, 6, 4, 3, 2)),)

    def __post_init__(self) -> None:
        check_integer(self.bits, where="bits", least=2, most=8)
        check_integer(self.activations, where="activations", least=2, most=8)
        check_integer(self.calibration, where="calibration", least=1)
        if not self.rounding:
            object.__setattr__(self, "rounding", ROUNDINGS[self.bits < 8])
        check_choice(self.rounding, ROUNDINGS, where="rounding")

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        if samples is None:
            raise PactError(
                "ranges of activations come from calibration inputs, and there are none",
                where="samples",
                hint="compress(network, WholeNumber(), samples=data)",
            )
        folded, folds = fold_norms(network, copy.deepcopy(network.module).double())
        folded = folded.float().eval()
        inputs = self._inputs(folded, samples)
        wiring = find_wiring(folded, inputs[:PROBE])
        layers = {name: folded.get_submodule(name) for name in wiring.order}
        seen = watch_layers(folded, layers, inputs, bits=self.activations)
        readings = find_readings(wiring, seen, layers)
        conversion = Conversion(layers, readings, seen, bits=self.bits, second_order=self.rounding == ROUNDINGS[1])
        found = convert_layers(folded, conversion, inputs, progress)
        return assemble(network, folded, folds, wiring, readings.units, found)

    def _inputs(self, module: nn.Module, samples: Samples) -> Tensor:
        """The first samples; fewer where the network is large, since they run all at once."""
        most = _PARTS * samples_at_once(copy.deepcopy(module).double(), samples.input_shape)
        inputs, _ = next(iter(samples.batches(max(1, min(self.calibration, samples.count, most)))))
        return torch.from_numpy(np.array(inputs))
