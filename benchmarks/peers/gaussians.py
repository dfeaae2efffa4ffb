"""A Gaussian posterior over the weights of an MLP, trained to lower a PAC-Bayes bound: what pacbb would be asked to do.

The method is PAC-Bayes with backprop (Perez-Ortiz et al. 2021): independent Gaussian weights, a prior with the same
standard deviation everywhere, the quadratic objective, and at the end the PAC-Bayes-kl bound on the 0-1 error.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import torch
from bounds import pac_bayes_kl_bound
from torch import Tensor, nn
from torch.nn import functional

from netpact.certificates import risk_bound
from netpact.core.seed import Seed
from netpact.datasets import Samples
from netpact.training.memory import Memory, gather

_LEAST_PROBABILITY = 1e-5  # below it the cross entropy is cut off, so that the loss is bounded
_BATCH = 250
_RATE = 1e-3
_DRAWS = 10  # fresh networks for each sample when errors are counted
_MONTE_CARLO_SHARE = 0.2  # of delta goes to the errors being counted on drawn networks


@dataclass(frozen=True)
class Gibbs:
    """What was measured of a posterior: the average network's errors, KL(Q || P) in nats, and the bound."""

    gibbs_error: float
    test_error: float
    divergence: float
    samples: int
    bound: float
    seconds: float


class GaussianLayer(nn.Module):
    """A linear layer with independent Gaussian weights; a fresh network is drawn for every sample of a batch.

    A sum of independent Gaussian weights times fixed inputs is Gaussian, so the outputs are drawn instead of the
    weights (Kingma, Salimans and Welling 2015): the same distribution, and the samples' networks are independent.
    """

    def __init__(self, linear: nn.Linear, *, prior_std: float) -> None:
        super().__init__()
        self.prior_std = prior_std
        self.means = nn.ParameterList([linear.weight.detach().clone(), linear.bias.detach().clone()])
        self.log_stds = nn.ParameterList([torch.full_like(mean, math.log(prior_std)) for mean in self.means])
        self.prior_means = [mean.detach().clone() for mean in self.means]

    def draw(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        variances = [(2 * log_std).exp() for log_std in self.log_stds]
        mean = functional.linear(inputs, self.means[0], self.means[1])
        std = functional.linear(inputs.square(), variances[0], variances[1]).clamp(min=1e-16).sqrt()
        return mean + std * torch.randn(mean.shape, generator=generator)

    def divergence(self) -> Tensor:
        """KL(Q || P) = sum over weights of ln(s0/s) + (s^2 + (m - m0)^2) / (2 s0^2) - 1/2."""
        total = torch.zeros(())
        for mean, log_std, prior in zip(self.means, self.log_stds, self.prior_means, strict=True):
            spread = (2 * log_std).exp() + (mean - prior).square()
            total = total + (math.log(self.prior_std) - log_std + spread / (2 * self.prior_std**2) - 0.5).sum()
        return total


def train_gaussian(
    prior: nn.Module,
    *,
    fit_on: Samples,
    certify_on: Samples,
    test: Samples,
    prior_std: float,
    epochs: int,
    delta: float,
    seed: Seed,
) -> Gibbs:
    """Start the posterior at the prior, an MLP, and lower the bound; certify_on must be what the prior has not seen."""
    started = time.perf_counter()
    layers = [GaussianLayer(part, prior_std=prior_std) for part in prior.modules() if isinstance(part, nn.Linear)]
    fitted, certified = gather(fit_on), gather(certify_on)
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=_RATE)
    for epoch in range(epochs):
        order = torch.randperm(fitted.count, generator=seed.child("order", epoch).torch())
        generator = seed.child("draws", epoch).torch()
        for picked in order.split(_BATCH):
            loss = _bounded_loss(layers, fitted, picked, generator)
            divergence = torch.stack([layer.divergence() for layer in layers]).sum()
            price = (divergence + math.log(2 * math.sqrt(certified.count) / delta)) / (2 * certified.count)
            objective = ((loss + price).sqrt() + price.sqrt()).square()
            optimizer.zero_grad()
            objective.backward()
            optimizer.step()
    with torch.no_grad():
        divergence_now = float(torch.stack([layer.divergence().double() for layer in layers]).sum())
    wrong, drawn = count_gibbs_errors(layers, certified, seed.child("count").torch())
    test_wrong, test_drawn = count_gibbs_errors(layers, gather(test), seed.child("test").torch())
    # Independent draws with the average network's error as their mean: Chernoff's kl bound holds for their sum.
    shown = risk_bound(errors=wrong, samples=drawn, code_bits=0, delta=_MONTE_CARLO_SHARE * delta, form="kl")
    bound = pac_bayes_kl_bound(
        gibbs_error=shown,
        divergence=divergence_now,
        samples=certified.count,
        delta=(1 - _MONTE_CARLO_SHARE) * delta,
    )
    seconds = time.perf_counter() - started
    return Gibbs(wrong / drawn, test_wrong / test_drawn, divergence_now, certified.count, bound, seconds)


def _bounded_loss(layers: list[GaussianLayer], data: Memory, picked: Tensor, generator: torch.Generator) -> Tensor:
    inputs, labels = data.pick(picked)
    log_probabilities = _logits(layers, inputs, generator).log_softmax(dim=1).clamp(min=math.log(_LEAST_PROBABILITY))
    return functional.nll_loss(log_probabilities, labels) / math.log(1 / _LEAST_PROBABILITY)


def _logits(layers: list[GaussianLayer], inputs: Tensor, generator: torch.Generator) -> Tensor:
    hidden = inputs.flatten(1)
    for number, layer in enumerate(layers):
        hidden = layer.draw(hidden if number == 0 else functional.relu(hidden), generator)
    return hidden


@torch.no_grad()
def count_gibbs_errors(layers: list[GaussianLayer], data: Memory, generator: torch.Generator) -> tuple[int, int]:
    """Errors of networks drawn afresh for every sample and every pass, and how many were drawn."""
    wrong = 0
    for _ in range(_DRAWS):
        for places in torch.arange(data.count).split(2_000):
            inputs, labels = data.pick(places)
            wrong += int((_logits(layers, inputs, generator).argmax(dim=1) != labels).sum())
    return wrong, _DRAWS * data.count
