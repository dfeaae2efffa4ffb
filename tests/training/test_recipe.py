"""Recipes: JSON there and strictly back."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.core.version import __version__
from netpact.datasets import Split
from netpact.training import Recipe, TrainOptions

RECIPE = Recipe("mlp:8", TrainOptions(epochs=3, seed=Seed(4).child("a", "b")), Split(30, 9))


def test_there_and_back() -> None:
    assert Recipe.from_json(json.loads(json.dumps(RECIPE.to_json()))) == RECIPE
    assert (RECIPE.netpact_version, RECIPE.torch_version) == (__version__, torch.__version__)


def damaged(**changes: Any) -> dict[str, Any]:
    return {**RECIPE.to_json(), **changes}


def with_options(**changes: Any) -> dict[str, Any]:
    return damaged(options={**RECIPE.options.to_json(), **changes})


@pytest.mark.parametrize(
    ("record", "where"),
    [
        (3, "recipe"),
        ({}, "recipe"),
        (damaged(extra=1), "recipe"),
        (damaged(model=""), "recipe, model"),
        (damaged(model=["mlp"]), "recipe, model"),
        (damaged(torch_version=2), "recipe, torch_version"),
        (damaged(split=[30, 9]), "recipe, split"),
        (damaged(split={"percent": 30}), "recipe, split"),
        (damaged(split={"percent": 30, "counter": "9"}), "counter"),
        (damaged(split={"percent": 130, "counter": 9}), "percent"),
        (damaged(options=None), "recipe, options"),
        (with_options(extra=1), "recipe, options"),
        (with_options(epochs=0), "epochs"),
        (with_options(optimizer=["adam"]), "optimizer"),
        (with_options(schedule={}), "recipe, options, schedule"),
        (with_options(learning_rate="fast"), "learning_rate"),
        (with_options(seed=4), "recipe, options, seed"),
        (with_options(seed={"number": 4, "path": "ab"}), "recipe, options, seed"),
        (with_options(seed={"number": 4, "path": [1]}), "recipe, options, seed"),
        (with_options(seed={"number": -4, "path": []}), "seed"),
    ],
)
def test_anything_else_is_refused_by_name(record: object, where: str) -> None:
    with pytest.raises(PactError) as caught:
        Recipe.from_json(record)
    assert caught.value.where == where


def test_a_recipe_of_other_things() -> None:
    wrong: Any = {"epochs": 3}
    with pytest.raises(PactError, match="TrainOptions"):
        Recipe("mlp", wrong)
