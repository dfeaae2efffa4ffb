"""Places of a matrix coded by rows and columns: against a slow writing of the rule, and what they cost."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netpact.coding import Contexts, Decoder, Encoder, Meter, code_matrix_positions, code_positions
from netpact.coding.coder import Bits, Model

RANDOM = np.random.default_rng(0)


def product_matrix(rows: int, columns: int, share: float) -> Bits:
    """Marks as likely as the row's number times the column's, which lie up to a factor of some hundred apart."""
    wanted = np.exp(RANDOM.normal(size=rows))[:, None] * np.exp(RANDOM.normal(size=columns))
    return np.asarray(RANDOM.random((rows, columns)) < np.minimum(wanted / wanted.mean() * share, 0.9))


def half_empty(rows: int, columns: int) -> Bits:
    mask = RANDOM.random((rows, columns)) < 0.2
    mask[::2], mask[:, 1::3] = False, False
    return np.asarray(mask)


MATRICES: dict[str, Bits] = {
    "by rows and columns": product_matrix(60, 90, 0.05),
    "half empty": half_empty(31, 17),
    "empty": np.zeros((5, 7), dtype=np.bool_),
    "full": np.ones((9, 4), dtype=np.bool_),
    "a row": RANDOM.random((1, 40)) < 0.3,
    "a column": RANDOM.random((40, 1)) < 0.3,
    "one place": np.ones((1, 1), dtype=np.bool_),
    "no rows": np.zeros((0, 4), dtype=np.bool_),
    "no columns": np.zeros((4, 0), dtype=np.bool_),
}


class Listener:
    """A coder that writes down which decisions were made under which model."""

    def __init__(self) -> None:
        self.told: list[tuple[int, list[bool]]] = []

    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        assert values is not None
        self.told.append((id(model), values.tolist()))
        return values

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        pass


@pytest.mark.parametrize("name", MATRICES)
def test_marks_come_back(name: str) -> None:
    mask, encoder = MATRICES[name], Encoder()
    code_matrix_positions(encoder, np.flatnonzero(mask), mask.shape, Contexts())
    found = code_matrix_positions(Decoder(encoder.to_bytes()), None, mask.shape, Contexts())
    assert found.tolist() == np.flatnonzero(mask).tolist()


@pytest.mark.parametrize("name", MATRICES)
def test_planes_are_those_of_the_rule(name: str) -> None:
    """Entry by entry: the binary digits of both counts, summed; where one count is 0 nothing is said."""
    mask, listener, contexts = MATRICES[name], Listener(), Contexts()
    code_matrix_positions(listener, np.flatnonzero(mask), mask.shape, contexts)
    expected: dict[int, list[bool]] = {}
    for (row, column), marked in np.ndenumerate(mask):
        digits = [int(line.sum()).bit_length() for line in (mask[row], mask[:, column])]
        if all(digits):
            expected.setdefault(sum(digits), []).append(bool(marked))
    names = {id(context): key for key, context in contexts.items()}
    planes = [(names[model], told) for model, told in listener.told if names[model][0] == "marked"]  # type: ignore[index]
    assert planes == [(("marked", total), expected[total]) for total in sorted(expected)]


def bits_of(code: object, mask: Bits, sides: object) -> float:
    meter = Meter()
    code(meter, np.flatnonzero(mask), sides, Contexts())  # type: ignore[operator]
    return meter.total


def test_rows_and_columns_of_different_filling_cost_less() -> None:
    mask = product_matrix(200, 300, 0.05)
    places, marks = mask.size, int(mask.sum())
    ideal = (math.lgamma(places + 1) - math.lgamma(marks + 1) - math.lgamma(places - marks + 1)) / math.log(2)
    assert bits_of(code_positions, mask, mask.size) > ideal
    assert bits_of(code_matrix_positions, mask, mask.shape) < 0.85 * ideal


def test_without_a_pattern_the_counts_are_what_it_costs() -> None:
    mask = RANDOM.random((200, 300)) < 0.05
    plain, by_lines = bits_of(code_positions, mask, mask.size), bits_of(code_matrix_positions, mask, mask.shape)
    assert plain < by_lines < plain + 2 * sum(mask.shape)
