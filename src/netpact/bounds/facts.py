"""What bounds are computed from: each fact is found by its provider when it is first asked for, and once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netpact.core.errors import one_of
from netpact.core.table import Table

if TYPE_CHECKING:
    from netpact.bounds.norms import LayerNorms
    from netpact.bounds.options import EstimateOptions
    from netpact.datasets import Data
    from netpact.measurements import Measures
    from netpact.measurements.structure import Structure
    from netpact.network import Margins, Network


@dataclass(frozen=True)
class Fact:
    """name and provider; quantities: what it reads of the measurements of netpact.measure, by name."""

    name: str
    find: Callable[[Facts], Any]
    quantities: tuple[str, ...] = ()


FACTS: Table[Fact] = Table("fact", "netpact.bounds.providers", "netpact.papers.*.facts")


class Facts:
    """One network on one training set, for one margin gamma. No fact but gamma depends on the margin.

    known  what is given or was found already; shared by the facts for all margins
    tried  how many margins were tried: the union over them costs ln(tried)
    """

    network: Network
    data: Data
    margins: Margins
    measures: Measures | None
    structure: Structure
    norms: tuple[LayerNorms, ...]
    depth: int
    widest: int  # the most rows of a layer's matrix
    parameters: int
    classes: int
    samples: int
    input_norm: float  # the largest |x|_2 over the samples
    output_norm: float  # the largest |f(x)|_2
    errors: float  # L_0
    delta: float
    foreign: tuple[str, ...]  # layers with weights that are neither linear nor convolutions: no theorem knows them
    is_chain: bool  # the input of each layer is computed from the output of the layer before it alone
    is_fully_connected: bool
    has_biases: bool

    def __init__(self, options: EstimateOptions, *, known: dict[str, Any], gamma: float = 1.0, tried: int = 1) -> None:
        self.options, self.known, self.gamma, self.tried = options, known, gamma, tried

    def at(self, gamma: float, *, tried: int) -> Facts:
        return Facts(self.options, known=self.known, gamma=gamma, tried=tried)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self.known:
            if name not in FACTS:
                raise one_of(name, FACTS, option="fact")
            self.known[name] = FACTS[name].find(self)
        return self.known[name]
