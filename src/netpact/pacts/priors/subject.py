"""What a statement is about: a file, data, and the other networks that it needs. Each of them is opened once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypedDict

from torch import nn

from netpact.certificates import Certificate
from netpact.certificates.names import make_name
from netpact.coding.format import DEFAULT_MAX_PARAMETERS, Compressed, Header, Pact, as_pact, seal
from netpact.coding.format.loading import open_network
from netpact.core.errors import PactError
from netpact.core.limits import Limits
from netpact.datasets import Data, Samples, Split, as_data, standardise
from netpact.datasets.standardising import parse_standardise
from netpact.models import OwnModel, OwnModule, as_model, hash_source, name_model
from netpact.network.adapting import adapt
from netpact.network.refusals.hidden_state import open_own_module
from netpact.pacts.priors.base import Base, as_base
from netpact.pacts.priors.ground import Ground, find_ground
from netpact.pacts.priors.travelling import subject_parcel
from netpact.runs import Engine
from netpact.runs.parcels import Parcel
from netpact.shards import HERE, Execution


@dataclass(frozen=True, eq=False)
class Subject:
    """All that one call of certify, of verify or of their relatives works on.

    Header, network and ground are found when they are first asked for, so that cheap comparisons come before the
    decoding. They are then kept: every part of the call sees the same ones. Whoever runs the module takes a copy.

    repeats  the distribution is declared to repeat values
    helper   name of the helper network that a certificate states; "" where none does
    execution  who goes through the samples, and where finished counts are kept
    """

    pact: Pact
    data: Data
    model: OwnModel | None
    base: Base | None
    base_data: Samples | None
    repeats: bool
    max_parameters: Limits | int
    helper: str = ""
    execution: Execution = HERE

    def as_stated(self, certificate: Certificate) -> Subject:
        """What the certificate is about: whether values repeat, the inputs' constants, a helper."""
        helper = "" if certificate.helper is None else certificate.helper.name
        data = self.data
        if certificate.standardised and data.standardised is None:
            data = standardise(data, parse_standardise(certificate.standardised))
        return replace(self, data=data, repeats=certificate.repeats, helper=helper)

    def with_arithmetic(self, arithmetic: str) -> Subject:
        """The same network with another arithmetic in its message. What was stated about the old message goes."""
        shell = self.model if self.model is None or isinstance(self.model, nn.Module) else self.model()
        compressed = self.pact.decode(shell, max_parameters=self.max_parameters)
        return replace(self, pact=seal(replace(compressed, arithmetic=arithmetic)))

    @cached_property
    def header(self) -> Header:
        return self.pact.header

    @property
    def module(self) -> nn.Module:
        """The decoded network. The data must have its shapes, and a user's module must not hide state."""
        return self._network[0]

    @cached_property
    def parcel(self) -> Parcel:
        """The decoded network as it travels to workers."""
        return subject_parcel(self)

    @cached_property
    def ground(self) -> Ground:
        own = isinstance(self.header.architecture, OwnModule)
        return find_ground(self._network[1], self.data, self.base, self.base_data, own=own, repeats=self.repeats)

    @property
    def module_name(self) -> str:
        """Of a user's own module; "" for an architecture of ours."""
        return "" if self.model is None else make_name(name_model(self.model))

    @cached_property
    def module_sha256(self) -> str:
        """Of its code; also "" where the source is not available."""
        return "" if self.model is None else hash_source(self.model, self.module)

    @cached_property
    def _network(self) -> tuple[nn.Module, Split | None]:
        """The symbols are not kept: they would take as much memory as the weights while errors are counted."""
        architecture, data = self.header.architecture, self.data
        for what, wanted, given in (
            ("inputs of shape", architecture.input_shape, data.input_shape),
            ("classes:", architecture.classes, data.classes),
        ):
            if wanted != given:
                raise PactError(f"the network takes {what} {wanted}, the data have {given}", where=data.name)
        if not isinstance(architecture, OwnModule):
            if self.model is not None:
                raise PactError(
                    f"this file holds netpact's own architecture {architecture}", hint="leave the model out"
                )
            (module,), split = self._decode([None])
            return module, split
        if self.model is None:
            raise PactError(
                "this file holds the weights of a user's own module",
                where="message",
                hint="supply it: model=function in Python, --model package.module:function on the command line",
            )
        inputs, _ = next(iter(data.train.batches(64)))
        decoded: list[Split | None] = []

        def load(shells: list[nn.Module]) -> list[nn.Module]:
            modules, split = self._decode(shells)
            decoded.append(split)
            return modules

        return open_own_module(load, self.model, inputs, self._adapt), decoded[0]

    def _adapt(self, module: nn.Module) -> nn.Module:
        """The output is in the message, the layout in the data's fingerprint."""
        architecture, layout = self.header.architecture, self.data.layout
        assert isinstance(architecture, OwnModule)
        if not (layout or architecture.output or architecture.classes == 2):
            return module
        return adapt(module, layout, architecture.output, classes=architecture.classes)

    def _decode(self, shells: Sequence[nn.Module | None]) -> tuple[list[nn.Module], Split | None]:
        """One decoding, however many copies are filled from it."""
        compressed = self.pact.decode(shells[0], max_parameters=self.max_parameters)
        if self.helper and self.base is None and compressed.split is not None:
            raise PactError(
                f"this message is encoded against the helper network {self.helper}",
                where="message",
                hint="supply it: --base FILE, or base=open_base(path) in Python; or train it again by the recipe in "
                "the file: --retrain, or base=retrain_helper(pact, data)",
            )
        return [open_network(compressed, shell, self.base) for shell in shells], compressed.split


class Opening(TypedDict, total=False):
    """What opens a file for verify and its relatives, and who counts: the same keywords, with the same meaning."""

    model: OwnModel | str | None
    base: Base | str | Path | None
    base_data: object
    max_parameters: Limits | int
    engine: Engine | None
    resume: str | Path | None


def execution_of(opening: Opening) -> Execution:
    """Who counts, where there is nothing to open."""
    resume = opening.get("resume")
    return Execution(opening.get("engine"), None if resume is None else Path(resume))


def open_subject(
    pact: Pact | Compressed | str | Path,
    data: Data | object,
    *,
    model: object = None,
    base: Base | str | Path | None = None,
    base_data: object = None,
    repeats: bool = False,
    max_parameters: Limits | int = DEFAULT_MAX_PARAMETERS,
    engine: Engine | None = None,
    resume: str | Path | None = None,
) -> Subject:
    """Records stay what they are; names and paths are opened. Anything else is refused.

    engine  whose workers go through the samples; None: this process
    resume  a folder for what has been counted so far
    """
    return Subject(
        as_pact(pact),
        as_data(data),
        as_model(model),
        as_base(base, max_parameters=max_parameters),
        None if base_data is None else as_data(base_data).train,
        repeats,
        max_parameters,
        execution=execution_of({"engine": engine, "resume": resume}),
    )
