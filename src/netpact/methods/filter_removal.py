"""Filters removed from a module: what is left is an ordinary module, narrower and faster."""

from __future__ import annotations

from torch import nn

from netpact.datasets import Data, Samples
from netpact.layers.rewrites import RemoveChannels
from netpact.methods.filter_choice import BY_LAYER, NORMS, FilterChoice
from netpact.models import AnyModule, Architecture, as_module
from netpact.network import trace
from netpact.network.channels import Channels
from netpact.network.narrowing import Kept, find_removable, narrow, refuse_difference


def remove_filters(
    model: AnyModule,
    data: Data | Samples | object,
    *,
    keep: float | None = None,
    flops: float | None = None,
    scope: str = BY_LAYER,
    norm: str = NORMS[0],
    multiple: int = 1,
) -> nn.Module:
    """A new module without the filters of the smallest norm (Li et al. 2016); the given one is not changed.

    It computes what the given one does with those filters, their biases and what batch norm makes of them at 0. It can
    be trained further, and then traced and compressed; its rewrites are kept on it as netpact_rewrites, so its files
    are opened with the given module, or with the new one, and those of a network that build made with neither.

    model     as for trace: any module that trace accepts
    data      what the network classifies, as for trace
    keep      the share of the filters that is kept, of those that can be removed (default 0.5); or
    flops     the share of floating-point operations that is left at most
    scope     "layer": the same share of every layer; "global": filters of all layers are compared
    norm      "l1" or "l2" of a filter, divided by that of a filter of ones
    multiple  the number of filters that are left is one of it, in each layer; processors work on 8 or 16 at once
    """
    choice = FilterChoice(keep, flops, scope, norm, multiple)
    given = as_module(model)
    network = trace(given, data)
    channels, kept = choose_units(network.module, choice, network.architecture.input_shape)
    made, steps = narrow(given, channels, kept)  # the given one, with its modes and what it trains
    # Of two removals from one layer the later one says all: then the list can be applied to the narrow module too.
    again = {step.layer for step in steps}
    earlier = [
        step for step in network.rewrites if not (isinstance(step.rewrite, RemoveChannels) and step.layer in again)
    ]
    made.netpact_rewrites = (*earlier, *steps)  # type: ignore[assignment]
    if isinstance(network.architecture, Architecture):
        made.netpact_base = network.architecture  # type: ignore[assignment]
    return made


def choose_units(module: nn.Module, choice: FilterChoice, input_shape: tuple[int, ...]) -> tuple[Channels, Kept]:
    """Which units of a module in eval mode are kept; the narrow one was compared with the masked one."""
    channels = find_removable(module, input_shape)
    kept = choice.choose(module, channels, input_shape)
    refuse_difference(module, channels, kept, input_shape)
    return channels, kept
