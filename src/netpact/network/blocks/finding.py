"""Looking for blocks on the graph of one run: by what is wired to what, never by names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from netpact.datasets import Data, Samples
from netpact.models import AnyModule, as_module
from netpact.network.blocks.block import Block, Design, Parts, make_block
from netpact.network.blocks.inputs import sample_inputs
from netpact.network.blocks.wiring import Conv, Wiring


def find_blocks(model: AnyModule, data: Data | Samples | object = None) -> Design:
    """The blocks of any module that runs, supported by trace or not ("Rethinking compressed CNNs" 2021, section 3).

    model  a module, what train returned, or the path of a file of save_weights
    data   what the network classifies, as for trace, or a batch of inputs; may be left out where the first layer says
           what it reads
    """
    module = as_module(model, where="model")
    wiring = Wiring(module, sample_inputs(module, data))
    return Design(design_blocks(wiring), sum(parameter.numel() for parameter in module.parameters()))


def design_blocks(wiring: Wiring) -> tuple[Block, ...]:
    """In the order they run; a convolution belongs to the first block that it fits into."""
    used: set[str] = set()
    matches: list[tuple[str, tuple[Conv, ...], int]] = []
    for conv in wiring.convolutions:
        if conv.name in used:
            continue
        if found := _match(wiring, conv, used):
            matches.append(found)
            used |= {one.name for one in found[1]}
    names = _names([[conv.name for conv in layers] for _, layers, _ in matches])
    return tuple(
        make_block(kind, _parts(wiring, layers), name, rank=rank)
        for (kind, layers, rank), name in zip(matches, names, strict=True)
    )


def list_parts(wiring: Wiring, blocks: Sequence[Block]) -> list[Parts]:
    return [_parts(wiring, tuple(wiring.convolution(name) for name in block.layers)) for block in blocks]


def find_again(wiring: Wiring, block: Block) -> Block:
    """A block in a network of the same wiring with other numbers of channels, which may make it another kind."""
    found = next((one for one in design_blocks(wiring) if one.layers == block.layers), None)
    if found is not None:
        return found
    [parts] = list_parts(wiring, [block])
    return make_block(block.kind, parts, block.name, rank=parts.convolutions[-2].module.out_channels)


def _match(wiring: Wiring, first: Conv, used: set[str]) -> tuple[str, tuple[Conv, ...], int] | None:
    second = wiring.follower(first)
    if second is None or second.name in used:
        return None
    if first.is_depthwise and first.is_spatial:
        # (C1): a CP decomposition of rank C, or as many times that as each channel has kernels.
        return ("depthwise-separable", (first, second), second.module.in_channels) if second.is_pointwise else None
    if not (first.is_pointwise and second.is_spatial):
        return None
    third, rank = wiring.follower(second), second.module.out_channels
    if third is None or third.name in used or not third.is_pointwise:
        # (T2): the core has as many outputs as the block.
        return ("funnel", (first, second), rank) if second.module.groups == 1 else None
    return _three_layers(wiring, first, second, third), (first, second, third), rank


def _three_layers(wiring: Wiring, first: Conv, second: Conv, third: Conv) -> str:
    if second.is_depthwise:
        if wiring.is_split_before(first) or wiring.is_shuffled_behind(third):
            return "shufflenet-v2"
        return "inverted-residual" if first.module.out_channels >= first.module.in_channels else "depthwise-bottleneck"
    if second.module.groups > 1:
        return "resnext"
    return "bottleneck" if third.module.out_channels > second.module.out_channels else "funnel"


def _parts(wiring: Wiring, layers: tuple[Conv, ...]) -> Parts:
    norms = tuple(wiring.norms(conv) for conv in layers)
    return Parts(layers, norms, wiring.has_identity(layers[0], layers[-1]))


def _names(layers: list[list[str]]) -> list[str]:
    """The module that holds all layers of a block, where it holds no other block; else the first and last layer."""
    shared = [_common(names) for names in layers]
    often = Counter(shared)
    outer = {name for name in shared for other in shared if other != name and other.startswith(f"{name}.")}
    return [
        name if name and often[name] == 1 and name not in outer else f"{own[0]} to {own[-1]}"
        for name, own in zip(shared, layers, strict=True)
    ]


def _common(names: list[str]) -> str:
    levels = zip(*(name.split(".") for name in names), strict=False)
    return ".".join(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))
