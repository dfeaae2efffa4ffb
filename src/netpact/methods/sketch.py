"""Sketch: sparse weight matrices by their sketches, where that is shorter than entry by entry (Guha et al. 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from netpact.algebra.pruning import magnitude_masks
from netpact.coding.format import Compressed
from netpact.coding.forms import CodedTensor
from netpact.core.checks import check_choice, check_instance, check_integer, check_number
from netpact.core.display import Displayed, Row
from netpact.core.progress import Progress
from netpact.methods.approximations import PrunedEntries, as_array, code_network
from netpact.methods.grids import BITS, UniformGrid
from netpact.methods.low_rank_fitting import code_length
from netpact.methods.method import METHODS
from netpact.methods.size_knobs import SizeKnob
from netpact.methods.sketch_fitting import fit_sketch
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.datasets import Samples

SHORTER, SKETCHES = "shorter", "sketch"


@METHODS.add
@dataclass(frozen=True)
class Sketch:
    """The largest weights of each layer in an even grid; each matrix by its sketch A X B^T, or entry by entry.

    A sketch is used only if its decoding gives the very integers back, and its size is tried upwards until it does. Its
    numbers are sums of the grid's integers, which codebooks do not have. `sketch_sizes` tells both lengths. Biases take
    8 bits.

    keep    the share of each layer's weights that is kept; 1 for a network that is sparse already
    bits    2 to 16 for each weight that is kept, before entropy coding
    prefer  "shorter": for each tensor what takes fewer bits; "sketch": sketches even where they take more
    """

    keep: float = 0.05
    bits: int = 4
    prefer: str = SHORTER
    name: ClassVar[str] = "sketch"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (SizeKnob("keep", (0.1, 0.05, 0.02)),)

    def __post_init__(self) -> None:
        check_number(self.keep, where="keep", above=0, most=1)
        check_integer(self.bits, where="bits", least=BITS.start, most=BITS.stop - 1)
        check_choice(self.prefer, (SHORTER, SKETCHES), where="prefer")

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        plain = self._direct(network)
        chosen = dict(plain.tensors)
        for name, pair in _pairs(network, plain, progress).items():
            chosen[name] = pair[1] if self.prefer == SKETCHES else min(pair, key=code_length)
        return Compressed(network.architecture, chosen)

    def _direct(self, network: Network) -> Compressed:
        weights = {name: tensor for name, tensor in network.module.named_parameters() if tensor.dim() >= 2}
        arrays = [tensor.detach().numpy() for tensor in weights.values()]
        masks = magnitude_masks(arrays, keep=self.keep, together=False)
        pruned = {
            name: PrunedEntries(np.where(mask, as_array(tensor), 0.0))
            for (name, tensor), mask in zip(weights.items(), masks, strict=True)
        }
        return code_network(network, UniformGrid(self.bits), pruned)


@dataclass(frozen=True)
class TensorSizes:
    """One tensor both ways.

    nonzeros, numbers          how many integers are coded: the entries that are not 0, the sketch's cells
    direct_bits, sketch_bits   ideal code lengths with their forms
    """

    tensor: str
    shape: tuple[int, ...]
    nonzeros: int
    numbers: int
    direct_bits: float
    sketch_bits: float

    @property
    def ratio(self) -> float:
        """How many times longer the sketch is."""
        return self.sketch_bits / self.direct_bits


@dataclass(frozen=True, repr=False)
class SketchSizes(Displayed):
    """Every weight tensor that has nonzeros: by its smallest sketch that decodes, and entry by entry."""

    tensors: tuple[TensorSizes, ...]
    method: str

    def display_facts(self) -> Row:
        direct, sketched = (sum(getattr(one, name) for one in self.tensors) for name in ("direct_bits", "sketch_bits"))
        return {"tensors": len(self.tensors), "direct_bits": round(direct), "sketch_bits": round(sketched)}

    def display_rows(self) -> list[Row]:
        return [
            {
                "tensor": one.tensor,
                "shape": str(one.shape),
                "nonzeros": one.nonzeros,
                "numbers of the sketch": one.numbers,
                "direct bits": round(one.direct_bits),
                "sketch bits": round(one.sketch_bits),
                "ratio": round(one.ratio, 2),
            }
            for one in self.tensors
        ]

    def to_json(self) -> dict[str, object]:
        return {"method": self.method, "tensors": [dict(vars(one)) for one in self.tensors]}


def sketch_sizes(network: Network, method: Sketch, *, progress: Progress | None = None) -> SketchSizes:
    """What each weight tensor takes as a sketch and entry by entry, after the method's pruning and rounding."""
    check_instance(network, Network, where="network", hint="trace(module, data) gives one")
    check_instance(method, Sketch, where="method", hint="write Sketch(keep=0.05)")
    plain = method._direct(network)
    rows = [
        TensorSizes(
            name,
            direct.shape,
            int(np.count_nonzero(direct.symbols)),
            len(sketched.symbols),
            code_length(direct),
            code_length(sketched),
        )
        for name, (direct, sketched) in _pairs(network, plain, progress).items()
    ]
    return SketchSizes(tuple(rows), repr(method))


def _pairs(
    network: Network, plain: Compressed, progress: Progress | None
) -> dict[str, tuple[CodedTensor, CodedTensor]]:
    """For each weight tensor that a sketch was found for: entry by entry, and by its sketch."""
    weights = [name for name, tensor in network.module.named_parameters() if tensor.dim() >= 2]
    found = {}
    for layer, name in enumerate(weights):
        sketched = fit_sketch(plain.tensors[name], layer=layer)
        if sketched is not None:
            found[name] = plain.tensors[name], sketched
        if progress is not None:
            progress(layer + 1, len(weights))
    return found
