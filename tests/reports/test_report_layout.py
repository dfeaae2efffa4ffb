from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpact.reports.charts.axes import Axis, keep_apart, span_axis
from netpact.reports.charts.labels import Flag, choose_lanes, hang_flags
from netpact.reports.text import size, text_width


def sized(sizes: list[int], *, left: float, right: float) -> Axis:
    return span_axis(sizes, least=10, room=1.5, left=left, right=right)


def say(number: float) -> str:
    return size(round(number))


SIZES = st.lists(st.integers(1, 10**12), min_size=1, max_size=12)


@given(st.lists(st.floats(0, 500), min_size=1, max_size=20))
def test_points_are_kept_apart_in_order_and_inside(places: list[float]) -> None:
    moved = keep_apart(places, gap=10, left=0, right=500)
    order = sorted(range(len(places)), key=lambda index: (places[index], index))
    assert all(moved[b] - moved[a] >= 10 - 1e-6 for a, b in pairwise(order))
    assert min(moved) >= -1e-6
    assert max(moved) <= 500 + 1e-6


def test_points_far_apart_stay_and_equal_points_move_evenly() -> None:
    assert keep_apart([400, 100, 200], gap=10, left=0, right=500) == [400, 100, 200]
    assert keep_apart([100, 100, 100], gap=10, left=0, right=500) == pytest.approx([90, 100, 110])


@given(SIZES, st.integers(100, 900))
def test_ticks_are_readable(sizes: list[int], width: int) -> None:
    axis = sized(sizes, left=50, right=50 + width)
    ticks = axis.ticks(say, least=1)
    assert ticks
    spans = [(axis.place(tick), text_width(say(tick), font_size=12) / 2) for tick in ticks]
    assert all(a + half < b - other for (a, half), (b, other) in pairwise(spans))
    assert all(50 <= place <= 50 + width for place, _ in spans)


def test_the_axis_is_logarithmic() -> None:
    axis = sized([10, 1000], left=0, right=100)
    assert axis.place(100) == pytest.approx(50)
    assert axis.place(10) < axis.place(100) < axis.place(1000)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 10**9), st.floats(5, 120)), min_size=1, max_size=10), st.sampled_from([380, 900])
)
def test_no_label_touches_another_or_is_crossed(labels: list[tuple[int, float]], width: int) -> None:
    sizes, widths = [number for number, _ in labels], [room for _, room in labels]
    axis = sized(sizes, left=50, right=width - 8)
    shown, flags = hang_flags(axis, sizes, widths, edge=width)
    assert shown.right <= axis.right
    assert_clear(flags)
    for flag, room in zip(flags, widths, strict=True):
        assert flag.end - flag.start >= room
        assert flag.start >= 0
        assert flag.end <= width


def test_flags_over_each_others_poles_are_not_placed() -> None:
    assert choose_lanes([Flag(pole=0, start=0, end=20), Flag(pole=10, start=-10, end=10)]) is None


def test_one_lane_is_enough_for_labels_far_apart() -> None:
    flags = choose_lanes([Flag(pole=place, start=place, end=place + 50) for place in (0, 100, 200)])
    assert flags is not None
    assert [flag.lane for flag in flags] == [0, 0, 0]


def assert_clear(flags: list[Flag]) -> None:
    """The obvious slow check: every pair, texts against texts and texts against poles."""
    for one in flags:
        for other in flags:
            if one is other:
                continue
            if one.lane == other.lane:
                assert one.end <= other.start or other.end <= one.start
            crossed = one.start < other.pole < one.end and other.lane >= one.lane
            assert not crossed
