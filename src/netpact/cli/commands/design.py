from __future__ import annotations

from netpact.cli.commands.info import ModelOptions
from netpact.cli.console import people, print_json
from netpact.cli.options import Json, ModelName


def design(model: ModelName, of_model: ModelOptions, json: Json = False) -> None:
    """Find the blocks of a network and say which of them have redundant parameters, before any training.

    A block is a chain of convolutions that stands for one: bottleneck, funnel, depthwise-separable, inverted residual,
    ResNeXt, ShuffleNet v2. It gives out K channels from a rank of R; where K > R, the channels are linear combinations
    of R, and a block with K = R has the same sample complexity and fewer parameters ("Rethinking compressed CNNs",
    2021). That is proven for linear activations; with others it is advice.

    Example: netpact design resnet-20 --input 3x32x32

    Example: netpact design package.module:function --data cifar10 --json
    """
    from netpact.cli.model_description import open_problem
    from netpact.cli.models import open_model
    from netpact.network.blocks import find_blocks

    problem, assumed = open_problem(model, of_model)
    found = find_blocks(open_model(model, problem, weights=of_model.weights), problem)
    if json:
        print_json(found.to_json())
        return
    if assumed:
        people.print(assumed, markup=False)
    people.print(str(found), markup=False, soft_wrap=True)
