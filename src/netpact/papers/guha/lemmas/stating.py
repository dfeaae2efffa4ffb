"""Lemmas 4.2 to 4.4 and C.1 to C.4 as arithmetic, and the form of the perturbation bound that holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.bounds.logs import log, log_product, log_sum
from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.json import finite
from netpact.papers.guha.moments import normal_moments


@dataclass(frozen=True, kw_only=True)
class LemmaLayer:
    """One matrix A of d_1 rows and d_2 columns; A^ pruned, A~ rounded after that.

    variance   Psi
    norm       |A|_2, from above
    change     |A^ - A|_2, from above
    rounding   |A~ - A^|_2, from above
    total      |A~ - A|_2, from above
    nonzeros   J of A^
    lipschitz  of what lies between this layer and the next one
    shift      how far its bias moved, from above
    """

    name: str
    rows: int
    columns: int
    variance: float
    norm: float
    change: float
    rounding: float
    total: float
    nonzeros: int
    lipschitz: float
    shift: float = 0.0

    def to_json(self) -> dict[str, object]:
        return {name: finite(value) if isinstance(value, float) else value for name, value in vars(self).items()}


def norm_of_pruned(*, rows: int, columns: int, variance: float, scale: float, constant: float = 1.0) -> float:
    """Gamma of Lemma 4.2: with probability 1 - 1/eps, |A^ - A|_2 <= eps Gamma.

        Gamma = C (sqrt(E[Delta^2]) (sqrt(d_1) + sqrt(d_2)) + (d_1 d_2 E[Delta^4])^(1/4))

    constant  the C of Latala 2005, Theorem 2, which has no known value
    """
    check_integer(rows, where="rows", least=1)
    check_integer(columns, where="columns", least=1)
    check_number(constant, where="constant", above=0)
    found = normal_moments(scale=scale, variance=variance)
    spread = math.sqrt(found.second) * (math.sqrt(rows) + math.sqrt(columns))
    return constant * (spread + (rows * columns * found.fourth) ** 0.25)


def rounding_norm(*, step: float, nonzeros: int) -> float:
    """How far rounding to multiples of rho takes a matrix of J nonzero entries: |A~ - A^|_2 <= (rho / 2) sqrt(J).

    Each entry moves by rho / 2 at most, and the Frobenius norm is no smaller. Lemma 4.4 has rho J.
    """
    return step / 2 * math.sqrt(nonzeros)


def input_factor(*, rows: int, columns: int, samples: int, failure: float, a: float = 1.0, b: float = 0.5) -> float:
    """kappa of Lemma C.1: sqrt(d_2) t where d_2 <= d_1, and 1 otherwise; S a exp(-b t^2 d_1) = failure gives t.

    a, b  of Condition C.1, P[<x, v> >= t] <= a exp(-b t^2 d_1); 1 and 1/2 for the uniform distribution on a sphere
    """
    check_number(failure, where="failure", above=0, below=1)
    check_number(a, where="a", above=0)
    check_number(b, where="b", above=0)
    check_integer(samples, where="samples", least=1)
    if columns > rows:
        return 1.0
    tail = max(math.log(samples * a / failure), 0.0)
    return math.sqrt(columns * tail / (b * rows))


def log_output_error(
    *,
    norms: Sequence[float],
    changes: Sequence[float],
    lipschitz: Sequence[float],
    input_size: float,
    factors: Sequence[float] = (),
) -> float:
    """ln of what Lemmas 4.3, 4.4, B.2 and C.2 to C.4 say of |x^L - x~^L|:

        e d_1^0 (prod_l L_l kappa_l |A^l|_2) sum_l change_l / |A^l|_2

    They ask for change_l <= |A^l|_2 / L, for no biases, and for |x| <= d_1^0.

    input_size  d_1^0, the dimension of the input, as printed; the proof has |x|
    factors     kappa_l; 1 where none are given
    """
    if len({len(norms), len(changes), len(lipschitz), len(factors) or len(norms)}) != 1 or not norms:
        raise PactError(f"must be one number for each of {len(norms)} layers", where="changes, lipschitz, factors")
    ratios = [log(change) - log(norm) if change else -math.inf for change, norm in zip(changes, norms, strict=True)]
    product = log_product(norms) + log_product(lipschitz) + log_product(factors)
    return 1.0 + log(input_size) + product + log_sum(ratios)


def log_valid_error(layers: Sequence[LemmaLayer], inputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln of a bound on |x^L - x~^L| for each sample, with biases or without, and without a premise:

        sum_l L_l (|U^l|_2 |h^(l-1)(x)| + |b^l - b~^l|) prod_{j > l} L_j (|A^j|_2 + |U^j|_2),   U^l = A~^l - A^l

    Pruning leaves the biases as they are; a file may round them.

    inputs  |h^(l-1)(x)|, what layer l receives: a row for each layer, a column for each sample
    """
    if len(layers) != len(inputs) or not len(layers):
        raise PactError(f"must have a row for each of {len(layers)} layers, got {len(inputs)}", where="inputs")
    ahead, found = 0.0, np.full(inputs.shape[1], -math.inf)
    with np.errstate(divide="ignore"):
        for layer, sizes in zip(reversed(layers), inputs[::-1], strict=True):
            term = np.log(layer.total * sizes + layer.shift) + log(layer.lipschitz) + ahead
            found = np.logaddexp(found, term)
            ahead += log(layer.lipschitz) + log(layer.norm + layer.total)
    return found
