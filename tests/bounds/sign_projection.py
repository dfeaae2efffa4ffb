"""Algorithm 1 of Arora et al. 2018 for small matrices, exactly in distribution for any number of sign matrices."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def project(matrix: Matrix, *, count: int, generator: np.random.Generator) -> Matrix:
    """A^ = (1/k) sum_i <A, M_i> M_i. Only how often each of the 2^D patterns of signs is drawn matters: multinomial."""
    patterns = np.array(list(itertools.product((-1.0, 1.0), repeat=matrix.size)))
    drawn = generator.multinomial(count, np.full(len(patterns), 1 / len(patterns)))
    products = patterns @ matrix.ravel()
    return ((drawn * products) @ patterns / count).reshape(matrix.shape)


def run_chain(matrices: Sequence[Matrix], inputs: Matrix, biases: Sequence[Matrix] = ()) -> list[Matrix]:
    """The outputs of every layer before its ReLU, one row for each sample."""
    found, h = [], inputs
    for place, matrix in enumerate(matrices):
        x = h @ matrix.T + (biases[place] if biases else 0)
        found.append(x)
        h = np.maximum(x, 0)
    return found
