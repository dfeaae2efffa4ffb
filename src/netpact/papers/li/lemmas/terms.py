"""Lemmas D.4, E.8 and F.3 as arithmetic: from a few numbers of each layer to a bound on |f - f^| / |f|."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate

from netpact.algebra.outward import round_up_float
from netpact.core.json import finite


@dataclass(frozen=True, kw_only=True)
class LayerTerm:
    """One layer of which `rank` of `components` components are kept, M^ in the place of M.

    noise   how much of |X| is lost at most, X the layer's input on the samples: L (rho xi + residual), with L the
            Lipschitz constant of what lies between the layer and the next one, or the output
    gain    how much an error of X is enlarged at most: L t, t that of the kept rank, and 1 more with a skip
    signal  how much of |X| is left at least: zeta |M|_F, so that |X'| >= signal |X| for the next layer's input X'
    """

    name: str
    rank: int
    components: int
    noise: float
    gain: float
    signal: float

    @property
    def added(self) -> float:
        """What the layer adds to the relative error."""
        return _ratio(self.noise, self.signal)

    @property
    def enlarged(self) -> float:
        """What it makes of the relative error of its input."""
        return _ratio(self.gain, self.signal)

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "rank": self.rank,
            "components": self.components,
            "added": finite(self.added),
            "enlarged": finite(self.enlarged),
        }


@dataclass(frozen=True, kw_only=True)
class LemmaBound:
    """What a lemma says of |X - X^| / |X| at every layer, and of |f - f^| / |f|, on the samples of the measurements:

        e_1 = 0,   e_(k+1) = (gain_k e_k + noise_k) / signal_k

    which is  sum_k noise_k / signal_k prod_{l > k} gain_l / signal_l  at the output.

    name     "D.4", "E.8" or "F.3"
    printed  with the paper's conventions, for which the lemma does not hold
    """

    name: str
    printed: bool
    layers: tuple[LayerTerm, ...]

    @property
    def errors(self) -> tuple[float, ...]:
        """Behind each layer: a bound on |X - X^| / |X| for the input X of the next one."""
        return tuple(accumulate(self.layers, _step, initial=0.0))[1:]

    @property
    def error(self) -> float:
        """At the output: |f - f^| <= error |f|."""
        return self.errors[-1]

    @property
    def shares(self) -> tuple[float, ...]:
        """Each layer's own part of the error at the output; they add up to it, but for rounding."""
        ahead = list(
            accumulate(reversed(self.layers[1:]), lambda found, layer: _times(layer.enlarged, found), initial=1.0)
        )
        return tuple(_times(layer.added, found) for layer, found in zip(self.layers, reversed(ahead), strict=True))

    def to_json(self) -> dict[str, object]:
        return {
            "lemma": self.name,
            "printed": self.printed,
            "error": finite(self.error),
            "layers": [
                {**layer.to_json(), "error": finite(error), "share": finite(share)}
                for layer, error, share in zip(self.layers, self.errors, self.shares, strict=True)
            ],
        }


def _step(error: float, layer: LayerTerm) -> float:
    return round_up_float(_times(layer.enlarged, error) + layer.added)


def _ratio(above: float, below: float) -> float:
    """0 / 0 is 0: a layer that changes nothing adds nothing, whatever its cushion."""
    if above == 0:
        return 0.0
    return round_up_float(above / below) if below > 0 else math.inf


def _times(one: float, other: float) -> float:
    """0 times infinity is 0: no error is there, so none is enlarged."""
    return one * other if one and other else 0.0
