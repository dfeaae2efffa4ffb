"""Weights that are tied: what the message says of them, and what it may not say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from netpact.algebra.symmetry import GROUPS, Symmetry
from netpact.coding import Coder, Contexts, Decoder, Encoder, ShortFloat, code_flag, code_uint
from netpact.coding.format import Compressed, Pact, seal
from netpact.coding.forms import (
    CodedTensor,
    Form,
    Scaled,
    Symmetric,
    Ternary,
    TernaryMap,
    TernaryTemplate,
    Uniform,
    Zero,
    code_form,
    is_one_to_one,
)
from netpact.core.errors import PactError
from netpact.models import Architecture, parameter_shapes

STEP = ShortFloat(-3, 5)
MIRROR = Symmetry("mirror", inputs=True, outputs=False)
INNER: list[Form] = [Ternary(STEP), TernaryTemplate(), Scaled(Uniform(STEP))]


def written(write: Callable[[Encoder], object]) -> bytes:
    encoder = Encoder()
    write(encoder)
    return encoder.to_bytes()


def say(
    encoder: Coder, *, group: int = 0, inputs: bool = True, outputs: bool = True, image: tuple[int, int] | None = None
) -> None:
    """The page's words: group, "inputs?", with it "outputs?", "images?", with it both sides less 1; a zero inside."""
    code_uint(encoder, Symmetric.tag)
    code_uint(encoder, group)
    code_flag(encoder, inputs)
    if inputs:
        code_flag(encoder, outputs)
    code_flag(encoder, image is not None)
    for side in image or ():
        code_uint(encoder, side - 1)
    code_uint(encoder, Zero.tag)


