"""What a symbol costs in the message: the decisions the real coder makes for it, priced by how often each was met."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from netpact.coding import Bits, Contexts, ShortFloat
from netpact.coding.coder import Context, Model
from netpact.coding.forms import Form, Ternary, Uniform

Array = NDArray[np.float64]

_UNIT = ShortFloat(exponent=0, mantissa=0)
_KT_START = math.log(math.pi)


@dataclass(frozen=True, eq=False)
class Costs:
    """Bits of the symbols -levels..levels, and of a whole tensor of them.

    ones, zeros  one row for each symbol, one column for each kind of decision: which way the symbol decides it
    """

    ones: Array
    zeros: Array

    @property
    def levels(self) -> int:
        return len(self.ones) // 2

    def symbol_bits(self, counts: Array) -> Array:
        """What one more of each symbol costs beside these counts, by the Krichevsky-Trofimov estimate of the coder.

        bits = sum over its decisions of -log2((times decided so + 1/2) / (times met + 1))
        """
        ones, zeros = counts @ self.ones, counts @ self.zeros
        met = np.log2(ones + zeros + 1)
        return np.asarray(self.ones @ (met - np.log2(ones + 0.5)) + self.zeros @ (met - np.log2(zeros + 0.5)))

    def total_bits(self, counts: Array) -> float:
        """The code length of a tensor with these counts of symbols, in whatever order they stand.

        bits = sum over kinds of decision of log2(n! pi / (Gamma(ones + 1/2) Gamma(zeros + 1/2))), n = ones + zeros
        """
        ones, zeros = counts @ self.ones, counts @ self.zeros
        nats = gammaln(ones + zeros + 1) + _KT_START - gammaln(ones + 0.5) - gammaln(zeros + 0.5)
        return float(nats.sum()) / math.log(2)


def decision_costs(levels: int) -> Costs:
    """The costs of a tensor whose symbols lie within +-levels, as the form that would hold it describes them."""
    form: Form = Ternary(_UNIT) if levels == 1 else Uniform(_UNIT)
    paths = [_decisions(form, symbol) for symbol in range(-levels, levels + 1)]
    kinds = {kind: column for column, kind in enumerate(dict.fromkeys(kind for path in paths for kind, _ in path))}
    ones, zeros = np.zeros((len(paths), len(kinds))), np.zeros((len(paths), len(kinds)))
    for row, path in enumerate(paths):
        for kind, decided in path:
            (ones if decided else zeros)[row, kinds[kind]] = 1.0
    return Costs(ones, zeros)


class _Witness:
    """A coder that writes nothing: it notes which decisions a symbol makes, and in which context."""

    def __init__(self) -> None:
        self.seen: list[tuple[Model, bool]] = []

    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        if values is None:
            raise ValueError("a witness needs the values that are coded")
        self.seen += [(model, bool(value)) for value in values]
        return values

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        pass


def _decisions(form: Form, symbol: int) -> list[tuple[Hashable, bool]]:
    """Asked of the form itself, so that a change of the code is a change of its costs."""
    witness, contexts = _Witness(), Contexts()
    form.code_symbols(witness, np.array([symbol], dtype=np.int64), (1,), contexts)
    names: dict[int, Hashable] = {id(context): name for name, context in contexts.items()}
    return [(names[id(model)], decided) for model, decided in witness.seen if isinstance(model, Context)]
