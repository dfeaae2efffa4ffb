"""What training by a recipe from an untrusted file would cost: refused before it begins if it is too much."""

from __future__ import annotations

import math

import torch
from torch import nn

from netpact.core.errors import PactError
from netpact.core.limits import Limits
from netpact.network.flops import run_sample
from netpact.training import Recipe

_PASSES = 4  # forward, twice that backward, and once more to measure the epoch
_STEP = 10**7  # multiply-adds that a step of the optimizer takes the time of, however small the network is
_NUMBER_BYTES = 8  # an activation and its gradient, in float32


def refuse_costly(recipe: Recipe, module: nn.Module, *, samples: int, limits: Limits) -> None:
    """Epochs, batches and model all come from the file: their product is held against max_training."""
    options = recipe.options
    parts = {name: part for name, part in module.named_modules() if not list(part.children())}
    architecture = module.netpact_architecture
    run = run_sample(module, parts, torch.zeros(1, *architecture.input_shape))  # type: ignore[union-attr,misc]
    steps = -(-samples // options.batch_size)
    work = options.epochs * (_PASSES * samples * (run.total // 2) + steps * _STEP)
    if work > limits.max_training:
        raise PactError(
            f"training {recipe.model} for {options.epochs:,} epochs of {samples:,} samples takes about {work:.2g} "
            f"multiply-adds, allowed are {limits.max_training:.2g}",
            where="recipe",
            hint="if you trust this file: a larger max_training in Limits(...) in Python, --max-training on the "
            "command line",
        )
    numbers = sum(math.prod(shape) for shape in run.shapes.values())
    memory = _NUMBER_BYTES * min(options.batch_size, samples) * numbers
    if memory > limits.max_memory:
        raise PactError(
            f"batches of {options.batch_size:,} samples take about {memory:,} bytes of memory, allowed are "
            f"{limits.max_memory:,}",
            where="recipe",
            hint="if you trust this file: a larger max_memory in Limits(...) in Python, --max-memory on the "
            "command line",
        )
