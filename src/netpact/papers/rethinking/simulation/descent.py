"""Gradient descent with momentum on the layers of a CP network with K kernels, as Figure 7 trains them."""

from __future__ import annotations

import numpy as np

from netpact.papers.rethinking.simulation.families import CP, Array
from netpact.papers.rethinking.simulation.fitting import Fit, Samples

_RATE, _MOMENTUM = 0.01, 0.9  # section 4.1


def descend(
    samples: Samples, family: CP, kernels: int, rng: np.random.Generator, *, count: int, steps: int, tolerance: float
) -> Fit:
    """Minimise the mean squared error over the factors of the kernels, the factor of the K output channels, and B.

    The start is drawn like a true network of unit norm. The end is where every mean squared error of the batch has
    dropped by less than `tolerance` in a step, or after so many steps.

    count  samples behind the rows
    """
    batch = len(samples.targets)
    channels = np.linalg.qr(rng.standard_normal((batch, kernels, family.kernels)))[0]
    head = rng.standard_normal((batch, samples.geometry.places, kernels))
    values = [family.draw(rng, batch), channels, head]
    drawn = family.build(values[0]) @ (head @ channels).transpose(0, 2, 1)
    head /= np.linalg.norm(drawn, axis=(1, 2))[:, None, None]
    speeds = [np.zeros_like(value) for value in values]
    before = np.full(batch, np.inf)
    loss = before
    taken = 0
    while taken < steps:
        taken += 1
        loss, slopes = _slopes(samples, family, values, count)
        if (before - loss < tolerance).all():
            break
        before = loss
        for value, speed, slope in zip(values, speeds, slopes, strict=True):
            speed *= _MOMENTUM
            speed -= _RATE * slope
            value += speed
    return Fit(family.build(values[0]), head @ channels, loss * count, taken)


def _slopes(samples: Samples, family: CP, values: list[Array], count: int) -> tuple[Array, list[Array]]:
    """The squared errors over `count`, and their derivatives by parameters, factor of the channels and B."""
    parameters, channels, head = values
    kernels, output = family.build(parameters), head @ channels
    placed = samples.geometry.place(kernels @ output.transpose(0, 2, 1))
    residual = (samples.located @ placed[..., None])[..., 0] - samples.targets
    loss = np.einsum("zk,zk->z", residual, residual) / count
    pulled = samples.geometry.pull((residual[:, None] @ samples.located)[:, 0]) * (2 / count)
    by_kernel, by_output = pulled @ output, pulled.transpose(0, 2, 1) @ kernels
    by_parameters = family.pull(parameters, by_kernel.transpose(0, 2, 1)[:, :, None])[:, 0]
    return loss, [by_parameters, head.transpose(0, 2, 1) @ by_output, by_output @ channels.transpose(0, 2, 1)]
