"""d_M against the numbers of models that are built, and wrong arguments."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import netpact
from netpact.core.errors import PactError

SIZES: dict[str, Any] = {"kernel": (5, 4, 3), "pooled": (2, 2, 1)}
L, P = 60, 4


def numbers(*arrays: np.ndarray[Any, Any]) -> int:
    return sum(array.size for array in arrays)


@pytest.mark.parametrize("classes", [1, 7])
def test_plain_networks_by_brute_force(classes: int) -> None:
    """The net of Lemma 1 covers a decomposition U D V' of rank K: that has K numbers more than the network."""
    task: dict[str, Any] = {} if classes == 1 else {"task": "multiclass", "classes": classes}
    kernels, output = np.zeros((3, *SIZES["kernel"])), np.zeros((3, classes, *SIZES["pooled"]))
    found = netpact.model_complexity("cnn", **SIZES, kernels=3, **task)
    assert found.parameters == numbers(kernels, output)
    assert int(found) == numbers(kernels, output, np.zeros(3))


@pytest.mark.parametrize("classes", [1, 7])
def test_tucker_by_brute_force(classes: int) -> None:
    task: dict[str, Any] = {} if classes == 1 else {"task": "multiclass", "classes": classes}
    ranks = (2, 3, 1, 2)
    core = np.zeros(ranks)
    factors = [np.zeros(sizes) for sizes in zip(SIZES["kernel"], ranks, strict=False)]
    found = netpact.model_complexity("tucker", **SIZES, ranks=ranks, kernels=6, **task)
    assert int(found) == numbers(core, *factors, np.zeros((2, classes, P))), "with R_4 kernels, as Corollary 1 has it"
    assert found.parameters == numbers(core, *factors, np.zeros((6, 2)), np.zeros((6, classes, P)))
    assert found.ratio == 3


@pytest.mark.parametrize("classes", [1, 7])
def test_the_core_of_cp_has_r_numbers_not_r_to_the_n_plus_1(classes: int) -> None:
    task: dict[str, Any] = {} if classes == 1 else {"task": "multiclass", "classes": classes}
    amplitudes, factors = np.zeros(8), [np.zeros((size, 8)) for size in SIZES["kernel"]]
    built = numbers(amplitudes, *factors, np.zeros((8, classes, P)))
    assert int(netpact.model_complexity("cp", **SIZES, ranks=8, core="free", **task)) == built
    printed = netpact.model_complexity("cp", **SIZES, ranks=8, **task)
    assert int(printed) == built - 8 + 8**4, "as printed, a full core"
    assert netpact.model_complexity("cp", **SIZES, ranks=8, kernels=32, **task).parameters == numbers(
        *factors, np.zeros((32, 8)), np.zeros((32, classes, P))
    )


def test_published_settings() -> None:
    """Table 1, left: d_M of S1 to S4."""
    small: dict[str, Any] = {"kernel": (2, 2, 2), "pooled": (2, 2, 2)}
    large: dict[str, Any] = {"kernel": (3, 3, 3), "pooled": (2, 2, 1)}
    found = [int(netpact.model_complexity("cnn", **sizes, kernels=k)) for sizes in (small, large) for k in (1, 3)]
    assert found == [17, 51, 32, 96]


def test_compressed_networks_do_not_grow_with_the_number_of_kernels() -> None:
    one, two = (netpact.model_complexity("tucker", **SIZES, ranks=(2, 2, 2, 1), kernels=k) for k in (2, 30))
    assert int(one) == int(two)
    assert (one.parameters or 0) < (two.parameters or 0)


def test_binary_classification_has_the_complexity_of_regression() -> None:
    binary, regression = (
        netpact.model_complexity("cnn", **SIZES, kernels=2, task=task) for task in ("binary", "regression")
    )
    assert int(binary) == int(regression)


def test_the_record() -> None:
    found = netpact.model_complexity("cp", **SIZES, ranks=2, kernels=4)
    assert json.loads(json.dumps(found.to_json()))["complexity"] == int(found) == 16 + 2 * (12 + 4)
    assert "R^(N+1) + R (sum l_i + P M)" in str(found)
    assert "complexity=48" in repr(found)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"kind": "tuker"}, "did you mean tucker"),
        ({"kernel": ()}, "kernel: must be integers"),
        ({"kernel": (5, 4, 0)}, "kernel, mode 2: must be an integer >= 1"),
        ({"pooled": (2, 2)}, "pooled: must have 3 entries"),
        ({"kernels": 0}, "kernels: must be an integer >= 1"),
        ({"kind": "cnn", "ranks": None}, "number of kernels is needed"),
        ({"kind": "cnn", "kernels": 2}, "a plain network has no ranks"),
        ({"ranks": (2, 2, 2)}, "4 Tucker ranks"),
        ({"ranks": None}, "ranks: must be integers"),
        ({"kind": "cp"}, "ranks: must be an integer"),
        ({"task": "classes"}, "allowed: regression, binary, multiclass"),
        ({"classes": 3}, 'only task="multiclass" has classes'),
        ({"task": "multiclass"}, "classes: must be an integer >= 2"),
        ({"core": "full"}, "allowed: printed, free"),
    ],
)
def test_wrong_arguments(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(PactError, match=said):
        netpact.model_complexity(**{"kind": "tucker", **SIZES, "ranks": (2, 2, 2, 1), **changed})
