"""From an architecture to a torch module, and its first weights. The global random state stays as it was."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from netpact import layers
from netpact.core.checks import check_instance
from netpact.core.errors import PactError
from netpact.core.limits import MAX_PARAMETERS, Limits
from netpact.core.seed import Seed
from netpact.models import plan as records
from netpact.models.architecture import Architecture, parameter_count

if TYPE_CHECKING:
    from netpact.layers.rewrites import Step

_BUILD_SEED = Seed(0, ("build",))


def build(
    architecture: Architecture, *, seed: Seed = _BUILD_SEED, max_parameters: Limits | int = MAX_PARAMETERS
) -> nn.Sequential:
    """A fresh float32 module in evaluation mode with initial weights drawn from the seed.

    The architecture stays on the module as netpact_architecture, so that it can be written into a file.
    """
    hint = "parse_model(name, input_shape=..., classes=...) gives one"
    check_instance(architecture, Architecture, where="architecture", hint=hint)
    count, most = parameter_count(architecture), Limits.of(max_parameters).max_parameters
    if count > most:
        raise PactError(
            f"the network would have {count:,} parameters, allowed are {most:,}",
            where=f"architecture {architecture}",
            hint="raise max_parameters if you trust where this architecture comes from",
        )
    module = sketch(architecture)
    module.to_empty(device="cpu")
    initialise(module, seed)
    return module


def sketch(architecture: Architecture) -> nn.Sequential:
    """The module on the meta device: structure and shapes without memory for the weights."""
    module = _sequence(architecture.plan())
    module.netpact_architecture = architecture  # type: ignore[assignment]
    return module.eval()


def is_as_built(module: nn.Module, architecture: Architecture, rewrites: tuple[Step, ...] = ()) -> bool:
    """Whether a module still is what the architecture builds, layer by layer, but for the weights. Takes no memory."""
    built: nn.Module = _sequence(architecture.plan())
    if rewrites:
        from netpact.layers.rewrites import apply_steps

        built = apply_steps(built, rewrites)
    return repr(built) == repr(module)


def _sequence(plan: records.Plan) -> nn.Sequential:
    return nn.Sequential(OrderedDict((name, _layer(layer)) for name, layer in plan))


def _layer(layer: records.Layer) -> nn.Module:
    if isinstance(layer, records.Residual):
        return layers.Residual(_sequence(layer.body), _sequence(layer.shortcut))
    if isinstance(layer, records.DenseStep):
        return layers.DenseStep(_sequence(layer.body))
    if isinstance(layer, records.ShuffleStep):
        return layers.ShuffleStep(_sequence(layer.body), _sequence(layer.branch) if layer.branch else None)
    return _holder(layer) or _plain(layer)


def _holder(layer: records.Layer) -> nn.Module | None:
    """Layers with parameters, on the meta device: torch's own initialisation takes nothing from the global stream."""
    if isinstance(layer, records.Linear):
        return nn.Linear(layer.inputs, layer.outputs, bias=layer.bias, device="meta", dtype=torch.float32)
    if isinstance(layer, records.Conv):
        return nn.Conv2d(layer.inputs, layer.outputs, layer.kernel, groups=layer.groups, **_settings(layer))
    if isinstance(layer, records.CPConv):
        dense = layer.dense
        return layers.CPConv2d(dense.inputs, dense.outputs, dense.kernel, layer.rank, **_settings(dense))
    if isinstance(layer, records.BatchNorm):
        return nn.BatchNorm2d(layer.channels, device="meta", dtype=torch.float32)
    if isinstance(layer, records.Affine):
        return layers.ChannelAffine(layer.channels, device="meta", dtype=torch.float32)
    return None


def _settings(conv: records.Conv) -> dict[str, Any]:
    moved = {"stride": conv.stride, "padding": conv.padding, "bias": conv.bias}
    return moved | {"device": "meta", "dtype": torch.float32}


def _plain(layer: records.Layer) -> nn.Module:
    if isinstance(layer, records.AveragePool):
        return nn.AvgPool2d((layer.height, layer.width))
    if isinstance(layer, records.MaxPool):
        return nn.MaxPool2d(2)
    if isinstance(layer, records.Relu):
        return nn.ReLU()
    if isinstance(layer, records.LayerNorm):
        return nn.GroupNorm(1, layer.channels, affine=False)
    if isinstance(layer, records.Edges):
        return layers.OrientedEdges(**asdict(layer))
    if isinstance(layer, records.Contours):
        return layers.Contours(**asdict(layer))
    if isinstance(layer, records.Sobel):
        return layers.SobelEdges(layers.SobelOptions(**asdict(layer)))
    if isinstance(layer, records.Shrink):
        return layers.ZeroPaddedShortcut(inputs=layer.inputs, outputs=layer.outputs, stride=layer.stride)
    if isinstance(layer, records.Flatten):
        return nn.Flatten()
    raise PactError(f"{type(layer).__name__} has no torch module", where="plan")


_FAN_IN = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
_ONES_AND_ZEROS = (nn.modules.batchnorm._BatchNorm, nn.GroupNorm, nn.LayerNorm, layers.ChannelAffine)


def initialise(module: nn.Module, seed: Seed, only: Collection[str] | None = None) -> None:
    """Draw every parameter anew, from the seed and the parameter's name alone; or those of the named layers only.

    Weights and biases of linear and convolution layers as torch's defaults do (He et al. 2015 with slope sqrt 5):

        uniform on [-1/sqrt(fan_in), 1/sqrt(fan_in)]

    The first two layers of a CP convolution have sqrt(3) times that, so that the composed kernel has the variance of
    a dense one. Norm layers get scale 1, shift 0 and fresh running statistics.
    """
    holders = [(name, part) for name, part in module.named_modules() if any(True for _ in part.parameters(False))]
    holders = [(name, part) for name, part in holders if only is None or name in only]
    unknown = [f"{name or 'the module itself'} ({type(part).__name__})" for name, part in holders if not _known(part)]
    if unknown:
        raise PactError(
            f"no rule for the initial weights of {', '.join(unknown)}",
            where="initialise",
            hint="allowed: Linear, Conv1d to Conv3d, batch, group and layer norm; initialise other layers yourself",
        )
    chains = [name for name, part in module.named_modules() if isinstance(part, layers.CPConv2d)]
    inner = {f"{name}.{part}" if name else part for name in chains for part in ("pointwise_in", "depthwise")}
    with torch.no_grad():
        for name, part in holders:
            if isinstance(part, _FAN_IN):
                bound = math.sqrt(3 if name in inner else 1) / math.sqrt(max(1, part.weight[0].numel()))
                for key, parameter in part.named_parameters(recurse=False):
                    parameter.copy_(_uniform(parameter, bound, seed.child("initialise", name, key)))
            else:
                for key, parameter in part.named_parameters(recurse=False):
                    parameter.fill_(1.0 if key == "weight" else 0.0)
        for name, part in module.named_modules():
            if isinstance(part, nn.modules.batchnorm._BatchNorm) and (only is None or name in only):
                part.reset_running_stats()


def _known(part: nn.Module) -> bool:
    return isinstance(part, (*_FAN_IN, *_ONES_AND_ZEROS))


def _uniform(like: torch.Tensor, bound: float, seed: Seed) -> torch.Tensor:
    # Drawn on the CPU in float32 whatever the parameter's place and type: one seed, one network.
    drawn = torch.empty(like.shape, dtype=torch.float32, device="cpu")
    return drawn.uniform_(-bound, bound, generator=seed.torch())
