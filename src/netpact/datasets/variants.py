"""The same data made strange: what a search still finds when nobody can have designed a stem for it.

NAME:permuted-pixels    the places of an image permuted, all images alike, so that neighbours are none
NAME:permuted-classes   the classes numbered otherwise
NAME:random-labels      labels drawn anew, each class equally likely: no classifier's true error is below chance
NAME:sorted             the training samples in an order that nobody chose, see order.py; also FILE.npz:sorted
NAME:symmetric-0.2      label noise, see noise.py; NAME:pair-0.4, and both with -clean-test at the end
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from numpy.typing import NDArray

from netpact.core.errors import one_of
from netpact.core.seed import Seed
from netpact.datasets.noise import add_label_noise, find_noise
from netpact.datasets.order import sort_samples
from netpact.datasets.reading import SORTED
from netpact.datasets.samples import ArraySamples, Data

Part = tuple[NDArray[Any], NDArray[Any]]


def vary(data: Data, variant: str) -> Data:
    """A variant by name; what is random about it is the same every time."""
    if variant == SORTED:
        return sort_samples(data)
    varied = _vary(data, variant)
    # load_data makes no other kind of samples.
    return replace(varied, train=cast(ArraySamples, varied.train).derived_from(cast(ArraySamples, data.train)))


def _vary(data: Data, variant: str) -> Data:
    noise = find_noise(variant)
    if noise is not None:
        kind, rate, parts = noise
        return add_label_noise(data, kind=kind, rate=rate, seed=Seed(0).child("variant"), parts=parts)
    if variant not in VARIANTS:
        allowed = (*VARIANTS, SORTED, "symmetric-0.2", "pair-0.4 (any rate, maybe with -clean-test)")
        raise one_of(variant, allowed, option=f"variant of {data.name}")
    name = f"{data.name}:{variant}"

    def part(samples: ArraySamples, which: str) -> ArraySamples:
        seed = Seed(0).child("variant", variant)
        # A permutation is the same for both parts, drawn labels are not.
        inputs, labels = VARIANTS[variant](samples, seed.child(which) if variant == _DRAWN else seed)
        return replace(samples, inputs=inputs, labels=labels, name=f"{name} {which}")

    # load_data makes no other kind of samples.
    test = None if data.test is None else part(cast(ArraySamples, data.test), "test")
    return replace(data, name=name, train=part(cast(ArraySamples, data.train), "train"), test=test)


def _permute_pixels(samples: ArraySamples, seed: Seed) -> Part:
    """The channels of a pixel stay together."""
    shape = samples.input_shape
    channels = shape[0] if len(shape) == 3 else 1
    flat = samples.inputs.reshape(samples.count, channels, -1)
    order = seed.numpy().permutation(flat.shape[2])
    return flat[:, :, order].reshape(samples.inputs.shape), samples.labels


def _permute_classes(samples: ArraySamples, seed: Seed) -> Part:
    return samples.inputs, seed.numpy().permutation(samples.classes)[samples.labels]


def _draw_labels(samples: ArraySamples, seed: Seed) -> Part:
    return samples.inputs, seed.numpy().integers(0, samples.classes, samples.count)


_DRAWN = "random-labels"
VARIANTS: dict[str, Callable[[ArraySamples, Seed], Part]] = {
    "permuted-pixels": _permute_pixels,
    "permuted-classes": _permute_classes,
    _DRAWN: _draw_labels,
}
