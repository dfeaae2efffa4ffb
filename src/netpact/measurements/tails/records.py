"""What measure_tails found: fits for each layer, and where no power law fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netpact.algebra import PowerLawFit, StableFit, TailComparison
from netpact.core.display import Displayed
from netpact.core.errors import one_of

LEAST_TAIL = 50  # Clauset et al. 2009: exponents of fewer numbers are not to be relied on
LIGHT = ("exponential", "gaussian")
REJECTED = 0.1  # p-values below it reject (Clauset et al. 2009, section 4.1)

_WITHOUT = {
    "weights": "no fit of the weights",
    "eigenvalues": "no fit of the eigenvalues",
    "stable": "no stable distribution",
}


@dataclass(frozen=True)
class TailFit:
    """A power law fitted to positive numbers, and how well it fits.

    fit          alpha is the exponent of the density, w^-alpha
    comparisons  with other tails, by name
    tenth        the same of the largest tenth of the numbers, where the fitted tail is shorter; empty otherwise
    p_value      of the bootstrap; None where it was not asked for
    zeros        numbers that are 0, which were left out
    curve        (w, share of the numbers >= w) at up to 200 of them, to draw
    """

    fit: PowerLawFit
    comparisons: Mapping[str, TailComparison]
    tenth: Mapping[str, TailComparison]
    p_value: float | None
    zeros: int
    curve: tuple[tuple[float, float], ...]

    @property
    def alpha(self) -> float:
        """Of the density w^-alpha, as powerlaw and WeightWatcher count it, and Table 1 of Shin 2021."""
        return self.fit.alpha

    @property
    def tail_index(self) -> float:
        """alpha - 1: the alpha of a density w^-(alpha + 1), as the propositions of Shin 2021 count it."""
        return self.fit.alpha - 1

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why no power law fits; none where nothing speaks against one. The rule:

        the tail has fewer than 50 numbers; or the p-value, if there is one, is below 0.1; or another tail is nearer to
        the numbers, with a p-value below 0.1; or, where the tail is shorter than the largest tenth of the numbers, an
        exponential or Gaussian tail is nearer to that tenth, with a p-value below 0.1. The last is there because the
        start of the tail was chosen: some short end of Gaussian numbers looks like a power law.
        """
        found = []
        if self.fit.tail_count < LEAST_TAIL:
            found.append(f"only {self.fit.tail_count} numbers in the tail")
        if self.p_value is not None and self.p_value < REJECTED:
            found.append(f"p-value {self.p_value:.3g}")
        if nearer := _nearer(self.comparisons):
            found.append(f"nearer: {', '.join(nearer)}")
        if nearer := [name for name in _nearer(self.tenth) if name in LIGHT]:
            found.append(f"nearer to the largest tenth: {', '.join(nearer)}")
        return tuple(found)

    def to_json(self) -> dict[str, object]:
        return {
            **self.fit.to_json(),
            "tail_index": self.tail_index,
            "p_value": self.p_value,
            "zeros": self.zeros,
            "comparisons": {name: one.to_json() for name, one in self.comparisons.items()},
            "tenth": {name: one.to_json() for name, one in self.tenth.items()},
            "warnings": list(self.warnings),
        }


def _nearer(comparisons: Mapping[str, TailComparison]) -> list[str]:
    return [name for name, one in comparisons.items() if one.ratio < 0 and one.p_value < REJECTED]


@dataclass(frozen=True)
class LayerTails:
    """weights      of the magnitudes of the weights; None where there is no fit, or none was asked for
    eigenvalues  of W^T W, of the matrices that `Tails.convolution` names
    stable       of the weights themselves
    stable_rank  |W|_F^2 over the largest eigenvalue, for the matrix; None for slices and for a layer of zeros
    missing      why there is no fit, by the field's name
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    weights: TailFit | None = None
    eigenvalues: TailFit | None = None
    stable: StableFit | None = None
    stable_rank: float | None = None
    missing: Mapping[str, str] | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        found = [f"{_WITHOUT[what]}: {why}" for what, why in (self.missing or {}).items()]
        for what in ("weights", "eigenvalues"):
            fitted: TailFit | None = getattr(self, what)
            if fitted is not None and fitted.warnings:
                found.append(f"no power law established for the {what}: {'; '.join(fitted.warnings)}")
        return tuple(found)

    def to_json(self) -> dict[str, object]:
        record: dict[str, object] = {"name": self.name, "kind": self.kind, "shape": list(self.shape)}
        for what in ("weights", "eigenvalues", "stable"):
            found = getattr(self, what)
            record[what] = None if found is None else found.to_json()
        return record | {"stable_rank": self.stable_rank, "warnings": list(self.warnings)}


@dataclass(frozen=True, repr=False)
class Tails(Displayed):
    """layers: linear layers and convolutions, in the order of the module; convolution: the matrix of a convolution."""

    layers: tuple[LayerTails, ...]
    model: str
    convolution: str
    repeats: int
    seed: int
    version: str

    def layer(self, name: str) -> LayerTails:
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise one_of(name, [layer.name for layer in self.layers], option="layer")

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(f"{layer.name}: {warning}" for layer in self.layers for warning in layer.warnings)

    def to_json(self) -> dict[str, object]:
        return {
            "layers": [layer.to_json() for layer in self.layers],
            "model": self.model,
            "convolution": self.convolution,
            "repeats": self.repeats,
            "seed": self.seed,
            "version": self.version,
        }

    def display_facts(self) -> dict[str, object]:
        fitted = sum(layer.weights is not None and not layer.weights.warnings for layer in self.layers)
        told = {"model": self.model, "layers": len(self.layers), "power_law_weights": fitted}
        return told | {"convolution": self.convolution}

    def display_rows(self) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = []
        for layer in self.layers:
            row: dict[str, object] = {"layer": layer.name, "kind": layer.kind, "shape": "x".join(map(str, layer.shape))}
            for what in ("weights", "eigenvalues"):
                found: TailFit | None = getattr(layer, what)
                row[f"{what}_alpha"] = None if found is None else found.alpha
                row[f"{what}_stderr"] = None if found is None else found.fit.alpha_stderr
                row[f"{what}_tail"] = None if found is None else found.fit.tail_count
                row[f"{what}_fits"] = None if found is None else not found.warnings
            row["stable_alpha"] = None if layer.stable is None else layer.stable.alpha
            row["stable_rank"] = layer.stable_rank
            rows.append(row)
        return rows

    def display_text(self) -> str:
        from netpact.measurements.tails.wording import describe

        return describe(self)
