from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netpact.cli.commands.info import ModelOptions
from netpact.cli.console import people, print_json
from netpact.cli.options import Json, ModelName
from netpact.cli.options_of import option
from netpact.core.errors import PactError

if TYPE_CHECKING:
    from torch import Tensor, nn

    from netpact.datasets import Data
    from netpact.network.blocks import Design, Straightened

_VOLUME = 3  # an x fewer than axes: channels, frames, height, width
_MOST = 2**24  # numbers of a sample


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
    from netpact.network.blocks import explain_straighten, find_blocks, find_ranks
    from netpact.network.blocks.ranks import RANK_SAMPLES, TOLERANCE

    if of_ranks.ratio is not None and of_ranks.tolerance is not None:
        raise PactError("not together with --ratio", where="--tolerance", hint="leave out one of the two")
    module, inputs, assumed = _open(model, of_model)
    found: Design | Straightened
    if of_ranks.ratio is not None:
        found = explain_straighten(module, inputs, ratio=of_ranks.ratio)
    elif of_model.weights is not None or of_ranks.tolerance is not None:
        tolerance = TOLERANCE if of_ranks.tolerance is None else of_ranks.tolerance
        found = find_ranks(module, inputs, tolerance=tolerance, samples=RANK_SAMPLES if of_model.data else 0)
    else:
        found = find_blocks(module, inputs)
    if json:
        print_json(found.to_json())
        return
    if assumed:
        people.print(assumed, markup=False)
    people.print(str(found), markup=False, soft_wrap=True)


def _open(model: str, options: ModelOptions) -> tuple[nn.Module, Data | Tensor, str]:
    """The module, what it reads, and a sentence about what was assumed."""
    from netpact.cli.model_description import open_problem, parse_shape
    from netpact.cli.models import names_own_function, open_model

    if not (options.input_shape.count("x") == _VOLUME and names_own_function(model) and not options.data):
        problem, assumed = open_problem(model, options)
        return open_model(model, problem, weights=options.weights), problem, assumed
    # A data set has no clips or volumes; the blocks of a network for them can be found all the same.
    import torch

    from netpact.core.checks import check_integer
    from netpact.models import import_model, load_weights

    shape = parse_shape(options.input_shape)
    check_integer(math.prod(shape), where="--input, numbers of a sample", least=1, most=_MOST)
    module = import_model(model)
    if options.weights is not None:
        load_weights(module, options.weights)
    return module, torch.rand((2, *shape), generator=torch.Generator().manual_seed(0)), ""
