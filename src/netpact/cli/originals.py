"""Networks and samples that certify and verify need beside the file: their options, and how to open them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from netpact.cli.options import BaseOptions, OwnModel
from netpact.cli.options_of import option
from netpact.core.errors import PactError
from netpact.core.limits import Limits

if TYPE_CHECKING:
    from torch import nn

    from netpact.coding.format import Pact
    from netpact.datasets import Data, Samples
    from netpact.pacts.priors import Base, Opening, Subject
    from netpact.runs import Engine


@dataclass(frozen=True, kw_only=True)
class NetworkOptions(BaseOptions):
    """Networks that a statement needs beside the file."""

    PANEL: ClassVar = "Other networks"
    model: OwnModel = ""
    original: Path | None = option(
        None, "FILE", "Weights of the network before compression: further statements, about that network."
    )


@dataclass(frozen=True, kw_only=True)
class FreshOptions:
    """Samples that no choice depends on."""

    PANEL: ClassVar = "Fresh samples"
    unlabelled: Path | None = option(
        None,
        "PLACE",
        "With --original: fresh inputs, FILE.npz with an array x, a folder of images, or a place as for --data. "
        "How often the two networks disagree, and the original's risk. "
        "Without it, the latter rests on a bound on the distance between the two networks, which is looser.",
    )
    hold_out: Path | None = option(
        None,
        "PLACE",
        "Fresh labelled samples, FILE.npz with arrays x and y, or a place as for --data: a bound with 0 bits on the "
        "risk of the network in the file and, with --original, of the original.",
    )


@dataclass(frozen=True)
class Case:
    """What certify and verify work on: a file, data, and what else was given.

    original  the network before compression
    unlabelled, hold_out  files of fresh samples
    max_parameters  that any of the networks may have, and what decoding them may cost
    engine, resume  whose workers count, and the folder for what is finished
    """

    pact: Pact
    data: Data
    model: Callable[[], nn.Module] | None
    base: Base | None
    base_data: Samples | None
    max_parameters: Limits
    original: nn.Module | None
    unlabelled: Path | None
    hold_out: Path | None
    engine: Engine | None = None
    resume: Path | None = None

    @property
    def opening(self) -> Opening:
        return {
            "model": self.model,
            "base": self.base,
            "base_data": self.base_data,
            "max_parameters": self.max_parameters,
            "engine": self.engine,
            "resume": self.resume,
        }

    def subject(self, *, repeats: bool) -> Subject:
        from netpact.pacts.priors import open_subject

        return open_subject(self.pact, self.data, repeats=repeats, **self.opening)


def open_case(
    file: Path,
    data: str,
    networks: NetworkOptions,
    fresh: FreshOptions,
    limits: Limits,
    *,
    engine: Engine | None = None,
    resume: Path | None = None,
) -> Case:
    from netpact.cli.models import own_model
    from netpact.coding.format import Pact
    from netpact.datasets import load_data

    pact = Pact.read(file)
    original = open_original(networks, fresh, limits)
    base, base_data = networks.open(limits)
    model = own_model(networks.model)
    source, unlabelled, hold_out = load_data(data), fresh.unlabelled, fresh.hold_out
    return Case(pact, source, model, base, base_data, limits, original, unlabelled, hold_out, engine, resume)


def open_original(networks: NetworkOptions, fresh: FreshOptions, limits: Limits) -> nn.Module | None:
    """A network of ours says in its file what it is; a user's own comes from --model."""
    if networks.original is None:
        if fresh.unlabelled is not None:
            raise PactError("--unlabelled needs the weights of the original network", where="--original")
        return None
    from netpact.models import import_model, load_model, load_weights

    if not networks.model:
        return load_model(networks.original, max_parameters=limits)
    module = import_model(networks.model)
    load_weights(module, networks.original)
    return module
