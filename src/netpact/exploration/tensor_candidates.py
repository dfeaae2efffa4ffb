"""Candidates whose convolutions are CP layers: cp:SHARE:MODEL, MODEL with SHARE percent of their weights.

The message names the architecture and one rewrite for each CP layer, so the choice of form and ranks is paid for like
every other.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch import nn

from netpact.coding.format import Compressed
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.layers import rank_for_share, to_cp
from netpact.layers.rewrites import CPLayer, Step, number_of
from netpact.models import Architecture, build, parse_model

if TYPE_CHECKING:
    from netpact.datasets import Data

PREFIX = "cp:"


@dataclass(frozen=True)
class Plan:
    """An architecture, and the CP ranks of some of its layers; none for a network as it is."""

    architecture: Architecture
    ranks: tuple[tuple[str, int], ...] = ()

    def build(self) -> nn.Module:
        return build(self.architecture)

    def with_cp(self, module: nn.Module, *, start: str, seed: Seed) -> nn.Module:
        """A copy of a module of this architecture in the plan's form; its layers decomposed or drawn anew."""
        return to_cp(module, ranks=dict(self.ranks), start=start, seed=seed) if self.ranks else module

    def message(self, made: Compressed) -> Compressed:
        """What a method made of a module in the plan's form, with the architecture and how it was formed."""
        return replace(made, architecture=self.architecture, rewrites=(*self.steps(), *made.rewrites))

    def steps(self) -> tuple[Step, ...]:
        """The rewrites that make the plan's form; each counts the layers that those before it have put in."""
        module, steps = copy.deepcopy(self.build()).to("meta"), list[Step]()
        for name, rank in self.ranks:
            step = Step(number_of(module, module.get_submodule(name)), CPLayer(rank, 0, 0))
            module = step.rewrite.apply(module, step.layer)
            steps.append(step)
        return tuple(steps)


def parse_candidate(name: str, data: Data) -> Plan:
    """A model by name, or cp:SHARE:MODEL."""
    if not name.startswith(PREFIX):
        return Plan(parse_model(name, input_shape=data.input_shape, classes=data.classes))
    share, _, inner = name.removeprefix(PREFIX).partition(":")
    if not share.isdecimal() or not 1 <= int(share) <= 100 or not inner:
        raise PactError(
            f"must be cp:SHARE:MODEL with a share from 1 to 100 percent, got {name}",
            where="candidate",
            hint="for example cp:25:convnet:2-5-6-12",
        )
    architecture = parse_model(inner, input_shape=data.input_shape, classes=data.classes)
    layers = dict(build(architecture).to("meta").named_modules())
    ranks = tuple((name, rank_for_share(part, int(share) / 100)) for name, part in layers.items() if _has_form(part))
    if not ranks:
        raise PactError("the network has no convolution of several channels to turn", where=name)
    return Plan(architecture, ranks)


def _has_form(part: nn.Module) -> bool:
    """Of one channel, or one pixel, the weight is a matrix, and gains nothing from a tensor's form."""
    return type(part) is nn.Conv2d and part.groups == 1 and part.in_channels > 1 and part.kernel_size != (1, 1)
