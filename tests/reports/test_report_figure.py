from __future__ import annotations

from xml.etree import ElementTree

import pytest
from reports.report_examples import HOSTILE, ORIGINAL, ROWS, compressed

from netpact.core.errors import PactError
from netpact.reports import Row, draw_scatter

SVG = "{http://www.w3.org/2000/svg}"


def draw(rows: list[Row], *, width: int = 760) -> ElementTree.Element:
    return ElementTree.fromstring(draw_scatter(rows, width=width).to_svg())


def of_class(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [item for item in root.iter() if name in item.get("class", "").split()]


def words(root: ElementTree.Element) -> list[str]:
    return [item.text or "" for item in root.iter(f"{SVG}text")]


def networks(root: ElementTree.Element) -> list[ElementTree.Element]:
    return of_class(root, "network")


@pytest.mark.parametrize("width", [380, 760, 900])
def test_every_network_is_named_and_has_its_marks(width: int) -> None:
    root = draw(ROWS, width=width)
    names = [item.text or "" for item in of_class(root, "name")]
    assert len(names) == len(ROWS)
    assert all(row.name[:8] == name[:8] for row, name in zip(ROWS, names, strict=True))
    for row, network in zip(ROWS, networks(root), strict=True):
        assert len(of_class(network, "train")) == 1
        assert len(of_class(network, "test")) == 1
        assert len(of_class(network, "bound")) == (row.bound is not None)
        assert len(of_class(network, "original")) == row.original


def test_marks_stand_at_the_height_of_their_error() -> None:
    root = draw([compressed("x", train_error=0.0, test_error=0.5, bound=1.0)])
    network = networks(root)[0]
    train = float(of_class(network, "train")[0].get("y1", ""))
    test = float(of_class(network, "test")[0].get("cy", ""))
    bound = float(of_class(network, "bound")[0].get("d", "").split("L")[0].split()[1]) + 6
    assert bound < test < train
    assert test == pytest.approx((bound + train) / 2, abs=0.2)
    zero, hundred = (next(item for item in of_class(root, "tick") if item.text == text) for text in ("0", "100"))
    assert train == pytest.approx(float(zero.get("y", "")) - 4, abs=0.2)
    assert bound == pytest.approx(float(hundred.get("y", "")) - 4, abs=0.2)


def test_larger_networks_stand_further_right() -> None:
    stems = [float(of_class(network, "stem")[0].get("x1", "")) for network in networks(draw(ROWS))]
    by_size = sorted(range(len(ROWS)), key=lambda index: ROWS[index].message_bytes)
    assert [stems[index] for index in by_size] == sorted(stems)


def test_the_best_bound_is_written_at_its_label_rounded_up() -> None:
    root = draw([*ROWS[:-1], compressed("tiny", bound=0.41201, message_bytes=68)])
    assert [item.text for item in of_class(root, "best")] == ["tiny: 41.3 %"]


def test_a_refused_bound_is_not_drawn() -> None:
    assert not of_class(draw([ORIGINAL, compressed("x", agreed=False)]), "bound")


def test_missing_numbers_draw_nothing() -> None:
    root = draw([compressed("x", test_error=None, bound=None, agreed=None)])
    assert not of_class(root, "bound")
    assert not of_class(root, "test")
    assert "certified bound" not in words(root)


def test_the_legend_explains_what_is_drawn() -> None:
    keys = {item.text for item in of_class(draw(ROWS), "key") if item.text}
    assert keys == {
        "certified bound",
        "Pareto front",
        "test error",
        "train error",
        "test error of the original",
        "no better than guessing",
    }


def test_axes_and_description_can_be_read_aloud() -> None:
    root = draw(ROWS)
    assert {"error in %", "size (logarithmic)"} <= set(words(root))
    named = root.get("aria-labelledby", "").split()
    texts = {item.get("id"): item.text or "" for item in root if item.get("id")}
    assert list(texts) == named
    assert all(row.name in texts[named[1]] for row in ROWS)
    assert "certified bound 41.0 %" in texts[named[1]]


@pytest.mark.parametrize(
    "sizes",
    [[1], [68], [10**15], [900] * 8, [1, 10**15], [1, 2, 3, 10**12], list(range(1000, 1008)), [7] * 40],
    ids=str,
)
@pytest.mark.parametrize("width", [380, 900])
def test_any_sizes_stay_inside_the_drawing(sizes: list[int], width: int) -> None:
    rows = [compressed(f"network number {place}", message_bytes=number) for place, number in enumerate(sizes)]
    root = draw(rows, width=width)
    assert len(networks(root)) == len(sizes)
    height = float(root.get("height", ""))
    for item in root.iter(f"{SVG}text"):
        assert 0 <= float(item.get("x", "")) <= width
        assert 0 < float(item.get("y", "")) < height
    stems = [float(of_class(network, "stem")[0].get("x1", "")) for network in networks(root)]
    assert len(set(stems)) == len(stems)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(name: str) -> None:
    root = draw([compressed(name)])
    assert {item.tag.removeprefix(SVG) for item in root.iter()} <= {
        *("svg", "title", "desc", "style", "text", "line", "rect", "circle", "path", "g")
    }
    assert of_class(root, "name")[0].text


def test_bad_requests_are_refused() -> None:
    with pytest.raises(PactError, match="at least one row"):
        draw_scatter([])
    with pytest.raises(PactError, match="360"):
        draw_scatter(ROWS, width=100)


def test_of_many_networks_those_with_certificates_are_named_and_none_is_moved_or_takes_room() -> None:
    """Fifty labels once left a blank half of the figure and moved points of nearly equal size far apart."""
    many = [
        compressed(f"n{place}", message_bytes=1000 + place, bound=None, agreed=None, expected_bound=0.99)
        for place in range(50)
    ]
    few = draw([ORIGINAL, compressed("proven", message_bytes=100)])
    root = draw([ORIGINAL, compressed("proven", message_bytes=100), *many])
    assert {name.text for name in of_class(root, "name")} == {"mlp", "proven: 60.0 %"}
    stems = [float(item.get("x1", "")) for item in of_class(root, "stem") if "expected" in item.get("class", "")]
    assert len(stems) == 50
    assert max(stems) - min(stems) < 20
    heights = [float(one.get("height", "0")) for one in (few, root)]
    assert heights[1] <= heights[0] + 30


def test_a_bound_that_is_expected_looks_like_no_certificate() -> None:
    root = draw([compressed("x", bound=None, agreed=None, expected_bound=0.9)])
    assert len(of_class(root, "expected")) >= 1
    assert not of_class(root, "bound")
    assert not of_class(root, "front")
    assert "expected, not proven" in words(root)
    assert "certified bound" not in words(root)
