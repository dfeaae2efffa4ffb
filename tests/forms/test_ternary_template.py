"""Signs in chosen contexts: the decisions as docs/format.md describes them, and what a message may ask for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from netpact.coding import Bits, Contexts, Decoder, Encoder
from netpact.coding.coder import Model
from netpact.coding.forms import MAX_MAPS, TernaryTemplate
from netpact.core.errors import PactError

GRID = (3, 4, 5, 6)


class Notes:
    """A coder that notes every decision and the place of its context among those met."""

    def __init__(self) -> None:
        self.decisions: list[tuple[int, bool]] = []
        self.work = 0
        self._met: list[Model] = []

    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        assert values is not None
        assert len(values) == count
        if not any(model is one for one in self._met):
            self._met.append(model)
        number = next(place for place, one in enumerate(self._met) if one is model)
        self.decisions += [(number, bool(value)) for value in values]
        return values

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        self.work += work


def describe(form: TernaryTemplate, signs: NDArray[np.int64]) -> Iterator[tuple[object, bool]]:
    """The page's words, one entry after the other."""
    outputs, inputs, rows, columns = signs.shape

    def at(image: tuple[int, int], row: int, column: int) -> int:
        return int(signs[image][row, column]) if row >= 0 and column >= 0 else 0

    for row, column in np.ndindex(rows, columns):
        images = [(output, map_) for output in range(outputs) for map_ in range(inputs)]
        told: list[tuple[int, bool]] = []
        for image in images:
            marked = (at(image, row, column - 1) != 0) + (at(image, row - 1, column) != 0)
            edge = form.edge and (row in (0, rows - 1) or column in (0, columns - 1))
            corner = form.corner and at(image, row - 1, column - 1) != 0
            context = marked + 3 * (2 * edge + corner) + 12 * (image[1] if form.maps else 0)
            told.append((context, at(image, row, column) != 0))
        yield from (one for context in sorted({one[0] for one in told}) for one in told if one[0] == context)
        for name in ("against", "negative"):
            for image in images:
                trend = int(np.sign(at(image, row, column - 1) + at(image, row - 1, column)))
                value = at(image, row, column)
                if value and (trend != 0) == (name == "against"):
                    yield name, value != (trend or 1)


@pytest.mark.parametrize("form", TernaryTemplate.every(), ids=str)
def test_the_decisions_are_those_of_the_page(form: TernaryTemplate) -> None:
    signs = np.random.default_rng(0).choice([-1, 0, 0, 1], GRID)
    notes = Notes()
    form.code_symbols(notes, signs.ravel(), GRID, Contexts())
    expected = list(describe(form, signs))
    names = list(dict.fromkeys(name for name, _ in expected))
    assert notes.decisions == [(names.index(name), value) for name, value in expected]


def test_the_weights_are_the_signs() -> None:
    signs = np.array([-1, 0, 1, 1])
    np.testing.assert_array_equal(TernaryTemplate().weights(signs, (2, 2)), [[-1, 0], [1, 1]])


def test_contexts_for_each_input_have_an_end() -> None:
    """Otherwise a message of a few bytes asks for a context, and a walk over all entries, for each of a million."""
    form, many = TernaryTemplate(maps=True), MAX_MAPS + 1
    with pytest.raises(PactError, match="257 inputs, at most 256 have contexts of their own"):
        form.code_symbols(Decoder(b"\1"), None, (2, many), Contexts())
    form.code_symbols(Encoder(), np.zeros(2 * MAX_MAPS, dtype=np.int64), (2, MAX_MAPS), Contexts())
    TernaryTemplate(maps=False).code_symbols(Encoder(), np.zeros(2 * many, dtype=np.int64), (2, many), Contexts())
    with pytest.raises(PactError, match="more than 4096 places"):
        form.code_symbols(Decoder(b"\1"), None, (1, 1, 100, 100), Contexts())


def test_each_context_of_a_place_is_charged_for_its_walk_over_the_images() -> None:
    notes = Notes()
    TernaryTemplate(maps=True).code_symbols(notes, np.zeros(300 * 200, dtype=np.int64), (300, 200), Contexts())
    assert notes.work == 300 * 200 * 200
