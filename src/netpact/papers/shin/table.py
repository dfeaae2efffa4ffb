"""Table 1 for any networks: the accuracy before and after the final dense layer's small weights became noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from torch import nn

from netpact.algebra import fit_power_law
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import Data, as_data
from netpact.methods import HeavyTail
from netpact.methods.heavy_tail import find_last_dense
from netpact.network import Network, trace
from netpact.papers.shin.repeats import REPEATS, Repeats, repeat_noise

RECIPE, SIGNED, THEORY, PRUNED = "in magnitude", "signed, as printed", "W(t) = sqrt(t) G + B", "no noise"
VARIANTS: Mapping[str, HeavyTail] = MappingProxyType(
    {
        RECIPE: HeavyTail(),
        SIGNED: HeavyTail(signed=True),
        THEORY: HeavyTail(form="theory"),
        PRUNED: HeavyTail(form="theory", t=0.0),
    }
)


@dataclass(frozen=True)
class TableRow:
    """One network. alpha: of the final dense layer's magnitudes, of a density w^-alpha as Table 1 has it.

    variants  by name, see VARIANTS
    """

    network: str
    data: str
    shape: tuple[int, ...]
    alpha: float
    alpha_stderr: float
    variants: Mapping[str, Repeats]

    @property
    def original(self) -> float:
        return self.variants[RECIPE].original

    def to_json(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in ("network", "data", "alpha", "alpha_stderr")},
            "shape": list(self.shape),
            "variants": {name: one.to_json() for name, one in self.variants.items()},
        }

    @staticmethod
    def read(record: Mapping[str, Any]) -> TableRow:
        variants = {name: Repeats.read(one) for name, one in record["variants"].items()}
        return TableRow(**{**record, "shape": tuple(record["shape"]), "variants": variants})


@dataclass(frozen=True)
class Table:
    rows: tuple[TableRow, ...]

    def to_json(self) -> dict[str, Any]:
        return {"rows": [row.to_json() for row in self.rows]}

    def __str__(self) -> str:
        lines = [f"{'network':24} {'data':14} {'alpha':>6} {'before':>8}  " + "  ".join(f"{v:>20}" for v in VARIANTS)]
        for row in self.rows:
            found = [row.variants[variant] for variant in VARIANTS]  # records that were read have another order
            cells = [f"{100 * one.mean:.2f} +- {100 * one.std:.2f}" for one in found]
            head = f"{row.network[:24]:24} {row.data[:14]:14} {row.alpha:6.2f} {100 * row.original:7.2f}%"
            lines.append(head + "  " + "  ".join(f"{text:>20}" for text in cells))
        return "\n".join(lines)


def run_table1(
    networks: Mapping[str, Network | nn.Module | tuple[Network | nn.Module, Any]],
    data: Data | Any = None,
    *,
    repeats: int = REPEATS,
    progress: Progress | None = None,
) -> Table:
    """Table 1 for networks that you bring, by name: modules, traced networks, or pairs with data of their own.

    data     what netpact takes as data, for the networks that bring none; accuracies are those of its test part
    repeats  draws of the noise for each variant
    """
    rows: list[TableRow] = []
    for name, given in networks.items():
        brought = given if isinstance(given, tuple) else (given, data)
        if len(brought) != 2 or brought[1] is None:
            raise PactError("there are no data for this network", where=name, hint="run_table1(networks, data)")
        rows.append(make_row(name, brought[0], as_data(brought[1]), repeats=repeats))
        if progress is not None:
            progress(len(rows), len(networks))
    if not rows:
        raise PactError("there are no networks", where="networks")
    return Table(tuple(rows))


def make_row(name: str, network: Network | nn.Module, data: Data, *, repeats: int = REPEATS) -> TableRow:
    traced = network if isinstance(network, Network) else trace(network, data)
    weight = dict(traced.module.named_parameters())[find_last_dense(traced)].detach()
    sizes = np.abs(weight.double().numpy()).ravel()
    fit = fit_power_law(sizes[sizes > 0])
    # Without noise every draw is the same.
    variants = {
        variant: repeat_noise(traced, data, method, repeats=1 if variant == PRUNED else repeats)
        for variant, method in VARIANTS.items()
    }
    return TableRow(name, data.name, tuple(weight.shape), fit.alpha, fit.alpha_stderr, variants)
