"""Groups of turns and mirrors: their laws by trying everything, and what they tie entry by entry."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from algebra.orbits import ELEMENTS, Entry, move_channel, move_entry, product, slow_owners, ties
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from netpact.algebra.symmetry import GROUPS, Element, Symmetry
from netpact.core.errors import PactError

BOARD = np.arange(12).reshape(3, 4)
SQUARE = np.arange(16).reshape(4, 4)
PERMUTED = [(True, True), (True, False), (False, True)]
KERNELS: list[Entry] = [(8, 16, 3, 3), (16, 8, 2, 2), (8, 8, 1, 1), (8, 8, 4, 4)]
each_group = pytest.mark.parametrize("group", GROUPS)
each_permuted = pytest.mark.parametrize(("inputs", "outputs"), PERMUTED)


def drawn(*shape: int) -> NDArray[np.int64]:
    return np.random.default_rng(0).integers(-3, 4, shape)


def symmetric(symmetry: Symmetry, grid: Entry) -> NDArray[np.int64]:
    """Weights of which all free entries differ."""
    free = np.random.default_rng(1).permutation(np.prod(symmetry.free_grid(grid)))
    return np.asarray(free[symmetry.owners(grid)])


class TestGroups:
    def test_orders_and_numbers(self) -> None:
        """A number says which channel of a block is meant, in every message: it never changes."""
        assert {name: [(e.turns, int(e.mirrored)) for e in group] for name, group in GROUPS.items()} == ELEMENTS
        assert [Symmetry(name, True, True).order for name in GROUPS] == [2, 4, 8]

    def test_a_turn_goes_against_the_clock_and_a_mirror_changes_left_and_right(self) -> None:
        assert Element(1, False).move(np.array([[1, 2], [3, 4]])).tolist() == [[2, 4], [1, 3]]
        assert Element(0, True).move(np.array([[1, 2], [3, 4]])).tolist() == [[2, 1], [4, 3]]
        assert Element(1, True).move(np.array([[1, 2], [3, 4]])).tolist() == [[4, 2], [3, 1]]

    @each_group
    def test_one_after_the_other_is_an_element_that_moves_images_alike(self, group: str) -> None:
        for second, first in itertools.product(GROUPS[group], repeat=2):
            both = second.after(first)
            assert both in GROUPS[group]
            for image in (BOARD, SQUARE, drawn(2, 3, 5, 5)):
                np.testing.assert_array_equal(both.move(image), second.move(first.move(image)))

    @each_group
    def test_laws_of_a_group(self, group: str) -> None:
        elements = GROUPS[group]
        one = elements[0]
        assert one == Element(0, False)
        assert len(set(elements)) == len({element.move(SQUARE).tobytes() for element in elements}) == len(elements)
        for element in elements:
            assert one.after(element) == element.after(one) == element
            assert element.inverse() in elements
            assert element.inverse().after(element) == element.after(element.inverse()) == one
            np.testing.assert_array_equal(element.inverse().move(element.move(BOARD)), BOARD)
        for a, b, c in itertools.product(elements, repeat=3):
            assert a.after(b).after(c) == a.after(b.after(c))

    @each_group
    def test_the_table_of_products_is_the_one_found_by_trying(self, group: str) -> None:
        elements = GROUPS[group]
        for second, first in itertools.product(range(len(elements)), repeat=2):
            assert elements.index(elements[second].after(elements[first])) == product(group, second, first)


class TestTiedEntries:
    @each_group
    @each_permuted
    @pytest.mark.parametrize("grid", KERNELS, ids=str)
    def test_weights_commute(self, group: str, inputs: bool, outputs: bool, grid: Entry) -> None:
        """W[g o, g i, g p] = W[o, i, p]."""
        weights = symmetric(Symmetry(group, inputs, outputs), grid)
        for element in range(len(ELEMENTS[group])):
            for entry in np.ndindex(*grid):
                moved = move_entry(group, element, entry, grid, inputs=inputs, outputs=outputs)
                assert weights[moved] == weights[entry]

    @each_group
    @each_permuted
    @pytest.mark.parametrize("grid", KERNELS, ids=str)
    def test_each_free_entry_owns_as_many_as_the_group_has_elements(
        self, group: str, inputs: bool, outputs: bool, grid: Entry
    ) -> None:
        """No fewer, or entries would be tied that need not be; no more, or a symmetry would be missing."""
        symmetry = Symmetry(group, inputs, outputs)
        owners = symmetry.owners(grid)
        assert owners.shape == grid
        assert owners.dtype == np.int64
        numbers, counts = np.unique(owners, return_counts=True)
        assert numbers.tolist() == list(range(np.prod(symmetry.free_grid(grid))))
        assert set(counts.tolist()) == {symmetry.order}

    @each_group
    @each_permuted
    @pytest.mark.parametrize("grid", [*KERNELS, (8, 8, 3, 5), (6, 4, 3, 3), (4, 12, 5, 5)], ids=str)
    def test_owners_are_those_of_the_orbits(self, group: str, inputs: bool, outputs: bool, grid: Entry) -> None:
        """The numbers, too: they are the order of the symbols in a message."""
        expected = slow_owners(group, grid, inputs=inputs, outputs=outputs)
        np.testing.assert_array_equal(Symmetry(group, inputs, outputs).owners(grid), expected)

    @each_group
    @each_permuted
    def test_free_entries_are_those_of_the_first_channel_of_each_block(
        self, group: str, inputs: bool, outputs: bool
    ) -> None:
        symmetry, grid = Symmetry(group, inputs, outputs), (16, 24, 3, 3)
        owners = symmetry.owners(grid)
        first = owners[:: symmetry.order] if outputs else owners[:, :: symmetry.order]
        assert first.shape == symmetry.free_grid(grid)
        assert first.ravel().tolist() == list(range(first.size))

    @each_permuted
    def test_channels_of_the_largest_group_are_channels_of_the_mirror(self, inputs: bool, outputs: bool) -> None:
        grid = (16, 16, 3, 3)
        weights = symmetric(Symmetry("p4m", inputs, outputs), grid)
        for entry in np.ndindex(*grid):
            assert weights[move_entry("mirror", 1, entry, grid, inputs=inputs, outputs=outputs)] == weights[entry]

    @pytest.mark.parametrize(
        ("group", "grid"),
        [
            ("mirror", (3, 4, 3, 3)),
            ("mirror", (4, 3, 3, 3)),
            ("p4", (6, 8, 3, 3)),
            ("p4", (8, 8, 3, 4)),
            ("p4m", (8, 4, 3, 3)),
            ("p4m", (8, 8, 1, 2)),
        ],
    )
    def test_shapes_that_do_not_fit_tie_nothing(self, group: str, grid: Entry) -> None:
        symmetry = Symmetry(group, inputs=True, outputs=True)
        assert not ties(group, grid, inputs=True, outputs=True)
        assert not symmetry.fits(grid)
        assert symmetry.free_grid(grid) == grid
        np.testing.assert_array_equal(symmetry.owners(grid), np.arange(np.prod(grid)).reshape(grid))

    def test_only_channels_that_are_permuted_must_be_whole_blocks(self) -> None:
        assert Symmetry("p4m", inputs=False, outputs=True).free_grid((16, 3, 5, 5)) == (2, 3, 5, 5)
        assert Symmetry("p4m", inputs=True, outputs=False).free_grid((10, 16, 5, 5)) == (10, 2, 5, 5)
        assert Symmetry("mirror", inputs=True, outputs=True).free_grid((4, 6, 3, 5)) == (2, 6, 3, 5)

    @each_permuted
    @pytest.mark.parametrize("grid", [(0, 8, 3, 3), (8, 0, 3, 3), (8, 8, 0, 0)])
    def test_nothing_is_tied_to_nothing(self, grid: Entry, inputs: bool, outputs: bool) -> None:
        assert Symmetry("p4m", inputs, outputs).owners(grid).shape == grid


class Network:
    """Three layers: from an image to channels that are permuted, among these, and to logits that stay in place."""

    def __init__(self, group: str, *, kernel: int, stride: int, rows: int, columns: int) -> None:
        order = len(GROUPS[group])
        self._stride, self._kernel = stride, kernel
        sides = rows // stride, columns // stride
        self._lifting = self._weights(Symmetry(group, inputs=False, outputs=True), (2 * order, 3, kernel, kernel))
        self._regular = self._weights(Symmetry(group, inputs=True, outputs=True), (order, 2 * order, 3, 3))
        self._head = self._weights(Symmetry(group, inputs=True, outputs=False), (5, order, *sides))

    def _weights(self, symmetry: Symmetry, grid: Entry) -> Tensor:
        """Whole numbers, whose sums are exact in every order."""
        assert symmetry.fits(grid)
        free = np.random.default_rng(2).integers(-3, 4, int(np.prod(symmetry.free_grid(grid))))
        return torch.from_numpy(free[symmetry.owners(grid)]).double()

    def features(self, images: Tensor) -> Tensor:
        padding = (self._kernel - self._stride) // 2
        hidden = functional.conv2d(images, self._lifting, stride=self._stride, padding=padding).relu()
        return functional.conv2d(hidden, self._regular, padding=1).relu()

    def __call__(self, images: Tensor) -> Tensor:
        return functional.conv2d(self.features(images), self._head)[:, :, 0, 0]


CASES = [
    *((group, 3, 1, 7, 7) for group in GROUPS),
    *((group, 4, 2, 8, 8) for group in GROUPS),
    ("mirror", 3, 1, 5, 8),
    ("mirror", 5, 3, 9, 12),
]


@pytest.mark.parametrize(("group", "kernel", "stride", "rows", "columns"), CASES)
class TestNetworks:
    def test_no_moved_image_is_told_from_the_image(
        self, group: str, kernel: int, stride: int, rows: int, columns: int
    ) -> None:
        net = Network(group, kernel=kernel, stride=stride, rows=rows, columns=columns)
        images = drawn(4, 3, rows, columns)
        logits = net(torch.from_numpy(images).double())
        assert len({tuple(one) for one in logits.tolist()}) == 4, "the images are told from each other"
        for element in GROUPS[group]:
            moved = torch.from_numpy(element.move(images).copy()).double()
            assert torch.equal(net(moved), logits)

    def test_channels_move_as_the_image_does(
        self, group: str, kernel: int, stride: int, rows: int, columns: int
    ) -> None:
        net = Network(group, kernel=kernel, stride=stride, rows=rows, columns=columns)
        images = drawn(2, 3, rows, columns)
        features = net.features(torch.from_numpy(images).double()).numpy()
        for number, element in enumerate(GROUPS[group]):
            found = net.features(torch.from_numpy(element.move(images).copy()).double()).numpy()
            for channel in range(features.shape[1]):
                to = move_channel(group, number, channel, permuted=True)
                np.testing.assert_array_equal(found[:, to], element.move(features[:, channel]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("p3", True, True), r"group: 'p3' is not known.*mirror, p4, p4m"),
        ((2, True, True), r"group: 2 is not known"),
        (("p4", 1, True), r"inputs: must be True or False, got 1"),
        (("p4", True, None), r"outputs: must be True or False, got None"),
        (("p4", False, False), r"symmetry: inputs, outputs or both are permuted by the group"),
    ],
)
def test_bad_options_are_refused(options: Any, message: str) -> None:
    with pytest.raises(PactError, match=message):
        Symmetry(*options)
