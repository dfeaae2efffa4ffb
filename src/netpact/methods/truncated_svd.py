"""TruncatedSVD: weight matrices cut to their largest singular values (Arora et al. 2018, Lemma 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from torch import nn

from netpact.algebra.singular_values import SingularValues, decompose, theorem22_tolerance
from netpact.coding.format import Compressed
from netpact.coding.forms import CodedTensor, LowRank, matrix_sides
from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.layers.rewrites import can_factor
from netpact.methods.approximations import as_array, code_network
from netpact.methods.choices import settle_bits, take_one
from netpact.methods.factoring import Factors, round_factors, split_factors
from netpact.methods.grids import Grid, make_grid
from netpact.methods.low_rank_fitting import code_length, round_low_rank
from netpact.methods.method import METHODS
from netpact.methods.replacing import own_layers, replace_layers
from netpact.methods.size_knobs import SizeKnob
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.datasets import Samples

_DEFAULT_ENERGY = 0.9
_WAYS = ("rank", "energy", "tolerance", "margin")
_BATCH = 1024
# Theorem 2.2 is about a chain of fully connected layers; what may stand between them has slope 1 and keeps 0.
_CHAIN = (nn.Flatten, nn.Linear, nn.ReLU, nn.Dropout, nn.Identity)


@METHODS.add
@dataclass(frozen=True)
class TruncatedSVD:
    """Each weight tensor as a product of two narrow integer matrices; a convolution is out x (in * taps).

    Give one of the first four, which decides how much is kept (default: energy 0.9). Biases take 8 bits. A tensor
    that takes more bits as a product than rounded entry by entry (`Quantize` with as many bits) is rounded so. A
    layer for which the factors have fewer numbers than the weight is decoded as two layers.

    rank       singular values kept in each tensor, at most
    energy     the smallest rank that keeps this share of the sum of squares of each tensor
    tolerance  singular values smaller than this share of the largest are removed (Lemma 1)
    margin     the tolerance that keeps all decisions of a larger margin (Theorem 2.2), for fully connected networks
    bits       for each number of the factors before entropy coding: uniform 2 to 16 (default 8), codebook 1 to 8
    grid       "uniform", "codebook" or "ternary": how these numbers are written, with a scale for each component
    """

    rank: int | None = None
    energy: float | None = None
    tolerance: float | None = None
    margin: float | None = None
    bits: int | None = None
    grid: str = "uniform"
    name: ClassVar[str] = "truncated-svd"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (SizeKnob("energy", (0.99, 0.95, 0.9, 0.8, 0.6), {"bits": 6}),)

    def __post_init__(self) -> None:
        take_one(self, _WAYS, default=("energy", _DEFAULT_ENERGY))
        if self.rank is not None:
            check_integer(self.rank, where="rank", least=1)
        for name, most in (("energy", 1.0), ("tolerance", 1.0), ("margin", None)):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), where=name, above=0, most=most)
        settle_bits(self, self.grid, self.bits)

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        tolerance = self.tolerance if self.margin is None else margin_tolerance(network, samples, margin=self.margin)
        grid = make_grid(self.grid, bits=self.bits)
        plain = code_network(network, grid).tensors
        coded, factors = dict(plain), dict[str, Factors]()
        weights = {name: tensor for name, tensor in network.module.named_parameters() if tensor.dim() >= 2}
        for done, (name, tensor) in enumerate(weights.items(), start=1):
            values = as_array(tensor)
            if values.size:
                found = decompose(values.reshape(matrix_sides(values.shape)))
                kept = found.truncate(self._rank(found, tolerance))
                coded[name], pair = self._factor(kept, coded[name], grid)
                factors |= {} if pair is None else {name: pair}
            if progress is not None:
                progress(done, len(weights))
        replaced = {
            name: factors[weight].replacement
            for name, part in own_layers(network).items()
            if can_factor(part) and (weight := f"{name}.weight" if name else "weight") in factors
        }
        return replace_layers(network, coded, replaced, plain)

    def _factor(self, found: SingularValues, plain: CodedTensor, grid: Grid) -> tuple[CodedTensor, Factors | None]:
        """The tensor of a layer that stays one, and the factors, where there are any."""
        if self.grid != "uniform":
            return plain, round_factors(found, plain.shape, grid) if len(found.values) else None
        assert self.bits is not None
        # Component by component in shifts of one step: fewer bits than a scale for each at equal error.
        shorter = min(plain, round_low_rank(found, plain.shape, bits=self.bits), key=code_length)
        return shorter, split_factors(shorter) if isinstance(shorter.form, LowRank) else None

    def _rank(self, found: SingularValues, tolerance: float | None) -> int:
        if tolerance is not None:
            return found.rank_for_tolerance(tolerance)
        if self.energy is not None:
            return found.rank_for_energy(self.energy)
        if self.rank is not None:
            return self.rank
        raise AssertionError("one of the options says how much is kept")


def margin_tolerance(network: Network, samples: Samples | None, *, margin: float) -> float:
    """The tolerance of Theorem 2.2 for a chain of fully connected layers, from the largest input among the samples."""
    if samples is None:
        raise PactError("it needs to know how large inputs are", where="margin", hint="give samples=data.train")
    # Each call of a layer counts: a Sequential lists a layer as often as it runs.
    chain = list(network.module) if type(network.module) is nn.Sequential else [network.module]
    for part in chain:
        if type(part) not in _CHAIN:
            raise PactError(
                f"Theorem 2.2 is about a chain of {', '.join(kind.__name__ for kind in _CHAIN)}; "
                f"this network has {type(part).__name__}",
                where="margin",
                hint="give rank, energy or tolerance",
            )
    layers = [part for part in chain if isinstance(part, nn.Linear)]
    norms = [float(np.linalg.norm(layer.weight.detach().double().numpy(), 2)) for layer in layers]
    biases = [0.0 if layer.bias is None else float(layer.bias.detach().double().norm()) for layer in layers]
    input_norm = max(
        float(np.linalg.norm(inputs.reshape(len(inputs), -1).astype(np.float64), axis=1).max())
        for inputs, _ in samples.batches(_BATCH)
    )
    return theorem22_tolerance(margin=margin, input_norm=input_norm, norms=norms, biases=biases)
