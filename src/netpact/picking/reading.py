"""Reading: what one layer of an integer network reads, and its logits, as integers that are never too large."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.layers.whole.account import Counted
from netpact.layers.whole.layers import WholeLayer
from netpact.layers.whole.proving import run_counted
from netpact.network.whole_run import WholeRun

EXACT = 1 << 53  # float64 holds every integer below
LOGITS = 0  # in place of a layer: its logits alone
_LEVEL_BITS = 22  # of logits as they are handed on: 2^10 times a sample's similarity to itself

Features = NDArray[np.float32]
Integers = NDArray[np.int64]


class Reading:
    """Runs the base: the integers that one of its layers reads, rounded as that layer rounds them; and its logits.

    layer  counted from the last one; LOGITS: no features
    most   the largest magnitude of a feature, for every input there is
    count  of features
    """

    def __init__(self, module: nn.Module, layer: int, *, input_shape: tuple[int, ...], name: str) -> None:
        layers, where = layers_of(module), f"base {name}"
        if not LOGITS <= layer <= len(layers):
            raise PactError(
                f"there is no layer {layer}; counted from the last one, 1 to {len(layers)} read integers",
                where=f"{where}, layer",
                hint='the first layer reads the input itself: features="pixels" are those',
            )
        self._grid = None if layer == LOGITS else layers[-layer].grid
        self._run = WholeRun(_Tapped(module, layer))
        tapped = _Tapped(module, layer)
        with torch.no_grad():
            run_counted(tapped, torch.zeros(1, *input_shape))
        self.count, self.most = tapped.entries, 0 if self._grid is None else self._grid.most
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
        fraction, logit_fraction = self._fractions
        features = values[:, : self.count]
        if self._grid is not None:
            # Clamped multiples of 2^-fraction times a multiplier stay below 2^24: the layer could not run otherwise.
            low, high = self._grid.low << fraction, self._grid.high << fraction
            features = np.clip(np.ldexp(features, fraction), low, high)
            features = np.rint(np.ldexp(features * self._grid.gain, -self._grid.divide - fraction))
        logits = np.ldexp(values[:, self.count :], logit_fraction).astype(np.int64)
        spare = _LEVEL_BITS - self._logit_bits
        return features.astype(np.float32), logits << spare if spare >= 0 else logits >> -spare

    def finish(self) -> None:
        """After the last input: the first ones again, also in 64-bit integers by the second implementation."""
        self._run.finish()
        self._run.check_in_integers()


class _Tapped(nn.Module):
    """The network with two outputs side by side: what one of its layers reads, when it is called first; the logits.

    Of LOGITS nothing is read: no columns come before those of the logits.
    """

    def __init__(self, network: nn.Module, layer: int) -> None:
        super().__init__()
        self.network, self._layer = network, layer
        self.entries = self.most_logit = 0
        self.fractions = (0, 0)

    def forward(self, x: Tensor) -> Tensor:
        seen: list[Tensor] = []
        if self._layer == LOGITS:
            logits = self.network(x)
        else:
            tap = layers_of(self.network)[-self._layer].register_forward_pre_hook(
                lambda _, given: None if seen else seen.append(given[0].clone().flatten(1))
            )
            try:
                logits = self.network(x)
            finally:
                tap.remove()
            if not seen:
                raise PactError("the layer is there but never called", where="layer")
        if isinstance(logits, Counted):
            self.most_logit, fraction = logits.account.most, logits.account.fraction
            self.fractions = fraction, fraction
            if seen and isinstance(seen[0], Counted):
                self.entries, self.fractions = seen[0].shape[1], (seen[0].account.fraction, fraction)
        return torch.cat([*seen, logits], dim=1)


def layers_of(module: nn.Module) -> list[WholeLayer]:
    """Layers with weights, those that read the network's input left out."""
    return [part for part in module.modules() if isinstance(part, WholeLayer) and not part.grid.levels]
