"""Corollary 1 of "Rethinking compressed CNNs" 2021: K kernels that span R dimensions, as R kernels.

If the next weight layer reads them through linear maps that treat all channels alike (averages, flattening), then

    B (H G x) = (B H) G x     with the K x R matrix H and R kernels G

so that B H takes the place of B, and G that of the K kernels. With an activation between the two nothing of this holds.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from netpact.core.checks import check_number
from netpact.core.display import Displayed
from netpact.core.errors import PactError
from netpact.datasets import Data, Samples
from netpact.layers import Chain
from netpact.layers.factored import resized
from netpact.layers.rewrites.rewrite import replace_part
from netpact.models import AnyModule, as_module
from netpact.network.blocks.inputs import sample_inputs
from netpact.network.blocks.linear_pairs import Pair, find_pairs
from netpact.network.blocks.wiring import Wiring

_TOLERANCE = 1e-6  # of the largest singular value: float32 weights that were computed have no smaller ones of their own
_SAME = 1e-5  # of the largest output, before the weights are rounded to float32 again


@dataclass(frozen=True, repr=False)
class Collapse(Displayed):
    """What became of one layer of K kernels that span R < K dimensions.

    into  the layer that took in the rest; empty where nothing was changed
    why   nothing was changed; empty where it was
    """

    name: str
    K: int
    R: int
    into: str = ""
    why: str = ""

    def display_facts(self) -> dict[str, object]:
        return dict(vars(self))

    def display_text(self) -> str:
        told = f"{self.name}: {self.K} kernels of rank {self.R}"
        return f"{told} became {self.R}, the rest is in {self.into}" if self.into else f"{told} stay: {self.why}"


@dataclass(frozen=True, repr=False)
class Collapsed(Displayed):
    """module  a new one that computes the same; rows: one for every layer with fewer dimensions than kernels"""

    module: nn.Module
    rows: tuple[Collapse, ...]

    @property
    def changed(self) -> tuple[Collapse, ...]:
        return tuple(row for row in self.rows if row.into)

    def display_facts(self) -> dict[str, object]:
        return {"changed": len(self.changed), "kept": len(self.rows) - len(self.changed)}

    def display_rows(self) -> list[dict[str, object]]:
        return [row.display_facts() for row in self.rows]

    def to_json(self) -> list[dict[str, object]]:
        return self.display_rows()

    def display_text(self) -> str:
        return "\n".join(map(str, self.rows)) or "no layer has more kernels than dimensions"


def collapse(module: AnyModule, data: Data | Samples | object = None, *, tolerance: float = _TOLERANCE) -> nn.Module:
    """A new module in eval mode with R kernels where K > R of them span R dimensions, wherever that changes nothing.

    explain_collapse says what was done, and where it was not possible and why.
    """
    return explain_collapse(module, data, tolerance=tolerance).module


@torch.no_grad()
def explain_collapse(
    module: AnyModule, data: Data | Samples | object = None, *, tolerance: float = _TOLERANCE
) -> Collapsed:
    """Collapse a network and say what was done.

    data       as for trace; may be left out where the first layer says what it reads: its image size does not matter
    tolerance  singular values below this share of a layer's largest one are taken for 0
    """
    check_number(tolerance, where="tolerance", least=0, below=1)
    given = as_module(module, where="module")
    inputs = sample_inputs(given, data)
    changed = copy.deepcopy(given).double().eval()
    rows: dict[str, Collapse] = {}
    while True:
        pairs = find_pairs(Wiring(changed, inputs.double()), tolerance=tolerance)
        found = next((pair for pair in pairs if not pair.why), None)
        if found is None:
            break
        changed = _merge(changed, found)
        rows[found.name] = _row(found)
    rows = {pair.name: _row(pair) for pair in pairs} | rows
    _compare(copy.deepcopy(given).double().eval(), changed, inputs.double())
    precision = next((parameter.dtype for parameter in given.parameters()), torch.float32)
    return Collapsed(changed.to(precision), tuple(rows.values()))


def _row(pair: Pair) -> Collapse:
    return Collapse(pair.name, pair.kernels, pair.split.rank, "" if pair.why else pair.reader, pair.why)


def _merge(module: nn.Module, pair: Pair) -> nn.Module:
    first, reader = module.get_submodule(pair.name), module.get_submodule(pair.reader)
    assert isinstance(first, (nn.Linear, nn.Conv2d))
    assert isinstance(reader, (nn.Linear, nn.Conv2d))
    rank = pair.split.rank
    left: nn.Module = nn.Identity()
    if pair.split.kernels is not None:
        biased = first.bias is not None and pair.split.shift is None
        left = _filled(resized(first, outputs=rank, bias=biased), pair.split.kernels, pair.split.bias)
    inputs = reader.weight.shape[1] // pair.kernels * rank
    shift, bias = pair.split.shift, reader.bias
    if shift is not None:
        bias = shift if bias is None else bias + shift
    into = resized(reader, outputs=len(reader.weight), inputs=inputs, bias=bias is not None)
    module = replace_part(module, first, left)
    module = replace_part(module, reader, _filled(into, _absorb(reader.weight, pair.split.mixing), bias))
    vars(module).pop("netpact_architecture", None)  # of a network of ours: it is no longer what that builds
    return _open_chains(module, {left, into})


def _open_chains(module: nn.Module, changed: set[nn.Module]) -> nn.Module:
    """CP and Tucker layers in which something changed are no longer what their classes say: plain sequences."""
    for chain in [part for part in module.modules() if isinstance(part, Chain) and changed & set(part.children())]:
        module = replace_part(module, chain, nn.Sequential(OrderedDict(chain.named_children())))
    return module


def _filled(layer: nn.Linear | nn.Conv2d, weight: Tensor, bias: Tensor | None) -> nn.Module:
    layer.weight.copy_(weight.reshape(layer.weight.shape))
    if layer.bias is not None and bias is not None:
        layer.bias.copy_(bias)
    return layer


def _absorb(weight: Tensor, mixing: Tensor) -> Tensor:
    """B H: the reader's inputs are K channels, each of them a map of as many pixels."""
    channels = weight.reshape(len(weight), len(mixing), -1)
    return torch.einsum("okp,kr->orp", channels, mixing)


def _compare(before: nn.Module, after: nn.Module, x: Tensor) -> None:
    wanted, found = before(x.clone()), after(x.clone())
    size = float(wanted.abs().max()) if wanted.numel() else 0.0
    if not torch.allclose(wanted, found, rtol=0.0, atol=_SAME * (1 + size), equal_nan=True):
        raise PactError(
            "the collapsed network computes something else",
            where=type(before).__name__,
            hint="forward must use its layers only by calling them; a smaller tolerance keeps more kernels",
        )
