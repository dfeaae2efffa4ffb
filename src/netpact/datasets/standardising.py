"""Standardised inputs, (x - mean) / std, with constants that were fixed before the sample was drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from netpact.core.checks import check_number, plain
from netpact.core.errors import PactError
from netpact.datasets.arrays import rows_at_once

if TYPE_CHECKING:
    from netpact.datasets.samples import Data, Samples

_LARGEST = 1e30
_MEAN_APART, _STD_APART = 5e-4, 5e-3  # of a standard deviation: agreement to three digits
_HINT = "write MEAN/STD, one number each or one for each channel: 0.5/0.5, or 0.4,0.5,0.6/0.2,0.2,0.2"


@dataclass(frozen=True)
class Standardise:
    """(x - mean) / std for each channel, or for each feature of a vector; one number each stands for all of them.

    Each constant is rounded to float32 first, then the difference and the quotient: what torchvision's Normalize
    computes after ToTensor, bit for bit. A fixed function of a single sample, if the constants do not depend on the
    sample; that is declared, and a certificate says so.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        for name, least in (("mean", -_LARGEST), ("std", 1 / _LARGEST)):
            given = plain(getattr(self, name))
            numbers = tuple(given) if isinstance(given, (tuple, list)) else (given,)
            if not numbers:
                raise PactError("no numbers", where=f"standardise, {name}", hint=_HINT)
            checked = tuple(
                float(check_number(plain(number), where=f"standardise, {name}", least=least, most=_LARGEST))
                for number in numbers
            )
            object.__setattr__(self, name, checked)
        if len(self.mean) != len(self.std):
            raise PactError(f"{len(self.mean)} means and {len(self.std)} stds", where="standardise", hint=_HINT)

    def __str__(self) -> str:
        """Every digit that counts: the text gives the same record again."""
        return "/".join(",".join(map(repr, numbers)) for numbers in (self.mean, self.std))

    def check_shape(self, input_shape: tuple[int, ...], *, where: str) -> None:
        if len(self.mean) not in (1, input_shape[0]):
            raise PactError(
                f"{len(self.mean)} constants for inputs of shape {input_shape}: one is allowed, or {input_shape[0]}",
                where=f"{where}, standardise",
                hint=_HINT,
            )

    def apply(self, x: NDArray[np.float32], *, where: str) -> NDArray[np.float32]:
        """In place, on a batch (n, *input_shape)."""
        shape = (-1, *(1,) * (x.ndim - 2))
        with np.errstate(over="raise"):
            try:
                x -= np.array(self.mean, dtype=np.float32).reshape(shape)
                x /= np.array(self.std, dtype=np.float32).reshape(shape)
            except FloatingPointError as error:
                raise PactError("a standardised input is too large for float32", where=where) from error
        return x


def parse_standardise(text: str) -> Standardise:
    try:
        mean, std = (tuple(map(float, part.split(","))) for part in text.split("/"))
    except ValueError as error:
        raise PactError(f"{text!r:.100} is not understood", where="standardise", hint=_HINT) from error
    return Standardise(mean, std)


def constants_of(samples: object) -> Standardise | None:
    """The declared constants by which these samples are standardised."""
    found: Standardise | None = getattr(samples, "standardised", None)
    return found


def standardise(data: Data, constants: Standardise) -> Data:
    """The same data, all parts standardised. The constants have to be fixed before the sample was drawn."""
    if data.standardised is not None:
        raise PactError(f"already standardised by {data.standardised}", where=data.name, hint="do it once")
    if data.layout:
        raise PactError("only one tensor of real numbers can be standardised", where=data.name)
    name = f"{data.name}:standardise={constants}"
    train = standardise_samples(data.train, constants, name=f"{name} train")
    test = None if data.test is None else standardise_samples(data.test, constants, name=f"{name} test")
    return replace(data, name=name, train=train, test=test, standardised=constants)


def standardise_samples(samples: Samples, constants: Standardise, *, name: str) -> Samples:
    """Batch by batch; samples of a loader are read once more for their fingerprint."""
    from netpact.datasets.samples import ArraySamples
    from netpact.datasets.streams import StreamSamples, open_stream

    if constants_of(samples) is not None:
        raise PactError(f"already standardised by {constants_of(samples)}", where=samples.name, hint="do it once")
    if isinstance(samples, ArraySamples):
        return replace(samples, name=name, standardised=constants).derived_from(samples)
    if isinstance(samples, StreamSamples):
        return open_stream(samples.loader, name=name, classes=samples.classes, standardised=constants)
    raise PactError(f"{type(samples).__name__} cannot be standardised", where=samples.name)


def looks_computed(samples: Samples) -> bool:
    """Whether the inputs have mean 0 and standard deviation 1 to three digits, in all channels or altogether.

    Then the constants were most likely computed from this very sample: a coincidence has a chance of about one in a
    thousand for each number. The deviation may also be the average of those of single samples, which is in use too.
    """
    if getattr(samples, "layout", ()):
        return False
    count = 0
    sums = squares = within = np.zeros(1)
    for x, _ in samples.batches(rows_at_once(samples.input_shape)):
        flat = x.reshape(len(x), x.shape[1], -1).astype(np.float64)
        sums = sums + flat.sum(axis=(0, 2))
        squares = squares + (flat**2).sum(axis=(0, 2))
        within = within + flat.std(axis=2).sum(axis=0)
        count += len(x)
    places = int(np.prod(samples.input_shape[1:]))
    mean, square, each = sums / (count * places), squares / (count * places), within / count
    return any(
        bool(np.all(np.abs(middle) <= _MEAN_APART))
        and any(bool(np.all(np.abs(spread - 1) <= _STD_APART)) for spread in spreads)
        for middle, spreads in (
            (mean, (np.sqrt(np.maximum(square - mean**2, 0)), each)),
            (mean.mean(), (np.sqrt(max(square.mean() - mean.mean() ** 2, 0)),)),
        )
    )


COMPUTED = (
    "the inputs have mean 0 and standard deviation 1 to three digits: the constants look computed from this sample, "
    "and then no guarantee holds"
)
WAY_OUT = "give the inputs as they are, and put the constants into the module as buffers, which are encoded and counted"


def refuse_computed_constants(data: Data) -> None:
    """Before a certificate is made that would be knowingly false."""
    if data.standardised is not None and looks_computed(data.train):
        raise PactError(COMPUTED, where=f"{data.name}, standardise", hint=WAY_OUT)
