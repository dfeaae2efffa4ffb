"""FeatureBase: an integer network from other data, whose activations are the features that the kernel compares.

A network of real numbers gives other features on other machines, and then other samples are picked. An integer network
(method whole) gives the same integers everywhere, and how large they can be is proven from its message alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.coding.format import DEFAULT_MAX_PARAMETERS, WHOLE, Pact
from netpact.core.display import Displayed
from netpact.core.errors import PactError, wrong_kind
from netpact.core.limits import Limits
from netpact.layers.whole.account import Counted
from netpact.layers.whole.layers import WholeLayer
from netpact.layers.whole.proving import run_counted
from netpact.models import OwnModule
from netpact.network.whole_run import WholeRun

EXACT = 1 << 53  # float64 holds every integer below
_LEVEL_BITS = 22  # of logits as they are handed on: 2^10 times a sample's similarity to itself

Features = NDArray[np.float32]
Integers = NDArray[np.int64]


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
        return len(_layers_of(self.module))

    def display_facts(self) -> dict[str, object]:
        return {"name": self.name, "sha256": self.sha256, "layers": self.layers, "input_shape": self.input_shape}

    def reading(self, layer: int) -> Reading:
        """What the layer-th last layer reads. Prepared once for each layer."""
        kept = self._readings
        if layer not in kept:
            kept[layer] = Reading(self, layer)
        return kept[layer]

    @cached_property
    def _readings(self) -> dict[int, Reading]:
        return {}


class Reading:
    """Runs the base: the integers that one of its layers reads, rounded as that layer rounds them; and its logits.

    most   the largest magnitude of a feature, for every input there is
    count  of features
    """

    def __init__(self, base: FeatureBase, layer: int) -> None:
        where = f"base {base.name}"
        if not 1 <= layer <= base.layers:
            raise PactError(
                f"there is no layer {layer}; counted from the last one, 1 to {base.layers} read integers",
                where=f"{where}, layer",
                hint='the first layer reads the input itself: features="pixels" are those',
            )
        self._grid = _layers_of(base.module)[-layer].grid
        self._run = WholeRun(_Tapped(base.module, layer))
        tapped = _Tapped(base.module, layer)
        with torch.no_grad():
            run_counted(tapped, torch.zeros(1, *base.input_shape))
        self.count, self.most = tapped.entries, self._grid.most
        self._fractions, self._logit_bits = tapped.fractions, tapped.most_logit.bit_length()
        # Squares of lengths and twice a product, each of at most so many terms: no sum of them is larger.
        largest = 4 * self.count * self.most**2
        if largest >= EXACT or self.most >= 1 << 24:
            raise PactError(
                f"layer {layer} reads {self.count:,} integers up to {self.most:,}: squared distances may reach "
                f"{largest:,}, and below 2^53 they are exact",
                where=where,
                hint="take a layer that reads fewer or smaller integers",
            )

    def __call__(self, x: NDArray[np.float32]) -> tuple[Features, Integers]:
        """Features, and levels: logits times a power of two by which the largest possible one is just below 2^22."""
        if not np.isfinite(x).all():
            raise PactError("NaN or infinity in the inputs", where="inputs")
        values = self._run(np.ascontiguousarray(x, dtype=np.float32)).values.numpy()
        grid, (fraction, logit_fraction) = self._grid, self._fractions
        # Clamped multiples of 2^-fraction times a multiplier stay below 2^24: the layer itself could not run otherwise.
        read = np.clip(np.ldexp(values[:, : self.count], fraction), grid.low << fraction, grid.high << fraction)
        features = np.rint(np.ldexp(read * grid.gain, -grid.divide - fraction))
        logits = np.ldexp(values[:, self.count :], logit_fraction).astype(np.int64)
        spare = _LEVEL_BITS - self._logit_bits
        return features.astype(np.float32), logits << spare if spare >= 0 else logits >> -spare

    def finish(self) -> None:
        """After the last input: the first ones again, also in 64-bit integers by the second implementation."""
        self._run.finish()
        self._run.check_in_integers()


class _Tapped(nn.Module):
    """The network with two outputs side by side: what one of its layers reads, when it is called first; the logits."""

    def __init__(self, network: nn.Module, layer: int) -> None:
        super().__init__()
        self.network, self._layer = network, layer
        self.entries = self.most_logit = 0
        self.fractions = (0, 0)

    def forward(self, x: Tensor) -> Tensor:
        seen: list[Tensor] = []
        tap = _layers_of(self.network)[-self._layer].register_forward_pre_hook(
            lambda _, given: None if seen else seen.append(given[0].clone().flatten(1))
        )
        try:
            logits = self.network(x)
        finally:
            tap.remove()
        if not seen:
            raise PactError("the layer is there but never called", where="layer")
        if isinstance(logits, Counted) and isinstance(seen[0], Counted):
            self.entries, self.most_logit = seen[0].shape[1], logits.account.most
            self.fractions = seen[0].account.fraction, logits.account.fraction
        return torch.cat([seen[0], logits], dim=1)


def _layers_of(module: nn.Module) -> list[WholeLayer]:
    """Layers with weights, those that read the network's input left out."""
    return [part for part in module.modules() if isinstance(part, WholeLayer) and not part.grid.levels]


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
