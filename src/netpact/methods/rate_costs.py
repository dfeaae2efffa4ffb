"""What a symbol costs in the message: the decisions the real coder makes for it, priced by how often each was met."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from netpact.coding import Bits, Contexts, ShortFloat
from netpact.coding.coder import Context, Model
from netpact.coding.forms import CodedTensor, Form, SparseMatrix, Symbols, Ternary, Uniform, matrix_sides
from netpact.coding.forms.sparse import DROPPED
from netpact.coding.matrices import count_digits, place_contexts

Array = NDArray[np.float64]

_UNIT = ShortFloat(exponent=0, mantissa=0)
_KT_START = math.log(math.pi)


@dataclass(frozen=True, eq=False)
class Costs:
    """Bits of the symbols of an alphabet, and of a whole tensor of them.

    ones, zeros  a row for each symbol, a column for each kind of decision: which way the symbol decides it
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
    return symbol_costs(form, np.arange(-levels, levels + 1))


def symbol_costs(form: Form, alphabet: Symbols) -> Costs:
    """The costs of a tensor in this form with these symbols."""
    paths = [_decisions(form, symbol) for symbol in alphabet.tolist()]
    kinds = {kind: column for column, kind in enumerate(dict.fromkeys(kind for path in paths for kind, _ in path))}
    ones, zeros = np.zeros((len(paths), len(kinds))), np.zeros((len(paths), len(kinds)))
    for row, path in enumerate(paths):
        for kind, decided in path:
            (ones if decided else zeros)[row, kinds[kind]] = 1.0
    return Costs(ones, zeros)


@dataclass(frozen=True, eq=False)
class Prices:
    """What one more of each symbol would cost beside those that are there.

    symbol_bits           of each symbol of the alphabet, without its place where that is priced apart
    kept_bits, left_bits  of each entry: of keeping it, and of leaving it out; where all places are alike, none
    """

    alphabet: Symbols
    symbol_bits: Array
    kept_bits: Array | None = None
    left_bits: Array | None = None

    def bits(self, symbols: Symbols, entries: Symbols) -> Array:
        """Of the symbols at these places in the alphabet, for these entries."""
        own = self.symbol_bits[symbols]
        if self.kept_bits is None or self.left_bits is None:
            return own
        kept = self.alphabet[symbols] != DROPPED
        return np.asarray(own + np.where(kept, self.kept_bits[entries], self.left_bits[entries]))


@dataclass(frozen=True, eq=False)
class Pricing:
    """How prices follow from tensors of one form, whose symbols are those of the alphabet."""

    form: Form
    alphabet: Symbols
    costs: Costs

    @classmethod
    def of(cls, form: Form, symbols: Symbols) -> Pricing:
        """What decisions a symbol makes is found out one by one, once."""
        alphabet = np.unique(symbols)
        inner = form.inner if isinstance(form, SparseMatrix) else form
        return cls(form, alphabet, symbol_costs(inner, alphabet[_is_coded(form, alphabet)]))

    def prices(self, tensors: Sequence[CodedTensor]) -> Prices:
        """Of one more of each, after tensors which learn from each other in the message."""
        places = np.searchsorted(self.alphabet, np.concatenate([tensor.symbols for tensor in tensors]))
        counts = np.bincount(places, minlength=len(self.alphabet)).astype(np.float64)
        coded = _is_coded(self.form, self.alphabet)
        bits = np.zeros(len(self.alphabet))
        bits[coded] = self.costs.symbol_bits(counts[coded])
        if not isinstance(self.form, SparseMatrix):
            return Prices(self.alphabet, bits)
        masks = [(tensor.symbols != DROPPED).reshape(matrix_sides(tensor.shape)) for tensor in tensors]
        kept_bits, left_bits = (np.concatenate(parts) for parts in zip(*map(_place_bits, masks), strict=True))
        return Prices(self.alphabet, bits, kept_bits, left_bits)


def _is_coded(form: Form, alphabet: Symbols) -> Bits:
    """Which symbols make decisions of their own beside those about places."""
    return alphabet != DROPPED if isinstance(form, SparseMatrix) else np.ones(len(alphabet), dtype=np.bool_)


def _place_bits(marked: Bits) -> tuple[Array, Array]:
    """For each place of a matrix: what a mark costs there, and what none does, as the rows and columns are now."""
    contexts = place_contexts(*(count_digits(marked.sum(axis=axis)) for axis in (1, 0))).ravel()
    met, ones = np.bincount(contexts), np.bincount(contexts, weights=marked.ravel())
    mark, none = np.log2((met + 1) / (ones + 0.5)), np.log2((met + 1) / (met - ones + 0.5))
    mark[0], none[0] = np.inf, 0.0  # in a row or column without marks nothing is said
    return mark[contexts], none[contexts]


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
