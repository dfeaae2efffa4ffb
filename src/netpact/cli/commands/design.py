from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netpact.cli.commands.info import ModelOptions
from netpact.cli.console import people, print_json
from netpact.cli.options import Json, ModelName
from netpact.cli.options_of import option
from netpact.core.errors import PactError

if TYPE_CHECKING:
    from netpact.network.blocks import Design, Straightened


@dataclass(frozen=True, kw_only=True)
class RankOptions:
    PANEL: ClassVar = "Ranks and ratios"
    tolerance: float | None = option(
        None,
        "T",
        "Also the numerical ranks of each block's output channels: singular values up to T times the largest count "
        "as 0.",
        shown="1e-6 with --weights",
    )
    ratio: float | None = option(None, "T", "What the network would have if its blocks with K/R > T had K/R = T.")


def design(model: ModelName, of_model: ModelOptions, of_ranks: RankOptions, json: Json = False) -> None:
    """Find the blocks of a network and say which of them have redundant parameters, before any training.

    A block is a chain of convolutions that stands for one: bottleneck, funnel, depthwise-separable, inverted residual,
    ResNeXt, ShuffleNet v2. It gives out K channels from a rank of R; where K > R, the channels are linear combinations
    of R, and a block with K = R has the same sample complexity and fewer parameters ("Rethinking compressed CNNs",
    2021). That is proven for linear activations; with others it is advice.

    Of a trained network, --weights adds the numerical ranks of each block's output channels: of its weights, and on
    --data.

    Example: netpact design resnet-20 --input 3x32x32

    Example: netpact design package.module:function --data cifar10 --json

    Example: netpact design resnet-41-t4 --ratio 1
    """
    from netpact.cli.model_description import open_problem
    from netpact.cli.models import open_model
    from netpact.network.blocks import explain_straighten, find_blocks, find_ranks

    if of_ranks.ratio is not None and of_ranks.tolerance is not None:
        raise PactError("not together with --ratio", where="--tolerance", hint="leave out one of the two")
    problem, assumed = open_problem(model, of_model)
    module = open_model(model, problem, weights=of_model.weights)
    found: Design | Straightened
    if of_ranks.ratio is not None:
        found = explain_straighten(module, problem, ratio=of_ranks.ratio)
    elif of_model.weights is not None or of_ranks.tolerance is not None:
        settings = {} if of_ranks.tolerance is None else {"tolerance": of_ranks.tolerance}
        found = find_ranks(module, problem, **settings) if of_model.data else find_ranks(module, problem, samples=0)
    else:
        found = find_blocks(module, problem)
    if json:
        print_json(found.to_json())
        return
    if assumed:
        people.print(assumed, markup=False)
    people.print(str(found), markup=False, soft_wrap=True)
