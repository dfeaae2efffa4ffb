"""Training a sparse matrix of signs by gradient, under a price for its code length: where the search starts."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from netpact.seed import Seed

# Constants of the training. They steer it and appear in no bound.
_BATCH = 500
_STEPS, _FREE_STEPS = 2400, 600
_RATE = 0.02  # Adam's learning rate, in units of the step between two signs
_SHARPNESS = 8.0  # of the smooth count of entries that round to a sign
_SPREAD = 0.5  # standard deviation of the starting entries: about a third of them round to a sign
_TEMPERATURE = 0.05  # of the logits at the start; learned


def train_signs(
    features: NDArray[np.float32], labels: NDArray[np.int64], start: NDArray[np.float64], *, rate: float, seed: Seed
) -> NDArray[np.int8]:
    """Signs (classes, features) that lower cross-entropy plus `rate` times the message length, both in nats a sample.

    Entries are rounded to -1, 0 or 1 on the way forward and treated as if they were not on the way back. What an entry
    that is not zero costs follows from how many there are, as in the adaptive code: log2((1 - p) / p) + 1 bits.
    The length of a sample's features changes no prediction of a head without bias, so it is taken out.
    """
    x = torch.from_numpy(features)
    x = x / (x.norm(dim=1, keepdim=True) + 1e-12)
    x = x / x.std().clamp(min=1e-12)
    y = torch.from_numpy(labels)
    generator = seed.torch()
    begin = _train_freely(x, y, torch.from_numpy(start).float(), generator)
    entries = (begin / begin.std().clamp(min=1e-12) * _SPREAD).requires_grad_()
    log_scale = torch.tensor(math.log(_TEMPERATURE), requires_grad=True)
    optimizer = torch.optim.Adam([entries, log_scale], lr=_RATE)
    for step in range(_STEPS):
        optimizer.param_groups[0]["lr"] = _RATE * (1 - step / _STEPS)
        picked = torch.randint(len(y), (min(_BATCH, len(y)),), generator=generator)
        soft = entries.clamp(-1, 1)
        hard = torch.round(soft)
        share = float((hard != 0).float().mean().clamp(1e-4, 0.5))
        bits = (math.log2((1 - share) / share) + 1) * torch.sigmoid(_SHARPNESS * (entries.abs() - 0.5)).sum()
        logits = log_scale.exp() * (x[picked] @ (soft + (hard - soft).detach()).T)
        loss = functional.cross_entropy(logits, y[picked]) + rate * math.log(2) * bits / len(y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    signs: NDArray[np.int8] = torch.round(entries.detach().clamp(-1, 1)).numpy().astype(np.int8)
    return signs


def _train_freely(x: torch.Tensor, y: torch.Tensor, start: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Plain logistic regression first: which entries are large then says which to begin with. Rows have mean zero."""
    weights = (start - start.mean(dim=0)).requires_grad_()
    optimizer = torch.optim.Adam([weights], lr=_RATE)
    for step in range(_FREE_STEPS):
        optimizer.param_groups[0]["lr"] = _RATE * (1 - step / _FREE_STEPS)
        picked = torch.randint(len(y), (min(_BATCH, len(y)),), generator=generator)
        loss = functional.cross_entropy(x[picked] @ weights.T, y[picked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (weights - weights.mean(dim=0)).detach()
