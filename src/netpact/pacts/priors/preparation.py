"""The helper network of a data-dependent prior: trained on the part of the sample that the bound leaves out.

Given that part, the certified samples are still independent draws, and the helper does not depend on them. So it may be
any function of its part; but whatever is chosen by looking at the certified samples has to be in the message.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from netpact.coding.format import Pact, as_pact
from netpact.core.checks import check_instance
from netpact.core.errors import PactError
from netpact.core.files import write_atomically
from netpact.core.json import read_object
from netpact.core.limits import Limits
from netpact.core.progress import Progress
from netpact.datasets import Data, as_data, set_aside
from netpact.models import MAX_PARAMETERS, Architecture, build, check_weights_path, parse_model
from netpact.models.tensors import pack_tensors, state_of
from netpact.models.weights import fill_module
from netpact.pacts.priors.base import HELPER_NOTE, Base, base_of
from netpact.pacts.priors.training_cost import refuse_costly
from netpact.training import Epoch, Recipe, train


def train_helper(
    data: Data | object,
    recipe: Recipe,
    *,
    name: str = "helper",
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    max_parameters: Limits | int = MAX_PARAMETERS,
) -> Base:
    """Train the recipe's network on its part of the training samples; no other sample is used."""
    check_instance(recipe, Recipe, where="recipe", hint="Recipe(model, TrainOptions(...), Split(...))")
    source = as_data(data)
    seen, _ = set_aside(source.train, recipe.split)
    start = build(_architecture(recipe, source), seed=recipe.options.seed.child("start"), max_parameters=max_parameters)

    def report(epoch: Epoch) -> None:
        if progress is not None:
            progress(epoch.epoch, recipe.options.epochs)

    trained = train(start, seen, recipe.options, progress=report, checkpoint=checkpoint)
    return base_of(trained.module, name=name, data_fingerprint=source.train.fingerprint(), recipe=recipe)


def retrain_helper(
    pact: Pact,
    data: Data | object,
    *,
    progress: Progress | None = None,
    max_parameters: Limits | int = MAX_PARAMETERS,
) -> Base:
    """Train the helper of a certified file again, from the recipe in its certificate: verify then needs no base file.

    Whether it is bit for bit the same depends on the versions of torch and netpact, and on the number of threads. If
    not, verify counts the errors of the network encoded against this helper.
    """
    pact = as_pact(pact)
    stated = None if pact.certificate is None else pact.certificate.helper
    if stated is None:
        raise PactError(
            "the file has no certificate that names a helper network",
            where="certificate",
            hint="leave --retrain out: only a data-dependent certificate has a helper",
        )
    recipe = Recipe.from_json(read_object(stated.recipe, where="recipe"))
    source = as_data(data)
    seen, _ = set_aside(source.train, recipe.split)
    start = build(_architecture(recipe, source), max_parameters=max_parameters)
    refuse_costly(recipe, start, samples=seen.count, limits=Limits.of(max_parameters))
    # A name of its own: the one in the file is the word of whoever wrote it.
    made = train_helper(source, recipe, name="helper, trained again", progress=progress, max_parameters=max_parameters)
    return Base(made.name, made.tensors, made.data_fingerprint, recipe, retrained=True)


def _architecture(recipe: Recipe, data: Data) -> Architecture:
    return parse_model(recipe.model, input_shape=data.input_shape, classes=data.classes)


def helper_module(
    helper: Base, recipe: Recipe, data: Data, *, max_parameters: Limits | int = MAX_PARAMETERS
) -> nn.Module:
    """The helper as a network of its own, as its recipe names it."""
    module = build(_architecture(recipe, data), max_parameters=max_parameters)
    tensors = {name: torch.from_numpy(array.copy()) for name, array in helper.tensors.items()}
    fill_module(module, tensors, where=f"base {helper.name}")
    return module


def save_helper(helper: Base, data: Data | object, path: str | Path) -> Path:
    """Write weights that open as any others do, with the recipe and the data's fingerprint in the same file."""
    if helper.recipe is None:
        raise PactError("only a network with a recipe is a helper", where=f"base {helper.name}", hint="train_helper")
    module = helper_module(helper, helper.recipe, as_data(data))
    note = {
        "architecture": module.netpact_architecture.to_json(),  # type: ignore[operator,union-attr]
        HELPER_NOTE: {"data_fingerprint": helper.data_fingerprint, "recipe": helper.recipe.to_json()},
    }
    return write_atomically(check_weights_path(path), pack_tensors(state_of(module), note))
