"""HeavyTail: large weights are kept, and Gaussian noise stands for the others (Shin 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from netpact.algebra.stream import MAX_SEED
from netpact.coding.format import Compressed
from netpact.core.checks import check_choice, check_flag, check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.methods.approximations import as_array, code_network
from netpact.methods.choices import settle_bits, take_one
from netpact.methods.fitting import Array
from netpact.methods.grids import make_grid
from netpact.methods.layer_budgets import MEASURED_BUDGETS, LayerAccuracy, samples_to_measure
from netpact.methods.method import METHODS
from netpact.methods.projection_amounts import CUSHIONS
from netpact.methods.size_knobs import SizeKnob
from netpact.methods.tail_split import TailSplit, largest_tau, split_by_recipe, split_by_theory
from netpact.network import Network
from netpact.network.naming import weight_name

if TYPE_CHECKING:
    from netpact.datasets import Samples

TABLE, THEORY = "table1", "theory"
FORMS = (TABLE, THEORY)
LAST, ALL = "last", "all"
_WAYS = ("stds", "tau", "eps", "gamma")
_DELTA = 0.02  # Lemma 2.2 holds but for a probability of delta/2
_CONSTANT = 3.0  # of equation (37): e, rounded up


@METHODS.add
@dataclass(frozen=True)
class HeavyTail:
    """Weights above a threshold are kept; Gaussian noise that the decoder regenerates stands for the others.

    form    "table1": the others become a Gaussian with the tensor's mean and std, as in Table 1 of Shin 2021;
            "theory": W(t) = sqrt(t) G + B, noise on all entries, the large ones added to it

    The threshold is given in one of four ways, by default stds=1:

    stds    as a multiple of the tensor's standard deviation
    tau     as a number
    eps     for a relative accuracy of the outputs, by the budgets of Theorem 2, measured on the samples
    gamma   the same for a margin: eps = gamma / (sqrt(2) max|f|), at most 1
            Both for form="theory". The paper's statement about them does not hold (docs/papers/shin.md).

    layers  "last": the final dense layer, as in Table 1; "all": every weight tensor. Others are rounded to the grid
    signed  "table1" as printed: entries are compared with their sign, so all negative ones are replaced
    t       "theory": the variance of the noise; default: the mean square of the entries that it stands for. 0: none
    grid    "uniform", "codebook" or "ternary": how kept weights are written; see Quantize
    bits    for each before entropy coding: uniform 2 to 16 (default 8), codebook 1 to 8, ternary 2
    seed    of the noise; it is coded in the message
    """

    form: str = TABLE
    stds: float | None = None
    tau: float | None = None
    eps: float | None = None
    gamma: float | None = None
    layers: str = LAST
    signed: bool = False
    t: float | None = None
    grid: str = "uniform"
    bits: int | None = None
    seed: int = 0
    name: ClassVar[str] = "heavy-tail"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (
        SizeKnob("stds", (0.5, 1.0, 2.0), {"bits": 6}),
        SizeKnob("stds", (0.5, 1.0, 2.0), {"bits": 6, "layers": ALL}),
    )

    def __post_init__(self) -> None:
        check_choice(self.form, FORMS, where="form")
        check_choice(self.layers, (LAST, ALL), where="layers")
        take_one(self, _WAYS, default=("stds", 1.0))
        for name in ("stds", "tau", "t"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), where=name, least=0)
        for name, most in (("eps", 1.0), ("gamma", None)):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), where=name, above=0, most=most)
                self._needs(THEORY, name)
        if check_flag(self.signed, where="signed"):
            self._needs(TABLE, "signed")
        if self.t is not None:
            self._needs(THEORY, "t")
            if self.stds is None and self.tau is None:
                raise PactError("follows from the budget that eps or gamma give", where="t", hint="leave it out")
        settle_bits(self, self.grid, self.bits)
        check_integer(self.seed, where="seed", least=0, most=MAX_SEED)

    def _needs(self, form: str, option: str) -> None:
        if self.form != form:
            raise PactError(f'belongs to form="{form}", the form is "{self.form}"', where=option)

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        grid = make_grid(self.grid, bits=self.bits)
        return code_network(network, grid, self.split(network, samples, progress))

    def split(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> dict[str, TailSplit]:
        """What becomes of each weight tensor that is not merely rounded, by name."""
        tensors = {name: one for name, one in network.module.named_parameters() if one.dim() >= 2}
        names = tuple(tensors) if self.layers == ALL else (find_last_dense(network),)
        budgets = self._budgets(network, samples, names, progress)
        found = {}
        for layer, (name, tensor) in enumerate(tensors.items()):
            if name in names and tensor.numel():
                split = self._split(as_array(tensor), budgets.get(name))
                found[name] = replace(split, seed=self.seed, layer=layer)
        return found

    def _split(self, values: Array, budget: LayerAccuracy | None) -> TailSplit:
        if budget is not None:
            return split_by_theory(values, largest_tau(values, theorem_budget(values, budget)))
        threshold = self.tau if self.stds is None else self.stds * float(values.std())
        assert threshold is not None, "one of the options says where it is"
        if self.form == THEORY:
            return split_by_theory(values, threshold, t=self.t)
        return split_by_recipe(values, threshold, signed=self.signed)

    def _budgets(
        self, network: Network, samples: Samples | None, names: tuple[str, ...], progress: Progress | None
    ) -> dict[str, LayerAccuracy]:
        if self.eps is None and self.gamma is None:
            return {}
        given = samples_to_measure(network, samples, of_outputs=True, instead="give stds or tau")
        measured = MEASURED_BUDGETS[CUSHIONS].measure(network, given, names, progress)
        if self.eps is not None:
            found = measured.accuracies_for_output(self.eps, delta=_DELTA)
        else:
            assert self.gamma is not None
            found = measured.accuracies_for_gamma(self.gamma, delta=_DELTA)
        return dict(zip(names, found, strict=True))


def theorem_budget(values: Array, accuracy: LayerAccuracy) -> float:
    """What tau^2 + t may be for an accuracy eps |W|_F of a layer, by the algebra of Proposition 1.1:

        eps^2 |W|_F^2 / (2 log(3 / eta))

    Printed are 1/log(3/eta) and 2/log(3/eta) in its place; |W|_F >= 1 is assumed there, and left out.
    """
    squares = float(np.square(values).sum())
    return math.exp(2 * accuracy.log_eps) * squares / (2 * math.log(_CONSTANT / accuracy.eta))


def find_last_dense(network: Network) -> str:
    """The weight of the linear layer that runs last."""
    dense = [layer.name for layer in network.layers if layer.kind == "linear"]
    if not dense:
        raise PactError(
            "the network has no dense layer",
            where=network.name,
            hint='take layers="all", which splits convolutions too',
        )
    return weight_name(dense[-1])
