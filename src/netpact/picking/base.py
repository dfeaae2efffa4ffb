"""FeatureBase: an integer network from other data, whose activations are the features that the kernel compares.

A network of real numbers gives other features on other machines, and then other samples are picked. An integer network
(method whole) gives the same integers everywhere, and how large they can be is proven from its message alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from torch import nn

from netpact.coding.format import DEFAULT_MAX_PARAMETERS, WHOLE, Pact
from netpact.core.display import Displayed
from netpact.core.errors import PactError, wrong_kind
from netpact.core.limits import Limits
from netpact.models import OwnModule
from netpact.picking.reading import Reading, layers_of


@dataclass(frozen=True, eq=False, repr=False)
class FeatureBase(Displayed):
    """The base, identified by the sha256 of its message: all that its features depend on.

    module  the decoded network
    """

    name: str
    pact: Pact
    module: nn.Module

    @property
    def sha256(self) -> str:
        return self.pact.message_sha256

    @property
    def data_fingerprint(self) -> str:
        """Of what it was trained on, as its file says; "" if it does not. It is believed in this."""
        return "" if self.pact.certificate is None else self.pact.certificate.data_fingerprint

    @cached_property
    def input_shape(self) -> tuple[int, ...]:
        return self.pact.architecture.input_shape

    @cached_property
    def classes(self) -> int:
        return self.pact.architecture.classes

    @cached_property
    def layers(self) -> int:
        """How many layers can be named."""
        return len(layers_of(self.module))

    def display_facts(self) -> dict[str, object]:
        return {"name": self.name, "sha256": self.sha256, "layers": self.layers, "input_shape": self.input_shape}

    def reading(self, layer: int) -> Reading:
        """What the layer-th last layer reads. Prepared once for each layer."""
        kept = self._readings
        if layer not in kept:
            kept[layer] = Reading(self.module, layer, input_shape=self.input_shape, name=self.name)
        return kept[layer]

    @cached_property
    def _readings(self) -> dict[int, Reading]:
        return {}


def as_feature_base(
    source: FeatureBase | Pact | str | Path | object, *, max_parameters: Limits | int = DEFAULT_MAX_PARAMETERS
) -> FeatureBase | None:
    """A base from a .pact file of an integer network; None stays None."""
    if source is None or isinstance(source, FeatureBase):
        return source
    if isinstance(source, Pact):
        pact, name = source, "base"
    elif isinstance(source, (str, Path)):
        pact, name = Pact.read(source), Path(source).stem
    else:
        raise wrong_kind(source, needed="an integer network as a .pact file", where="base", hint="base=PATH")
    header, where = pact.header, f"base {name}"
    if isinstance(header.architecture, OwnModule):
        raise PactError(
            "its network is a user's own module, whose code is not in the file",
            where=where,
            hint="take one of netpact's architectures as the base (netpact models are listed by netpact info --help)",
        )
    if header.arithmetic != WHOLE:
        raise PactError(
            f"its arithmetic is {header.arithmetic}: features would be real numbers, and differ between machines",
            where=where,
            hint="compress the base with the method whole, on its own data: netpact compress ... --method whole",
        )
    return FeatureBase(name, pact, pact.to_module(max_parameters=max_parameters))
