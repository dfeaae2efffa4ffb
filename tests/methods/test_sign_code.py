"""What signs cost: the search's account against the coder's own, and its price of a change against making it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from netpact.coding import Contexts, Meter, ShortFloat
from netpact.coding.format import Compressed, seal
from netpact.coding.forms import CodedTensor, Form, Ternary, TernaryMap, TernaryTemplate
from netpact.methods.sign_code import MAP, SignCode
from netpact.methods.ternary_search import sign_form
from netpact.models import Architecture

CORNERS, MAPS = TernaryTemplate(edge=False, corner=True), TernaryTemplate(edge=False, maps=True)
UNIT = ShortFloat(exponent=0, mantissa=0)
GRIDS = [(10, 3, 7, 7), (4, 20, 5, 3), (3, 9, 1, 6), (6, 80, 1, 1)]


def draw(grid: tuple[int, ...], seed: int, *, smooth: bool = True) -> NDArray[np.int8]:
    """Signs of a noisy wave: neighbours resemble each other."""
    random = np.random.default_rng(seed)
    rows, columns = np.ogrid[: grid[2], : grid[3]]
    phases = random.uniform(0, 6, grid[:2])[..., None, None]
    wave = np.sin(phases + 0.7 * rows - 0.5 * columns) if smooth else 0.0
    field = wave + 0.5 * random.standard_normal(grid)
    return (np.sign(field) * (np.abs(field) > 0.9)).astype(np.int8).reshape(grid[0], -1)


def metered(signs: NDArray[np.int8], grid: tuple[int, ...], template: TernaryTemplate = MAP) -> float:
    plain: Form = Ternary(UNIT) if grid[2:] == (1, 1) else TernaryMap(UNIT)
    meter, form = Meter(), plain if template == MAP else template
    form.code_symbols(meter, signs.ravel().astype(np.int64), grid, Contexts())
    return meter.total


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("template", TernaryTemplate.every(), ids=str)
def test_the_total_is_the_coders_own(grid: tuple[int, ...], template: TernaryTemplate) -> None:
    """Within what the blocks cost, in which the coder's counts lag behind."""
    for seed in range(2):
        signs = draw(grid, seed)
        code = SignCode(signs.shape, rows=grid[2], columns=grid[3], template=template)
        assert code.total_bits(signs) == pytest.approx(metered(signs, grid, template), rel=0.01, abs=4)


PRICED = [*((grid, MAP) for grid in GRIDS), *((grid, CORNERS) for grid in GRIDS), (GRIDS[0], MAPS)]


@pytest.mark.parametrize(("grid", "template"), PRICED, ids=str)
def test_a_change_is_priced_at_what_it_costs(grid: tuple[int, ...], template: TernaryTemplate) -> None:
    signs = draw(grid, 7)
    code = SignCode(signs.shape, rows=grid[2], columns=grid[3], template=template)
    prices, before = code.all_change_bits(signs), code.total_bits(signs)
    misses, sizes = [], []
    for row in range(signs.shape[0]):
        np.testing.assert_array_equal(prices[:, row], code.change_bits(signs, row))
        for column in range(0, signs.shape[1], 5):
            for state in (-1, 0, 1):
                changed = signs.copy()
                changed[row, column] = state
                real = code.total_bits(changed) - before
                misses.append(abs(prices[state + 1, row, column] - real))
                sizes.append(abs(real))
    assert np.quantile(misses, 0.95) < 0.4  # a context that was hardly met changes its odds by the change itself
    assert np.median(misses) < 0.03 * np.mean(sizes)


def test_neighbours_save_bits_where_they_resemble_each_other() -> None:
    grid = (10, 8, 7, 7)
    smooth, rough = draw(grid, 0), draw(grid, 0, smooth=False)
    plain, mapped = SignCode(smooth.shape), SignCode(smooth.shape, rows=7, columns=7)
    assert mapped.total_bits(smooth) < 0.9 * plain.total_bits(smooth)
    assert mapped.total_bits(rough) < plain.total_bits(rough) + 6 * 6  # what the further contexts have to learn


def test_the_features_must_be_whole_maps() -> None:
    with pytest.raises(ValueError, match="no maps of 3 x 3"):
        SignCode((2, 10), rows=3, columns=3)


@pytest.mark.parametrize("template", TernaryTemplate.every(), ids=str)
def test_the_cheapest_template_is_the_one_with_the_shortest_message(template: TernaryTemplate) -> None:
    """Signs drawn so that each template is worth its while somewhere; whole messages are compared, headers included."""
    random = np.random.default_rng(5)
    grid = (10, 8, 7, 7)
    rates = random.choice([0.01, 0.5], (1, 8, 1, 1)) if template.maps else np.full(grid, 0.1)
    inside = np.zeros((7, 7))
    inside[1:-1, 1:-1] = 1
    areas = random.random((10, 8, 4, 4)).repeat(2, axis=2).repeat(2, axis=3)[:, :, :7, :7]
    field = areas if template.corner else random.random(grid)
    signs = ((field < rates) * (inside if template.edge else 1)).astype(np.int8).reshape(10, -1)
    body = Architecture(5, (8, 5, 8, 4, 2), (1, 28, 28), 10)

    def length(form: Form) -> int:
        tensor = CodedTensor(form, signs.ravel().astype(np.int64), signs.shape)
        return len(seal(Compressed(body, {"fc1.weight": tensor})).message)

    forms: list[Form] = [TernaryMap(UNIT), *TernaryTemplate.every()]
    shortest = min(length(form) for form in forms)
    chosen = length(sign_form(signs, (7, 7)))
    assert chosen <= shortest + 1, "a byte for the blocks, in which the coder's counts lag behind"
    if template not in (MAP, TernaryTemplate(edge=False)):
        assert chosen < length(TernaryMap(UNIT)) - 1
