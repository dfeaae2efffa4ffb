"""deviation_bound: compare a network with its compressed form, sample by sample."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from netpact.algebra.outward import norm_up, round_up
from netpact.coding.format import Compressed, Pact
from netpact.coding.format.loading import load_module
from netpact.core.errors import PactError, wrong_kind
from netpact.core.progress import Progress
from netpact.datasets import Data, as_data
from netpact.deviations.deviation import Walked, Walker
from netpact.deviations.layer_bounds import LayerBounds, compare
from netpact.deviations.record import DeviationBound, LayerPart
from netpact.deviations.twins import compose_layers, prepare_original
from netpact.layers import Chain
from netpact.layers.rewrites import Step
from netpact.models import OwnModule
from netpact.network import Network, trace
from netpact.network.adapting import adapt_like
from netpact.network.rounding.batching import samples_at_once

_BATCH = 256
_DTYPES = {torch.float32: "float32", torch.float64: "float64"}
_SAME = 1e-9  # of the largest number: what two float64 runs of one network may differ by


def deviation_bound(
    original: nn.Module | Network,
    compressed: Pact | Compressed | nn.Module | str | Path,
    data: Data | object,
    *,
    progress: Progress | None = None,
) -> DeviationBound:
    """For each sample a proven bound on |compressed logits - original logits|_2.

    A bound e on the difference of the two networks' activations is carried through the network, layer by layer:

        linear, convolution   e_out = |W^|_op e_in + |W - W^|_op |h_in(x)| + |b - b^| sqrt(places)
        sum                   e_1 + e_2          joined tensors    sqrt(e_1^2 + e_2^2)
        activation            its largest slope times e            fixed linear map   its norm times e

    with |h_in(x)| of the original network. docs/deviations.md has the whole list. The rounding of both networks, and of
    the bound itself, is included. Layers in low-rank, CP or Tucker form are compared by their composed maps W and W^,
    folded batch norm is compared with the original folded alike, and channels that were removed are taken for zeros.

    original    the network before compression, float32
    compressed  the same network with other weights: a file, a compressed network, or a module
    data        the training part of a data set, or samples: data.test, or a pair of arrays
    """
    source = as_data(data)
    network = original if isinstance(original, Network) else trace(original, source)
    other, rewrites = _open(compressed, network)
    run = prepare_original(network.module, rewrites, arithmetic=_arithmetic(network.module))
    twin = compose_layers(
        other, arithmetic=_arithmetic(other), like=run.module, input_shape=network.architecture.input_shape
    )
    check_same_structure(run.module, twin.module)
    layers = _compare_layers(network, run.module, twin.module)
    walker = Walker(run.module, layers, arithmetic=run.arithmetic, other_arithmetic=twin.arithmetic, other=twin.module)
    plain = copy.deepcopy(other).double().eval()
    bounds, measured, unruled, seen = [], [], set[str](), 0
    for inputs, _ in source.train.batches(min(_BATCH, samples_at_once(plain, source.input_shape))):
        walked = walker.follow(inputs)
        with torch.no_grad():
            found = torch.linalg.vector_norm(plain(torch.from_numpy(inputs).double()) - walked.values, dim=1)
        bound = _with_own_rounding(walked)
        for gap in (run.gap, twin.gap):
            bound = bound if gap is None else round_up(bound + gap(inputs))
        bound = bound.nan_to_num(nan=torch.inf, posinf=torch.inf)
        refuse_violation(found, bound, walked, first=seen)
        if not seen:
            _refuse_other_arithmetic(network.module, other, inputs, bound)
        bounds.append(bound.numpy())
        unruled |= {*walked.unruled}
        measured.append(found.numpy())
        seen += len(inputs)
        if progress is not None:
            progress(seen, source.train.count)
    rows = tuple(
        LayerPart(name, known.size.gain, known.distance.weights, known.distance.shift) for name, known in layers.items()
    )
    return DeviationBound(
        np.concatenate(bounds), np.concatenate(measured), rows, source.train.name, tuple(sorted(unruled))
    )


promised_error = deviation_bound  # its former name


def _compare_layers(network: Network, run: nn.Module, other: nn.Module) -> dict[str, LayerBounds]:
    """A norm that was folded is no layer any more, a chain is one layer."""
    parts, others = dict(run.named_modules()), dict(other.named_modules())
    chains = [name for name, part in network.module.named_modules() if isinstance(part, Chain)]
    found = [next((name for name in chains if _is_within(layer.name, name)), layer.name) for layer in network.layers]
    names = [name for name in dict.fromkeys(found) if not isinstance(parts[name], nn.Identity)]
    return {name: compare(run=parts[name], other=others[name]) for name in names}


def _is_within(name: str, place: str) -> bool:
    return not place or name == place or name.startswith(f"{place}.")


def _with_own_rounding(walked: Walked) -> torch.Tensor:
    """The bound is about the original in real numbers; a run of it is within twice the spread of those."""
    return round_up(walked.bound + 2 * norm_up(walked.spread))


def _open(
    compressed: Pact | Compressed | nn.Module | str | Path, network: Network
) -> tuple[nn.Module, tuple[Step, ...]]:
    if isinstance(compressed, nn.Module):
        return adapt_like(copy.deepcopy(compressed), network.module), ()
    if isinstance(compressed, (str, Path)):
        compressed = Pact.read(compressed)
    if not isinstance(compressed, (Pact, Compressed)):
        needed = "a Pact, a Compressed, a torch.nn.Module or the path of a .pact file"
        raise wrong_kind(compressed, needed=needed, where="compressed")
    shell = copy.deepcopy(network.module) if isinstance(compressed.architecture, OwnModule) else None
    if isinstance(compressed, Pact):
        return compressed.to_module(shell), compressed.header.rewrites
    return load_module(compressed, shell), compressed.rewrites


def _arithmetic(module: nn.Module) -> str:
    found = {tensor.dtype for tensor in module.parameters() if tensor.is_floating_point()}
    if len(found) != 1 or not found <= _DTYPES.keys():
        names = ", ".join(sorted(map(str, found)))
        raise PactError(f"parameters of one type, float32 or float64, are needed, got {names}", where="compressed")
    return _DTYPES[found.pop()]


def check_same_structure(first: nn.Module, second: nn.Module) -> None:
    """Two networks can be compared if they are the same modules with other weights."""
    one, other = (
        [
            f"{name or 'the module itself'}: {type(part).__name__}({part.extra_repr()})"
            for name, part in m.named_modules()
        ]
        for m in (first, second)
    )
    if one != other:
        index = next((k for k, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), -1)
        left, right = (lines[index] if lines else "nothing" for lines in (one, other))
        raise PactError(
            f"the two networks are not of one structure: {left} against {right}",
            where="compressed",
            hint="one network under two sets of weights is compared; the file may have low-rank, CP or Tucker layers "
            "in place of dense ones and, for a deviation bound, folded batch norm, fewer components and fewer channels",
        )


def _refuse_other_arithmetic(
    original: nn.Module, compressed: nn.Module, inputs: NDArray[np.float32], bound: torch.Tensor
) -> None:
    """The first batch as both networks are run in practice, each in its own precision: the bound must hold there."""
    logits = []
    with torch.no_grad():
        for module in (original, compressed):
            dtype = next(tensor.dtype for tensor in module.parameters() if tensor.is_floating_point())
            logits.append(copy.deepcopy(module).eval()(torch.from_numpy(inputs).to(dtype)).double())
    # Where nothing is proven, they may overflow.
    bad = torch.nonzero(torch.isfinite(bound) & ~(torch.linalg.vector_norm(logits[0] - logits[1], dim=1) <= bound))
    if len(bad):
        raise PactError(
            "the networks differ by more than was proven when they are run as they are",
            where=f"sample {int(bad[0])}",
            hint="a network looks at the type of its numbers, or this torch runs with reduced precision or fast "
            "convolution algorithms: see docs/certificate.md",
        )


def refuse_violation(found: torch.Tensor, bound: torch.Tensor, walked: Walked, *, first: int) -> None:
    """A larger difference than was proven: then the two modules do not run the same code."""
    rounding = _SAME * (1 + float(walked.values.abs().max()))
    bad = torch.nonzero(~(found <= bound + rounding))
    if len(bad):
        index = int(bad[0])
        raise PactError(
            f"the networks differ by {float(found[index]):.6g}, more than the proven {float(bound[index]):.6g}",
            where=f"sample {first + index}",
            hint="the two modules do not run the same code, or their logits are not finite",
        )
