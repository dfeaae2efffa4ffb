"""Batch norm of a trained network folded into what stands before it, as far as one run of the network allows."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.datasets import Data, Samples, as_data
from netpact.layers.rewrites import Fold, Step, apply_steps, find_part, number_of
from netpact.models import AnyModule, as_module
from netpact.models.folding import NormAffine, fold_family, is_foldable_family, round_once
from netpact.network.kinds import KINDS
from netpact.network.probing import PROBE, RUN_ERRORS
from netpact.network.tracing import Layer, Network, trace

_SAME = 1e-6  # of the largest logit: two float64 runs differ by far less, two different networks by far more


def fold_batch_norm(module: AnyModule, data: Data | Samples | object = None) -> nn.Module:
    """A new module in eval mode that computes the same with fewer numbers; the given one is not changed.

        weight (W x + b - mean) / sqrt(variance + eps) + bias = (scale W) x + scale (b - mean) + bias

    with scale = weight / sqrt(variance + eps). A batch norm is folded into the linear or convolution layer before it
    if it is the only reader of that layer's output, both run once, and no other layer shares the weights. The graph of
    one run decides, not names; nn.Identity replaces the norm. Any other batch norm becomes a ChannelAffine. Computed in
    float64, then rounded once to float32: the logits differ by rounding only.

    The changes are kept on the new module as netpact_rewrites and written into the file, which is then opened with the
    given module, or with the folded one.

    data  what the network classifies, as for trace; may be left out for networks that build made, which become those
          that build makes of the folded architecture
    """
    module = as_module(module, where="module")
    if data is None or is_foldable_family(module):
        return fold_family(module)
    source = as_data(data)
    network = trace(module, source)
    original = copy.deepcopy(network.module).double()
    folded, steps = fold_norms(network, copy.deepcopy(original))
    if not steps:
        raise PactError("there is no batch norm to fold", where=network.name)
    folded.netpact_rewrites = (*network.rewrites, *steps)  # type: ignore[assignment]
    inputs, _ = next(iter(source.train.batches(PROBE)))
    _compare(original, folded, torch.from_numpy(inputs).double())
    with torch.no_grad():
        for name, parameter in folded.named_parameters():
            parameter.copy_(round_once(parameter, where=name))
    if hasattr(folded, "netpact_architecture"):
        del folded.netpact_architecture  # of a network of ours that was changed: it says even less of this one
    return folded.float().eval()


def fold_norms(network: Network, module: nn.Module) -> tuple[nn.Module, tuple[Step, ...]]:
    """A float64 copy of the network's module, changed, and what was changed in it: nothing where there is no norm."""
    norms = {layer.name: None for layer in network.layers if layer.kind == "batch_norm"}
    steps = list[Step]()
    for name in norms:
        norm, host = module.get_submodule(name), _find_host(network, name)
        number = number_of(module, norm)
        place = number if host is None else number_of(module, module.get_submodule(host))
        steps.append(Step(number, Fold(number - place)))
        module = carry_fold(module, steps[-1])
    return module, tuple(steps)


def carry_fold(module: nn.Module, step: Step) -> nn.Module:
    """Change a float64 module by a Fold, weights and all; what was folded already stays as it is."""
    assert isinstance(step.rewrite, Fold)
    norm, place = find_part(module, step.layer), step.layer - step.rewrite.back
    pair = None
    if isinstance(norm, (nn.BatchNorm1d, nn.BatchNorm2d)):
        affine = NormAffine.of(norm, where=str(step))
        pair = affine.after(find_part(module, place)) if step.rewrite.back else (affine.scale, affine.shift)
    module = apply_steps(module, [step])
    if pair is not None:
        layer = find_part(module, place)
        layer.weight, layer.bias = map(nn.Parameter, pair)
    return module


def _find_host(network: Network, name: str) -> str | None:
    """The layer that can take this batch norm in."""
    norm = _only_run(network, name)
    if norm is None:
        return None
    entries, graph = network.entries(norm.index), network.graph
    if len(entries) != 1 or entries[0] == graph.output or graph.readers(entries[0]) != (norm.node,):
        return None
    for layer in network.layers:
        if layer.node == entries[0]:
            fits = len(graph.nodes[layer.node].shape) == KINDS[layer.kind].norm_axes
            return layer.name if fits and not network.is_shared(layer.index) else None
    return None


def _only_run(network: Network, name: str) -> Layer | None:
    runs = [layer for layer in network.layers if layer.name == name]
    return runs[0] if len(runs) == 1 else None


@torch.no_grad()
def _compare(original: nn.Module, folded: nn.Module, x: Tensor) -> None:
    """Before anything is rounded: the module's own code may look at what is no longer there."""
    wanted = original(x.clone())
    try:
        found = folded(x.clone())
    except RUN_ERRORS as error:
        raise PactError(
            f"the folded network does not run: {error}",
            where=type(original).__name__,
            hint="forward must use its batch norm layers only by calling them",
        ) from error
    finite = wanted[torch.isfinite(wanted)]
    size = 1 + float(finite.abs().max()) if len(finite) else 1.0
    if not torch.allclose(wanted, found, rtol=0.0, atol=_SAME * size, equal_nan=True):
        raise PactError(
            "the folded network computes something else",
            where=type(original).__name__,
            hint="forward must use its batch norm layers only by calling them",
        )
