"""Every method that rounds numbers takes every grid; and a method from outside the package is listed like ours."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any, ClassVar, cast

import numpy as np
import pytest

from netpact.cli.app import run
from netpact.coding.format import Compressed, Pact, seal
from netpact.coding.forms import (
    Codebook,
    Difference,
    Factor,
    Form,
    Relative,
    Scaled,
    Sparse,
    Ternary,
    Uniform,
    Zero,
    unnest,
)
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import Data
from netpact.methods import GRIDS, METHODS, CodebookGrid, Method, PerChannel, TernaryGrid, UniformGrid, compress
from netpact.methods import make_method as make
from netpact.methods.approximations import code_network
from netpact.methods.grids import Grid
from netpact.models import build, parse_model
from netpact.network import Network, trace
from netpact.pacts.priors import base_of

# Which option names the grid; what makes the method quick.
ROUNDING = {
    "cp": ("grid", {"rank": "4"}),
    "heavy-tail": ("grid", {"layers": "all", "stds": "0.5"}),
    "magnitude-prune": ("grid", {"keep": "0.3"}),
    "quantize": ("grid", {}),
    "quantize-difference": ("grid", {}),
    "random-projection": ("grid", {"keep": "0.5"}),
    "random-prune": ("grid", {"scale": "2.0"}),
    "ternary-search": ("body_grid", {"steps": "20", "restarts": "1"}),
    "truncated-svd": ("grid", {"rank": "2"}),
    "tucker": ("grid", {"ranks": "fc1:2"}),
    "vector-compress": ("grid", {"gamma": "1.0", "eta": "0.5"}),
    "vector-project": ("grid", {"gamma": "1.0", "eta": "0.5"}),
}
FACTORS = {"truncated-svd": "fc1.first.weight", "cp": "fc1.in_rows.weight", "tucker": "fc1.first.weight"}
ON_ONE_LAYER = ("vector-compress", "vector-project")
GRID_FORMS: dict[str, type[Form]] = {"uniform": Uniform, "codebook": Codebook, "ternary": Ternary}
OWN_FORMS: dict[tuple[str, str], type[Form]] = {
    ("quantize-difference", "uniform"): Difference,
    ("truncated-svd", "uniform"): Factor,
    ("tucker", "uniform"): Factor,
}
each_pair = pytest.mark.parametrize(("name", "grid"), [(name, grid) for name in ROUNDING for grid in GRIDS])


@pytest.fixture(scope="module")
def mlp(digits: Data) -> Network:
    return trace(fresh(digits, 0), digits)


def fresh(digits: Data, seed: int) -> Any:
    return build(parse_model("mlp:12", input_shape=digits.input_shape, classes=10), seed=Seed(seed))


@pytest.fixture(autouse=True)
def _short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpact.methods.sign_training._FEWEST_STEPS", 20)
    monkeypatch.setattr("netpact.methods.sign_training._MOST_STEPS", 20)
    monkeypatch.setattr("netpact.methods.sign_training._FREE_STEPS", 10)


def made(name: str, digits: Data, **options: str) -> Method:
    base = base_of(fresh(digits, 1), name="base") if name == "quantize-difference" else None
    return make(name, {**ROUNDING[name][1], **options}, base=base)


def test_every_method_with_a_grid_is_here() -> None:
    having = [
        name for name, method in METHODS.items() if {"grid", "body_grid"} & {f.name for f in fields(cast(Any, method))}
    ]
    assert set(having) == set(ROUNDING)


@each_pair
def test_a_file_comes_back_in_that_grid(name: str, grid: str, mlp: Network, linear: Network, digits: Data) -> None:
    network = linear if name in ON_ONE_LAYER else mlp
    option = ROUNDING[name][0]
    first, second = (compress(network, made(name, digits, **{option: grid}), samples=digits.train) for _ in range(2))
    pact = seal(first)
    assert pact.message == seal(second).message
    decoded = Pact.from_bytes(pact.to_bytes()).decode()
    for tensor, coded in first.tensors.items():
        assert decoded.tensors[tensor].form == coded.form
        assert np.array_equal(decoded.tensors[tensor].weights(), coded.weights())
    weight = first.tensors[FACTORS.get(name, "fc1.weight")]
    parts = {type(part) for part in unnest(weight.form)}
    own = {OWN_FORMS.get((name, grid), GRID_FORMS[grid])}
    assert own <= parts or (name, grid) in {("random-projection", "uniform"), ("vector-project", "uniform")}
    # 4 bits of an even grid or a codebook, 8 for a bias, and what forms and codebooks take.
    numbers = sum(len(coded.symbols) for coded in first.tensors.values())
    assert 8 * len(pact.message) <= 8 * numbers + 1000
    if grid == "ternary" and name == "quantize":
        kept = np.count_nonzero(first.tensors["fc1.weight"].symbols)
        assert kept == round(0.3 * first.tensors["fc1.weight"].symbols.size)


@each_pair
def test_bits_that_a_grid_does_not_have_are_refused(name: str, grid: str, digits: Data) -> None:
    bits = "body_bits" if name == "ternary-search" else "bits"
    wrong = {"uniform": "17", "codebook": "9", "ternary": "3"}[grid]
    with pytest.raises(PactError, match=r"bits: must be an integer from") as raised:
        made(name, digits, **{ROUNDING[name][0]: grid, bits: wrong})
    assert raised.value.where == "bits"
    with pytest.raises(PactError, match=r"grid: 'even' is not known; allowed: .*uniform, codebook, ternary"):
        made(name, digits, **{ROUNDING[name][0]: "even"})


@pytest.mark.parametrize("name", ON_ONE_LAYER)
def test_the_grid_of_a_lemma_has_no_bits(name: str, digits: Data) -> None:
    with pytest.raises(PactError, match="bits: the lemma says how fine its grid is"):
        made(name, digits, bits="4")


def test_few_entries_in_a_codebook_are_marked(linear: Network, digits: Data) -> None:
    coded = compress(linear, made("vector-compress", digits, grid="codebook")).tensors["fc1.weight"]
    plain = compress(linear, made("vector-compress", digits)).tensors["fc1.weight"]
    assert isinstance(coded.form, Sparse)
    assert np.array_equal(coded.weights() == 0, plain.symbols.reshape(plain.shape) == 0)


def octaves(rows: int = 20, width: int = 400) -> Any:
    return np.ldexp(np.random.default_rng(0).standard_normal((rows, width)), -np.arange(rows)[:, None])


def relative_errors(values: Any, grid: Grid) -> Any:
    off = grid.round(values).weights() - values
    return np.linalg.norm(off, axis=1) / np.linalg.norm(values, axis=1)


@pytest.mark.parametrize("grid", [UniformGrid(5), CodebookGrid(4), TernaryGrid(0.4)], ids=str)
def test_channels_of_all_sizes_are_rounded_alike(grid: Grid) -> None:
    """Rows from 1 down to 2^-19: one grid for all loses the small ones, a scale for each does not."""
    values = octaves()
    assert relative_errors(values, grid)[-1] > 0.99
    scaled = relative_errors(values, PerChannel(grid))
    alone = [float(relative_errors(row[None], grid)[0]) for row in values]
    assert (scaled <= 1.15 * np.array(alone) + 0.01).all()
    coded = PerChannel(grid).round(values)
    assert isinstance(coded.form, Scaled)
    assert abs(np.median(coded.symbols[:20])) <= 2  # most symbols are near 0, which are the cheap ones
    turned = PerChannel(grid, columns=True).round(np.ascontiguousarray(values.T))
    assert np.array_equal(np.sort(turned.symbols[:20]), np.sort(coded.symbols[:20]))


def test_channels_of_one_size_cost_nothing() -> None:
    values = np.random.default_rng(1).choice([-1.0, 1.0], (6, 50))
    assert isinstance(PerChannel(UniformGrid(4)).round(values).form, Uniform)
    assert isinstance(PerChannel(UniformGrid(4)).round(np.zeros((3, 4))).form, Zero)
    assert isinstance(PerChannel(UniformGrid(4)).round(np.arange(5.0)).form, Uniform)  # a vector has no channels


def test_a_step_is_proportional_to_given_sizes() -> None:
    values = octaves(3)
    [coded] = PerChannel(UniformGrid(8)).round_scaled([values], [np.array([1.0, 2.0, 4.0])])
    steps = [np.diff(np.unique(np.abs(row))).min() for row in coded.weights()]
    assert steps[1] / steps[0] == 2
    assert steps[2] / steps[1] == 2


def test_differences_in_other_grids_are_added_to_the_base(mlp: Network, digits: Data) -> None:
    base = base_of(fresh(digits, 1), name="base")
    method = make("quantize-difference", {"bits": "8", "per_channel": "true"}, base=base)
    pact = seal(compress(mlp, method))
    forms = {type(tensor.form) for name, tensor in pact.decode().tensors.items() if name.endswith("weight")}
    assert forms <= {Difference, Relative}
    loaded = dict(pact.to_module(base=base).named_parameters())
    for name, own in mlp.module.named_parameters():
        if own.dim() == 2:
            assert float((loaded[name] - own.detach()).abs().max()) < 0.02 * float(own.detach().abs().max())


def test_a_method_from_outside_is_listed_and_run(
    linear: Network, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(METHODS, "_rows", dict(METHODS.items()))

    @METHODS.add
    @dataclass(frozen=True)
    class Signs:
        """Nothing but the signs of the weights."""

        density: float = 1.0
        name: ClassVar[str] = "signs"

        def compress(self, network: Network, samples: object = None, progress: object = None) -> Compressed:
            return code_network(network, TernaryGrid(self.density))

    assert run(["methods", "--json"]) == 0
    row = next(row for row in json.loads(capsys.readouterr().out) if row["method"] == "signs")
    assert (row["does"], row["options"]) == ("Nothing but the signs of the weights.", {"density": 1.0})
    assert run(["methods"]) == 0
    assert "signs\n  Nothing but the signs of the weights.\n  density=1.0" in capsys.readouterr().err
    coded = compress(linear, make("signs", {"density": "0.5"})).tensors["fc1.weight"]
    assert set(coded.symbols.tolist()) == {-1, 0, 1}
