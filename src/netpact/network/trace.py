"""A trained module as the theory sees it: its weight layers in the order in which they run, or what is in the way."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from netpact.datasets import Data, Samples, as_data
from netpact.errors import PactError
from netpact.layers import ChannelAffine
from netpact.models import Architecture, OwnModule, build
from netpact.network.hidden_state import hidden_tensors
from netpact.network.rounding import Spread, make_spread, rounding, value_of

# The layers that may own parameters, and what they are called.
LAYER_KINDS: dict[type[nn.Module], str] = {
    nn.Linear: "linear",
    nn.Conv2d: "conv2d",
    nn.BatchNorm1d: "batch_norm",
    nn.BatchNorm2d: "batch_norm",
    ChannelAffine: "channel_affine",
}
_PROBE = 4  # samples in the batch that is run to look at the network


class UnsupportedNetworkError(PactError):
    """Everything that is in the way, each by name: `problems` holds one line for each."""

    def __init__(self, problems: Sequence[str], *, where: str) -> None:
        self.problems = tuple(problems)
        kinds = ", ".join(sorted({kind.__name__ for kind in LAYER_KINDS}))
        super().__init__(
            "the network is not supported:\n  " + "\n  ".join(problems),
            where=where,
            hint=f"layers with parameters may be {kinds}",
        )


@dataclass(frozen=True)
class Layer:
    """One layer with parameters. index counts from 1 in execution order."""

    index: int
    name: str
    kind: str
    shape: tuple[int, ...]
    parameters: int


@dataclass(frozen=True, eq=False)
class Network:
    """A supported classifier: a private copy of the module in eval mode, its architecture, its layers."""

    module: nn.Module
    architecture: Architecture | OwnModule
    layers: tuple[Layer, ...]
    name: str

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.module.parameters())

    @property
    def is_own_module(self) -> bool:
        return isinstance(self.architecture, OwnModule)


def trace(model: nn.Module, data: Data | Samples | object) -> Network:
    """Look at a module by running a few samples through it. All problems are named in one error.

    data  what the network is to classify: anything that load_data or as_data gives, or arrays (x, y)
    """
    if not isinstance(model, nn.Module):
        raise PactError(f"trace needs a torch.nn.Module, got {type(model).__name__}", where="model")
    source = as_data(data)
    module = copy.deepcopy(model).eval()
    inputs, _ = next(iter(source.train.batches(_PROBE)))
    problems = _look_at_tensors(module)
    order: list[str] = []
    if not problems:
        problems = _run(module, torch.from_numpy(inputs), source.classes, order)
    problems += [
        f"{name}: has parameters but does not run" for name in _owners(module) if not problems and name not in order
    ]
    if problems:
        raise UnsupportedNetworkError(problems, where=type(model).__name__)
    architecture = _architecture(module, source)
    name = type(model).__name__ if isinstance(architecture, OwnModule) else str(architecture)
    return Network(module, architecture, _layers(module, order), name)


def _architecture(module: nn.Module, data: Data) -> Architecture | OwnModule:
    """Ours, if the module still is what its architecture builds: layer by layer the same, but for the weights."""
    stated = getattr(module, "netpact_architecture", None)
    if isinstance(stated, Architecture) and repr(build(stated)) == repr(module):
        return stated
    return OwnModule(data.input_shape, data.classes)


def _owners(module: nn.Module) -> dict[str, nn.Module]:
    """The modules that hold parameters or buffers of their own."""

    def has_tensors(part: nn.Module) -> bool:
        return any(True for _ in part.parameters(recurse=False)) or any(True for _ in part.buffers(recurse=False))

    return {name: part for name, part in module.named_modules() if has_tensors(part)}


def _look_at_tensors(module: nn.Module) -> list[str]:
    problems = []
    for name, part in _owners(module).items():
        place = f"{name or 'the module itself'} ({type(part).__name__})"
        if type(part) not in LAYER_KINDS:
            problems.append(f"{place}: holds parameters or buffers, but its kind is not supported")
        for tensor_name, tensor in [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)]:
            if tensor.is_floating_point() and tensor.dtype != torch.float32:
                problems.append(f"{place}: {tensor_name} is {tensor.dtype}, only float32 is supported: use .float()")
            elif not bool(torch.isfinite(tensor).all()):
                problems.append(f"{place}: {tensor_name} holds NaN or infinity")
    problems += [f"{name}: outside parameters and buffers, so no file would hold it" for name in hidden_tensors(module)]
    if not any(True for _ in module.parameters()):
        problems.append("there are no parameters")
    return problems


def _run(module: nn.Module, inputs: Tensor, classes: int, order: list[str]) -> list[str]:
    """Run a few samples; note the order of the layers, and every operation that has no rule."""
    handles = [
        part.register_forward_hook(lambda _part, _in, _out, name=name: order.append(name))
        for name, part in _owners(module).items()
    ]
    try:
        with torch.no_grad(), rounding("float64", collect=True) as run:
            module.double()
            x = inputs.double()
            logits = module(make_spread(x, torch.zeros_like(x)))
    except PactError:
        raise
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError, NotImplementedError) as error:
        return [f"it does not run on inputs of shape {tuple(inputs.shape[1:])}: {error}"]
    finally:
        module.float()
        for handle in handles:
            handle.remove()
    problems = [f"operation {name}: no rule for it" for name in sorted(set(run.unknown))]
    if not isinstance(logits, Spread):
        problems.append(f"it returns {type(logits).__name__}, one tensor of logits is needed")
    elif (shape := tuple(value_of(logits).shape)) != (len(inputs), classes):
        problems.append(f"it returns logits of shape {shape}, needed is {(len(inputs), classes)}")
    problems += [f"{name}: runs more than once" for name in sorted({name for name in order if order.count(name) > 1})]
    return problems


def _layers(module: nn.Module, order: list[str]) -> tuple[Layer, ...]:
    parts = dict(module.named_modules())
    layers = []
    for index, name in enumerate(order, start=1):
        part = parts[name]
        weight = part.weight
        shape = tuple(weight.shape) if isinstance(weight, Tensor) else ()
        count = sum(parameter.numel() for parameter in part.parameters(recurse=False))
        layers.append(Layer(index, name, LAYER_KINDS[type(part)], shape, count))
    return tuple(layers)
