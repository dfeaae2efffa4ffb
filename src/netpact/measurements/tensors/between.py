"""How much what stands between weight layers can enlarge a difference, and which layers something goes around.

A difference d in the output of layer u reaches the input of layer v as at most gain(u, v) d, where gain(u, v) adds up
the ways from u to v that meet no other weight layer, each with the Lipschitz constants on it multiplied, in the l2
norm. All ways from u to the logits together are then at most

    lipschitz_u  prod_{l > u} (t_l lipschitz_l, plus 1 where something goes around l),   lipschitz_u = max_v gain(u, v)

with t_l the operator norm of layer l: a way is known by the layers that it meets, and of those with nothing around them
it meets every one.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.deviations.deviation import Deviation, Walk, make_deviation
from netpact.network import Network
from netpact.network.kinds import KINDS
from netpact.network.rounding.tolerance import make_spread, rounding, value_of

_ARITHMETIC = "float64"


@torch.no_grad()
def gains_between(network: Network, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, float]:
    """lipschitz of each weight layer. shapes: of one sample of their outputs, by name, in the order they run.

    Row u of a batch of zeros begins with a difference of 1 behind layer u, and none elsewhere: no layer is run.
    """
    if network.strays:
        raise PactError(
            f"{', '.join(network.strays)} is used outside its layer",
            where=network.name,
            hint="let layers use their own",
        )
    reached: list[Tensor] = []
    module = copy.deepcopy(network.module).eval()
    parts = dict(module.named_modules())
    for place, (name, shape) in enumerate(shapes.items()):
        parts[name].forward = partial(_begin, place, len(shapes), shape, reached)
    for layer in network.layers:
        part = parts[layer.name]
        if KINDS[layer.kind].measured is None and layer.name not in shapes:
            part.forward = partial(_pass_by, layer.name, part)
    rows = torch.zeros((len(shapes), *network.architecture.input_shape), dtype=torch.float64)
    with rounding(_ARITHMETIC, collect=True) as own:
        walk = Walk(own, own)
        logits = module(_zeros(rows, torch.zeros(len(rows), dtype=torch.float64), walk))
    if problems := walk.problems():
        raise PactError(
            "nothing is known of how much a difference grows by:\n  " + "\n  ".join(problems),
            where=network.name,
            hint="docs/deviations.md lists what is supported",
        )
    largest = torch.stack([*reached, logits.bound]).amax(dim=0)
    return dict(zip(shapes, largest.tolist(), strict=True))


def _begin(place: int, count: int, shape: tuple[int, ...], reached: list[Tensor], x: Deviation) -> Deviation:
    reached.append(x.bound)
    bound = torch.zeros(count, dtype=torch.float64)
    bound[place] = 1.0
    return _zeros(torch.zeros((count, *shape), dtype=torch.float64), bound, x.walk)


def _pass_by(name: str, layer: nn.Module, x: Deviation) -> Deviation:
    """Batch norm that could not be folded, or a bias alone: its own shift is the same in both networks."""
    _, upper = KINDS.of(layer).norm(layer, None)
    if upper is None:
        raise PactError("no norm is known for it", where=name)
    return _zeros(torch.zeros_like(value_of(x.held)), upper * x.bound, x.walk)


def _zeros(values: Tensor, bound: Tensor, walk: Walk) -> Deviation:
    return make_deviation(make_spread(values, torch.zeros_like(values)), bound, walk)
