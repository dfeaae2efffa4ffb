"""Networks with layers in CP or Tucker form in place of their dense ones."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from torch import nn

from netpact.algebra import ALSOptions
from netpact.core.checks import check_choice, check_flag, check_instance, told
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.layers.cp_conv import CPConv2d
from netpact.layers.cp_linear import CPLinear
from netpact.layers.ranks import Share, rank_for_share, tucker_ranks_for_share
from netpact.layers.rewrites.rewrite import replace_part
from netpact.layers.selection import Dense, HoldsModule, held_module, select_layers
from netpact.layers.tucker_conv import TuckerConv2d

_SEED = Seed(0)
_STARTS = ("decompose", "random")
_PORTION = 1000  # steps of progress for each layer
R = TypeVar("R")


def to_cp(
    model: nn.Module | HoldsModule,
    *,
    rank: int | None = None,
    ranks: Mapping[str, int] | None = None,
    ratio: Share | None = None,
    skip: Collection[str] | None = None,
    linear: bool = True,
    start: str = "decompose",
    options: ALSOptions | None = None,
    seed: Seed = _SEED,
    progress: Progress | None = None,
) -> nn.Module:
    """A copy of a network with CP layers in place of its linear layers and convolutions without groups.

    rank    of all of them, or
    ranks   by the names of the layers: of these only, or
    ratio   the largest rank at which a CP layer has at most this share of the dense layer's weights (default: 1)
    skip    names of layers that stay; default: 1x1 convolutions, and the last layer if it is linear
    linear  whether linear layers are turned as well
    start   "decompose": from the weights, by alternating least squares (options; default: what from_dense takes);
            "random": drawn anew from the seed, as for training from scratch. All other layers keep their weights.

    A layer that stands at several places stays one layer at all of them. progress gets (steps done, steps at most).
    """
    check_choice(start, _STARTS, where="start")
    kinds = (nn.Conv2d, nn.Linear) if check_flag(linear, where="linear") else (nn.Conv2d,)
    if options is not None:
        check_instance(options, ALSOptions, where="options")
    check_instance(seed, Seed, where="seed")
    copied = copy.deepcopy(held_module(model))
    layers = select_layers(copied, named=_named(ranks), skip=skip, kinds=kinds)
    chosen = _choose(layers, rank_for_share, rank=rank, ranks=ranks, ratio=ratio)

    def make(name: str, layer: Dense, report: Progress | None) -> nn.Module:
        count = chosen[name]
        made = CPConv2d.like(layer, count) if isinstance(layer, nn.Conv2d) else CPLinear.like(layer, count)
        if start == "random":
            made.reset_parameters(seed.child("to_cp", name).torch())
        else:
            made.fit(layer.weight, options=options, seed=seed.child("to_cp", name), progress=report)
        return made

    return _exchange(copied, layers, make, progress)


def to_tucker(
    model: nn.Module | HoldsModule,
    *,
    rank: tuple[int, int] | None = None,
    ranks: Mapping[str, tuple[int, int]] | None = None,
    ratio: Share | None = None,
    skip: Collection[str] | None = None,
    progress: Progress | None = None,
) -> nn.Module:
    """A copy of a network with its convolutions without groups decomposed into Tucker layers; ranks are (out, in).

    The options are those of to_cp. With a ratio both ranks are the same share of the channels.
    """
    copied = copy.deepcopy(held_module(model))
    layers = select_layers(copied, named=_named(ranks), skip=skip, kinds=(nn.Conv2d,))
    chosen = _choose(layers, tucker_ranks_for_share, rank=rank, ranks=ranks, ratio=ratio)

    def make(name: str, layer: Dense, report: Progress | None) -> nn.Module:
        if not isinstance(layer, nn.Conv2d):
            raise PactError("a Tucker layer stands for a convolution, this one is linear", where="ranks")
        return TuckerConv2d.from_dense(layer, chosen[name], progress=report)

    return _exchange(copied, layers, make, progress)


def _named(ranks: Mapping[str, R] | None) -> Mapping[str, R] | None:
    if ranks is not None and not isinstance(ranks, Mapping):
        raise PactError(f"must be a dict of ranks by layer names, got {told(ranks)}", where="ranks", hint="rank=...")
    return ranks


def _choose(
    layers: Mapping[str, Dense],
    by_share: Callable[[Dense, Share], R],
    *,
    rank: R | None,
    ranks: Mapping[str, R] | None,
    ratio: Share | None,
) -> Mapping[str, R]:
    if sum(given is not None for given in (rank, ranks, ratio)) > 1:
        raise PactError("give one of rank, ranks and ratio", where="to_cp, to_tucker")
    if ranks is not None:
        return ranks
    if rank is not None:
        return dict.fromkeys(layers, rank)
    return {name: by_share(layer, 1.0 if ratio is None else ratio) for name, layer in layers.items()}


def _exchange(
    model: nn.Module,
    layers: Mapping[str, Dense],
    make: Callable[[str, Dense, Progress | None], nn.Module],
    progress: Progress | None,
) -> nn.Module:
    """The model itself with new layers, or another one where a layer is all of it."""
    for index, (name, layer) in enumerate(layers.items()):
        try:
            made = make(name, layer, _portion(progress, index, len(layers)))
        except PactError as error:
            raise PactError(error.what, where=f"layer {name}, {error.where}", hint=error.hint) from error
        model = replace_part(model, layer, made)
        if progress is not None:
            progress((index + 1) * _PORTION, len(layers) * _PORTION)
    vars(model).pop("netpact_architecture", None)  # it is no longer what that architecture builds
    return model


def _portion(progress: Progress | None, index: int, count: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, total: progress(index * _PORTION + _PORTION * done // total, count * _PORTION)
