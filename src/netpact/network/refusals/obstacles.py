"""What is not supported, before the network is run: wrappers, kinds of layers, tensors that hold no usable numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.nn.utils import parametrize

from netpact.core.errors import PactError
from netpact.network.refusals.code_constants import look_for_constants
from netpact.network.refusals.hidden_state import hidden_tensors


class UnsupportedNetworkError(PactError):
    """Everything that is not supported, each by name: `problems` holds one line for each."""

    def __init__(self, problems: Sequence[str], *, where: str) -> None:
        self.problems = tuple(problems)
        super().__init__(
            "the network is not supported:\n  " + "\n  ".join(problems),
            where=where,
            hint="docs/networks.md says what is supported, and how to fix the rest",
        )


@dataclass(frozen=True)
class Obstacles:
    """problems  one line for each
    can_run   whether a copy of the module can still be run, so that what shows there is listed in the same error
    """

    problems: tuple[str, ...]
    can_run: bool


def find_obstacles(module: nn.Module) -> Obstacles:
    if isinstance(module, torch.jit.ScriptModule):
        # Its parts are no Python modules, so there is nothing more to look at.
        return Obstacles((f"{_place('', module)}: {_wrapper(module)}",), can_run=False)
    problems: list[str] = []
    can_run = True
    opaque: list[str] = []
    for name, part in module.named_modules():
        if any(name.startswith(f"{outer}.") for outer in opaque):
            continue
        if wrapper := _wrapper(part):
            problems.append(f"{_place(name, part)}: {wrapper}")
            can_run = False
        if isinstance(part, torch.jit.ScriptModule):
            opaque.append(name)
            continue
        found, harmless = _look_at_part(name, part)
        problems += found
        can_run = can_run and harmless
    problems += [f"{name}: outside parameters and buffers, so no file would hold it" for name in hidden_tensors(module)]
    if constants := look_for_constants(module)[0]:
        problems.append(constants)
    if not any(True for _ in module.parameters()):
        problems.append("there are no parameters")
    return Obstacles(tuple(problems), can_run)


def _look_at_part(name: str, part: nn.Module) -> tuple[list[str], bool]:
    """What is wrong with one module and its own tensors, and whether the network can be run all the same."""
    place, problems, can_run = _place(name, part), [], True
    if parametrize.is_parametrized(part):
        names = ", ".join(key for key, _ in part.get_submodule("parametrizations").named_children())
        how = "torch.nn.utils.parametrize.remove_parametrizations"
        problems.append(f"{place}: its {names} is computed from other tensors: use {how}")
    for key, tensor in [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)]:
        problem, harmless = _look_at_tensor(tensor)
        problems += [f"{place}: {key} {problem}"] if problem else []
        can_run = can_run and harmless
    return problems, can_run


def hooked(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The modules with forward hooks of the user's own."""
    return ((name, part) for name, part in module.named_modules() if part._forward_hooks or part._forward_pre_hooks)


def _place(name: str, part: nn.Module) -> str:
    return f"{name or 'the module itself'} ({type(part).__name__})"


def _wrapper(part: nn.Module) -> str:
    """What to do about a module that only wraps another one, or "" for any other module."""
    if isinstance(part, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
        return "spreads batches over devices: give its .module"
    if isinstance(part, torch.jit.ScriptModule):
        return "is compiled to TorchScript, which cannot be watched: give the Python module it was made from"
    # By name: importing the compiler takes seconds, and an object of this class can only come from it.
    if type(part).__name__ == "OptimizedModule" and isinstance(getattr(part, "_orig_mod", None), nn.Module):
        return "is compiled by torch.compile, which cannot be watched: give its ._orig_mod"
    return ""


def _look_at_tensor(tensor: Tensor) -> tuple[str, bool]:
    """What is wrong with a tensor, or "", and whether the network can be run all the same."""
    if is_lazy(tensor):
        return "has no shape yet: run the module once on a batch of your data", False
    if tensor.is_meta:
        return "is on the meta device, which holds no numbers: call to_empty and load the weights", False
    if tensor.device.type != "cpu":
        return f"is on {tensor.device}: use .cpu()", False
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_complex():
        return "is sparse, quantized or complex: only plain real numbers are supported", False
    if tensor.is_floating_point() and tensor.dtype != torch.float32:
        return f"is {tensor.dtype}, only float32 is supported: use .float()", True
    return ("holds NaN or infinity", True) if not bool(torch.isfinite(tensor).all()) else ("", True)