@pytest.mark.parametrize("group", range(3))
@pytest.mark.parametrize(("inputs", "outputs"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("image", [None, (1, 2), (7, 1), (8, 8), (1 << 20, 1 << 20)])
def test_the_parameters_are_those_of_the_page(
    group: int, inputs: bool, outputs: bool, image: tuple[int, int] | None
) -> None:
    rows, columns = image or (1, 1)
    form = Symmetric(Zero(), Symmetry([*GROUPS][group], inputs, outputs), rows=rows, columns=columns)
    by_hand = written(lambda encoder: say(encoder, group=group, inputs=inputs, outputs=outputs, image=image))
    assert written(lambda encoder: code_form(encoder, form)) == by_hand
    assert code_form(Decoder(by_hand), None) == form


@pytest.mark.parametrize(
    ("group", "image", "message"),
    [
        (3, None, "the message names group 3, known are 0 to 2"),
        ((1 << 40) - 1, None, "names group 1099511627775, known are 0 to 2"),
        (0, (1, 1), "images of one place are not spelled out"),
        (0, ((1 << 20) + 1, 1), r"rows: must be an integer from 1 to 1,048,576, got 1048577"),
        (0, (1, 1 << 40), r"columns: must be an integer from 1 to 1,048,576, got 1099511627776"),
    ],
)
def test_hostile_parameters_are_refused(group: int, image: tuple[int, int] | None, message: str) -> None:
    hostile = written(lambda encoder: say(encoder, group=group, image=image))
    with pytest.raises(PactError, match=message):
        code_form(Decoder(hostile), None)


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [(0, 1, "rows: must be an integer from 1"), (True, 1, "rows: "), (1, 1.5, "columns: "), (1, -3, "columns: ")],
)
def test_bad_options_are_refused(rows: int, columns: int, message: str) -> None:
    with pytest.raises(PactError, match=message):
        Symmetric(Zero(), MIRROR, rows=rows, columns=columns)


def test_a_tensor_that_is_no_images_of_so_many_places_is_one_without_images() -> None:
    form = Symmetric(Ternary(STEP), Symmetry("p4m", True, True), rows=1 << 20, columns=1 << 20)
    assert form.grid((8, 8)) == (8, 8, 1, 1)
    assert form.symbol_count((8, 8)) == 8


@pytest.mark.parametrize(
    ("shape", "image", "grid"),
    [
        ((10, 6, 3, 5), (1, 1), (10, 6, 3, 5)),
        ((10, 6, 3, 5), (3, 3), (10, 6, 3, 5)),
        ((10, 24), (1, 1), (10, 24, 1, 1)),
        ((10, 24), (4, 3), (10, 2, 4, 3)),
        ((10, 24), (5, 5), (10, 24, 1, 1)),
        ((10, 8, 3), (1, 1), (10, 24, 1, 1)),
        ((10,), (1, 1), (10, 1, 1, 1)),
        ((), (1, 1), (1, 1, 1, 1)),
    ],
)
def test_outputs_inputs_and_places(
    shape: tuple[int, ...], image: tuple[int, int], grid: tuple[int, int, int, int]
) -> None:
    assert Symmetric(Zero(), MIRROR, rows=image[0], columns=image[1]).grid(shape) == grid


@pytest.mark.parametrize("inner", INNER, ids=lambda form: form.name)
def test_the_inner_form_codes_the_free_entries_as_a_tensor_of_their_own(inner: Form) -> None:
    """Of an image's places, too: its contexts are those of neighbours."""
    form, grid, free = Symmetric(inner, MIRROR, rows=5, columns=6), (3, 4, 5, 6), (3, 2, 5, 6)
    symbols = np.random.default_rng(0).integers(-1, 2, inner.symbol_count(free))
    assert form.symbol_count((3, 4 * 5 * 6)) == form.symbol_count(grid) == len(symbols)
    own = written(lambda encoder: form.code_symbols(encoder, symbols, grid, Contexts()))
    assert own == written(lambda encoder: inner.code_symbols(encoder, symbols, free, Contexts()))
    flat = form.weights(symbols, (3, 4 * 5 * 6))
    assert flat.reshape(grid).tolist() == form.weights(symbols, grid).tolist()
    assert flat.reshape(grid)[:, ::2].tolist() == inner.weights(symbols, free).tolist()


def test_its_symbols_are_walked_through_again_only_where_the_inner_form_asks_for_it() -> None:
    for inner in (*INNER, TernaryMap(STEP)):
        assert is_one_to_one(Symmetric(inner, MIRROR)) == is_one_to_one(inner)


# Three maps of 8 x 8: as images they are no pairs, as 192 inputs they would be.
NETWORK = Architecture(20, (3, 1, 3, 1), (1, 8, 8), 10)


def network(form: Form) -> Compressed:
    nothing = np.zeros(0, dtype=np.int64)
    tensors = {name: CodedTensor(Zero(), nothing, shape) for name, shape in parameter_shapes(NETWORK).items()}
    count = form.symbol_count((10, 192))
    return Compressed(NETWORK, tensors | {"fc1.weight": CodedTensor(form, np.ones(count, dtype=np.int64), (10, 192))})


@pytest.mark.parametrize("inner", INNER, ids=lambda form: form.name)
def test_a_form_for_images_of_other_sides_is_refused_when_written(inner: Form) -> None:
    assert seal(network(Symmetric(inner, MIRROR, rows=8, columns=8))).decode() is not None
    with pytest.raises(PactError, match="rows and columns of the form are those of the image") as caught:
        seal(network(Symmetric(inner, MIRROR)))
    assert caught.value.where == "message, tensor fc1.weight"


@pytest.mark.parametrize("inner", INNER, ids=lambda form: form.name)
def test_and_when_read(inner: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an adversary writes it: images of 8 x 8 until the tensor's turn comes, of one place in the parameters."""
    form = Symmetric(inner, MIRROR, rows=8, columns=8)
    compressed = network(form)
    object.__setattr__(form, "rows", 1)
    object.__setattr__(form, "columns", 1)
    monkeypatch.setattr(CodedTensor, "__post_init__", lambda self: None)
    message = seal(compressed).message
    monkeypatch.undo()
    with pytest.raises(PactError, match=r"a symmetric tensor of shape \(10, 192\) takes 9[67]0 symbols") as caught:
        Pact(message).decode()
    assert caught.value.where == "message, tensor fc1.weight"
