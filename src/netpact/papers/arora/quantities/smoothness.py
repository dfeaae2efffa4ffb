"""Interlayer smoothness: how far the maps between layers are from linear for the noise that compression makes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
from torch import Tensor

from netpact.core.json import JsonValue
from netpact.core.seed import Seed
from netpact.measurements.cost import Cost, Timing
from netpact.measurements.definition import QUANTITIES, OverLayers
from netpact.measurements.noise import NoiseMaker
from netpact.measurements.numbers import pack_numbers
from netpact.measurements.passes import Context, Pass
from netpact.measurements.quantity import LEAST, Numbers, Quantity, divide, over_samples
from netpact.measurements.streaming import norms_of
from netpact.measurements.structure import Structure, WeightLayer
from netpact.network import Network, PartialMap
from netpact.network.naming import weight_name
from netpact.network.watching import watching
from netpact.runs.parcels import made_of, parcel


def draw_weights(structure: Structure, make_noise: NoiseMaker, *, seed: Seed) -> dict[int, Tensor]:
    """One compressed weight for every layer, by index; layers that share a weight share what it becomes."""
    drawn: dict[int, Tensor] = {}
    for layer in structure.layers:
        drawn.setdefault(id(layer.part.weight), make_noise(layer.weight, seed.child("noise", layer.name)))
    return {layer.index: drawn[id(layer.part.weight)] for layer in structure.layers}


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
    replaced = _run_replaced(network, structure, inputs, drawn)
    for layer in structure.layers:
        ends = structure.ends(layer.index)
        if not ends:
            continue
        partial = PartialMap(network, layer.index, ends, inputs)
        with torch.no_grad():
            point = partial.point()
            clean = partial(point)
        worst = np.full(len(inputs), np.inf)
        for output in replaced[layer.index]:
            noise = output - point
            with torch.no_grad():
                moved = partial(output)
            pushed = partial.push(noise)
            for at_end, after, slope in zip(clean, moved, pushed, strict=True):
                size = (norms_of(noise) * norms_of(at_end)).numpy()
                bend = (norms_of(after - at_end - slope) * norms_of(point)).numpy()
                worst = np.minimum(worst, divide(size, bend, side=LEAST))
        found[layer.index] = worst
    return found


@torch.no_grad()
def _run_replaced(
    network: Network, structure: Structure, inputs: Tensor, drawn: Mapping[int, Tensor]
) -> dict[int, tuple[Tensor, ...]]:
    """x^i of every layer with the weights before it replaced (not for the first), and with its own replaced as well.

    One pass with all weights replaced gives both: no layer sees what comes after it, and the first of the two is what
    the layer's own weights make of the input that it receives in that pass.
    """
    found: dict[int, tuple[Tensor, ...]] = {}
    parts = {layer.index: layer.part for layer in structure.layers[1:]}
    received: dict[int, Tensor] = {}

    def keep(index: int, given: Tensor, output: Tensor) -> Tensor:
        if index in drawn:
            received[index], found[index] = given, (output,)
        return output.clone()

    # A weight that several layers share is set under its first name: the others follow.
    first = {id(layer.part.weight): weight_name(layer.name) for layer in reversed(structure.layers)}
    weights = {first[id(layer.part.weight)]: drawn[layer.index] for layer in structure.layers}
    with watching(network, keep, copy_inputs=True):
        torch.func.functional_call(network.module, weights, (inputs,))
    return {index: (*((parts[index](received[index]),) if index in parts else ()), *found[index]) for index in found}


def noise_in_shard(context: str, shard: str, batch: int) -> JsonValue:
    """The worst of a few draws, for one shard, which is one batch; context and shard are parcels."""
    own, given = parcel(context), parcel(shard)
    [(inputs, _, _)] = given.batches(batch)
    worst: dict[str, Numbers] = {}
    for draw in range(own.options.draws):
        # Drawn once in each process, however many shards it has.
        drawn = made_of(context, f"noise {draw}", partial(_draw, draw=draw))
        for index, found in measure_smoothness(own.network, own.structure, torch.from_numpy(inputs), drawn).items():
            worst[str(index)] = np.minimum(worst.get(str(index), found), found)
    return pack_numbers(worst)


def _draw(context: Context, *, draw: int) -> dict[int, Tensor]:
    options = context.options
    return draw_weights(context.structure, options.noise, seed=options.seed.child("smoothness", draw))


def _run(context: Context) -> dict[int, Numbers]:
    numbers = context.numbers(noise_in_shard, drawn=True, steps=context.options.draws)
    return {int(index): found for index, found in numbers.items()}


def _forecast(timing: Timing) -> Cost | None:
    structure, chosen, draws = timing.context.structure, len(timing.context.inputs), timing.context.options.draws
    if not any(structure.ends(index) for index in structure.indices):
        return None
    # One compressed pass; for each layer a plain one up to it, and after it two moved ones and two derivatives.
    each = timing.plain + len(structure.layers) * (2 * timing.plain + 2 * timing.push)
    return Cost(chosen * draws * each, f"{chosen:,} samples x {draws * 2 * len(structure.layers)} noises")


NOISE = Pass("noise", _run, steps=lambda context: len(context.inputs) * context.options.draws, forecast=_forecast)


def _smoothness(layer: WeightLayer, context: Context) -> Quantity | None:
    """Never exact: it is about the worst of all noises but a few."""
    numbers = context[NOISE].get(layer.index)
    return None if numbers is None else over_samples(numbers, side=LEAST, complete=False)


QUANTITIES.add(
    OverLayers(
        "interlayer_smoothness",
        _smoothness,
        symbol="rho",
        title="interlayer smoothness",
        needs=(NOISE,),
        reference="Arora et al. 2018, Definition 7",
        meaning="closer to linear under noise",
    )
)
