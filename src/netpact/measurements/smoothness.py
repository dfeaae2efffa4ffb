"""Interlayer smoothness: how far the maps between layers are from linear for the noise that compression makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from netpact.measurements.noise import NoiseMaker
from netpact.measurements.quantity import LEAST, Numbers, divide
from netpact.measurements.streaming import norms_of
from netpact.measurements.structure import Structure
from netpact.network import Network, PartialMap
from netpact.network.watching import watching
from netpact.seed import Seed


def draw_weights(structure: Structure, make_noise: NoiseMaker, *, seed: Seed) -> dict[int, Tensor]:
    """One compressed weight for every layer, by index."""
    return {layer.index: make_noise(layer.weight, seed.child("noise", layer.name)) for layer in structure.layers}


def measure_smoothness(
    network: Network, structure: Structure, inputs: Tensor, drawn: Mapping[int, Tensor]
) -> dict[int, Numbers]:
    """rho_i for each sample: the least over j > i and over two noises (Arora et al. 2018, Definition 7).

        rho = |eta| |x^j| / (|M(x^i + eta) - M(x^i) - J eta| |x^i|)

    eta is what layer i's output changes by where the weights of the layers before it are the drawn ones, and where its
    own are too: the two that the proof of Lemma 3 uses. The paper prints M(x^i + eta) - J (x^i + eta), which is the
    same without biases. One draw of the noise gives one number; the worst of a few draws stands for the quantile.
    """
    found: dict[int, Numbers] = {}
    for layer in structure.layers:
        ends = structure.ends(layer.index)
        if not ends:
            continue
        partial = PartialMap(network, layer.index, ends, inputs)
        with torch.no_grad():
            point = partial.point()
            clean = partial(point)
        worst = np.full(len(inputs), np.inf)
        for noise in _noises(network, structure, layer.index, inputs, drawn, point):
            with torch.no_grad():
                moved = partial(point + noise)
            pushed = partial.push(noise)
            for at_end, after, slope in zip(clean, moved, pushed, strict=True):
                size = (norms_of(noise) * norms_of(at_end)).numpy()
                bend = (norms_of(after - at_end - slope) * norms_of(point)).numpy()
                worst = np.minimum(worst, divide(size, bend, side=LEAST))
        found[layer.index] = worst
    return found


def _noises(
    network: Network, structure: Structure, index: int, inputs: Tensor, drawn: Mapping[int, Tensor], point: Tensor
) -> Iterator[Tensor]:
    """The change of x^i with the layers before it replaced (none for the first layer), and with it replaced as well."""
    before = {layer.name: drawn[layer.index] for layer in structure.layers if layer.index < index}
    own = {layer.name: drawn[layer.index] for layer in structure.layers if layer.index == index}
    for replaced in (before, before | own):
        if replaced:
            yield _output_with(network, replaced, index, inputs) - point


@torch.no_grad()
def _output_with(network: Network, replaced: Mapping[str, Tensor], index: int, inputs: Tensor) -> Tensor:
    found: list[Tensor] = []

    def keep(at: int, _: Tensor, output: Tensor) -> Tensor:
        if at == index:
            found.append(output)
        return output.clone()

    weights = {f"{name}.weight": weight for name, weight in replaced.items()}
    with watching(network, keep):
        torch.func.functional_call(network.module, weights, (inputs,))
    return found[0]
