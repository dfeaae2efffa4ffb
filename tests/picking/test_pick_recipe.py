"""Recipes and their bytes: a prefix code with no second way to say a thing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpact import PickRecipe
from netpact.core.errors import PactError
from netpact.layers import SobelOptions
from netpact.picking.recipe import UNIT
from netpact.picking.recipe_bytes import BASE, FEATURES, FONT_STEM, HASH, ORDERS, ORIENTED, SOBEL, allowed_most


@st.composite
def recipes(draw: st.DrawFn) -> PickRecipe:
    cell, features = draw(st.integers(1, 12)), draw(st.sampled_from(FEATURES))
    orientations = draw(st.integers(2, 32))
    stem = SobelOptions(
        orientations=orientations,
        inhibition=draw(st.integers(1, min(16, 128 // orientations))),
        cell=cell,
        stride=draw(st.integers(1, cell)),
        roots=draw(st.integers(1, 2)),
        straighten=draw(st.booleans()),
        resize=draw(st.booleans()),
        mirror=draw(st.booleans()),
    )
    return PickRecipe(
        stem=draw(st.sampled_from([FONT_STEM, stem])),
        features=features,
        bits=draw(st.integers(1, 8)),
        orientations=draw(st.integers(1, 32)),
        inhibition=draw(st.integers(0, 15)),
        cell=cell,
        stride=draw(st.integers(1, cell)),
        straighten=draw(st.booleans()),
        mirror=draw(st.booleans()),
        layer=draw(st.integers(1, 8)),
        start=draw(st.integers(0, 7)),
        order=draw(st.sampled_from(ORDERS)),
        width=draw(st.integers(0, 63)),
        margin=draw(st.integers(0, 7 if features in (BASE, SOBEL) else 15)),
        steps=draw(st.integers(0, 7)),
        most=allowed_most(draw(st.integers(0, 1 << 36)), features),
    )


@given(recipes())
def test_bytes_there_and_back(recipe: PickRecipe) -> None:
    assert PickRecipe.from_bytes(recipe.to_bytes()) == recipe


@given(recipes(), recipes())
def test_no_recipe_is_the_beginning_of_another(one: PickRecipe, other: PickRecipe) -> None:
    """To the bit: padding aside, so that the bits of all recipes together are a prefix code."""
    assert one == other or not other.to_bytes().startswith(one.to_bytes())


@given(st.binary(max_size=9))
def test_any_bytes_are_one_recipe_or_none(content: bytes) -> None:
    try:
        recipe = PickRecipe.from_bytes(content)
    except PactError:
        return
    assert recipe.to_bytes() == content


def test_lengths_are_those_that_the_bound_pays_for() -> None:
    assert len(PickRecipe().to_bytes()) == 3
    assert len(PickRecipe(most=75).to_bytes()) == 4
    assert len(PickRecipe(features=ORIENTED).to_bytes()) == 5
    assert len(PickRecipe(features=ORIENTED, most=911 // 8 * 8).to_bytes()) == 6


def test_recipes_of_the_first_version_keep_their_bytes() -> None:
    """As records/ holds them: what was written before a base could be named."""
    assert PickRecipe(width=20, margin=5, most=75).to_bytes().hex() == "06a2c961"
    mnist = PickRecipe(features=ORIENTED, orientations=12, straighten=True, width=45, most=880)
    assert mnist.to_bytes().hex() == "159a956a4dc4"
    assert PickRecipe.from_bytes(bytes.fromhex("159a956a4dc4")) == mnist


def test_recipes_with_a_base() -> None:
    one = PickRecipe(features=BASE, layer=2, start=6, width=35, margin=4, steps=5)
    # 001: version; then layer - 1, start, width, margin, steps; most: whether, mantissa, exponent.
    assert one.to_bytes() == int("001 001 110 100011 100 101 0 00".replace(" ", ""), 2).to_bytes(3, "big")
    stops = int("001 001 110 100011 100 101 1 101100 0000".replace(" ", ""), 2)
    assert one.at_most(44).to_bytes() == stops.to_bytes(4, "big")


def test_recipes_with_the_stem_of_sobel_edges() -> None:
    one = PickRecipe(features=SOBEL, start=5, width=42, margin=3, steps=4)
    # 010: version; 0: the stem of fonts' digits; start, width, margin, steps; most: whether, mantissa, exponent.
    assert one.to_bytes() == int("010 0 101 101010 011 100 0 0000".replace(" ", ""), 2).to_bytes(3, "big")
    stops = int("010 0 101 101010 011 100 1 101100 0000 00".replace(" ", ""), 2)
    assert one.at_most(44).to_bytes() == stops.to_bytes(4, "big")
    other = replace(one, stem=SobelOptions(12, 3, 6, 3, 2, straighten=True, mirror=True))
    # orientations - 2, inhibition - 1, cell - 1, stride - 1, roots - 1, straighten, resize, mirror
    told = "010 1 01010 0010 0101 0010 1 1 0 1 101 101010 011 100 0".replace(" ", "")
    assert other.to_bytes() == int(told.ljust(48, "0"), 2).to_bytes(6, "big")[: -(-len(told) // 8)]
    assert PickRecipe.from_bytes(other.to_bytes()) == other


def test_recipes_that_pick_by_hash() -> None:
    """Version 3, two bits for the kind of features, then as in the version that has them otherwise."""
    edges = PickRecipe(features=SOBEL, start=5, width=42, margin=3, steps=4, order=HASH).at_most(44)
    told = "011 00 0 101 101010 011 100 1 101100 0000"
    assert edges.to_bytes() == int(told.replace(" ", "").ljust(32, "0"), 2).to_bytes(4, "big")
    pixels = PickRecipe(bits=4, width=20, margin=5, steps=4, order=HASH)
    told = "011 01 011 010100 0101 100 0"
    assert pixels.to_bytes() == int(told.replace(" ", "").ljust(24, "0"), 2).to_bytes(3, "big")
    assert str(pixels).startswith("pixels, order hash, bits 4")
    assert {PickRecipe(features=kind, order=HASH).to_bytes()[0] >> 3 for kind in FEATURES} == {12, 13, 14, 15}


def test_the_default_stem_is_said_in_one_way_only() -> None:
    """Spelled out it would be a second message for the same recipe."""
    spelled = "010 1 00110 0100 0111 0011 0 1 1 0 101 101010 011 100 0".replace(" ", "")
    content = int(spelled.ljust(48, "0"), 2).to_bytes(6, "big")[: -(-len(spelled) // 8)]
    with pytest.raises(PactError, match="not the bytes of a recipe"):
        PickRecipe.from_bytes(content)


def test_what_the_features_do_not_use_makes_no_difference() -> None:
    assert PickRecipe(cell=9) == PickRecipe(cell=3)
    assert PickRecipe(features=ORIENTED, bits=7) == PickRecipe(features=ORIENTED)
    assert PickRecipe(features=ORIENTED, cell=9) != PickRecipe(features=ORIENTED)


@pytest.mark.parametrize("count", [0, 1, 63, 64, 127, 128, 129, 255, 1000, 54_321])
def test_where_to_stop_is_told_in_eleven_bits(count: int) -> None:
    allowed = allowed_most(count)
    assert count * 63 / 64 <= allowed <= count
    assert PickRecipe().at_most(count).most == allowed


def test_widths_and_margins() -> None:
    assert [PickRecipe(width=w).halving_distance for w in (0, 1, 2, 3, 20, 63)] == [1, 1, 2, 2, 1024, 3037000499]
    assert PickRecipe(margin=2).least_margin == UNIT
    assert PickRecipe(margin=0).least_margin == UNIT // 4


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"features": "words"}, "pixels"),
        ({"order": "first"}, "lowest"),
        ({"bits": 9}, "bits: must be an integer from 1 to 8"),
        ({"width": 64}, "width"),
        ({"margin": -1}, "margin"),
        ({"most": 129}, "128 is allowed"),
        ({"most": 1 << 40}, "most"),
        ({"straighten": 1}, "straighten"),
        ({"features": ORIENTED, "cell": 13}, "cell"),
        ({"features": ORIENTED, "cell": 4, "stride": 5}, "stride"),
        ({"steps": 2.5}, "steps"),
        ({"features": BASE, "layer": 9}, "layer"),
        ({"features": BASE, "layer": 0}, "layer"),
        ({"features": BASE, "start": 8}, "start"),
        ({"features": BASE, "margin": 8}, "margin"),
        ({"features": BASE, "most": 1 << 30}, "2080768 is allowed"),
        ({"features": SOBEL, "start": 8}, "start"),
        ({"features": SOBEL, "stem": "8-5-8-4"}, "stem: .*SobelOptions"),
        ({"features": SOBEL, "stem": replace(FONT_STEM, orientations=1)}, "stem.orientations"),
        ({"features": SOBEL, "stem": replace(FONT_STEM, orientations=20, inhibition=7)}, "stem.inhibition"),
        ({"features": SOBEL, "stem": replace(FONT_STEM, cell=13)}, "stem.cell"),
        ({"features": SOBEL, "stem": replace(FONT_STEM, stride=9)}, "stem.stride"),
        ({"features": SOBEL, "stem": replace(FONT_STEM, roots=3)}, "stem.roots"),
        ({"features": SOBEL, "stem": replace(FONT_STEM, mirror=1)}, "stem.mirror"),  # type: ignore[arg-type]
    ],
)
def test_impossible_settings_die_at_once(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(PactError, match=told):
        PickRecipe(**wrong)


@pytest.mark.parametrize("content", [b"", b"\x00", b"\xff" * 4, bytes(17), PickRecipe().to_bytes() + b"\x00", None])
def test_other_bytes_are_refused(content: Any) -> None:
    with pytest.raises(PactError):
        PickRecipe.from_bytes(content)


def test_a_later_learner_is_named() -> None:
    content = bytearray(replace(PickRecipe(), width=5).to_bytes())
    content[0] |= 0x80
    with pytest.raises(PactError, match="learner version 4"):
        PickRecipe.from_bytes(bytes(content))
