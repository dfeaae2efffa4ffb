"""What a module consists of, supported or not: its layers with weights, what they cost to run, how far they stretch."""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn

from netpact.core.progress import Progress
from netpact.datasets import Data, Samples, as_data
from netpact.network.flops import SampleRun, run_sample
from netpact.network.kinds import KINDS
from netpact.network.refusals.obstacles import UnsupportedNetworkError
from netpact.network.tracing import trace


@dataclass(frozen=True, kw_only=True)
class LayerRow:
    """One module that holds parameters or buffers of its own. index counts from 1 in the order of the first runs.

    flops           of one sample, all runs of this module together; None where that is not known
    spectral_lower  spectral_lower <= operator norm, for images of the size that the layer receives
    spectral_upper  operator norm <= spectral_upper, for every image size; None where no norm is known
    """

    index: int
    name: str
    kind: str
    shape: tuple[int, ...]
    parameters: int
    flops: int | None
    spectral_lower: float | None
    spectral_upper: float | None

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "shape": list(self.shape)}


@dataclass(frozen=True, kw_only=True)
class LayerTable:
    """problems  what is not supported, one line each
    remedy    what to do about them
    unruled   operations without a rounding rule: such a network is certified as run
    """

    rows: tuple[LayerRow, ...]
    parameters: int
    flops: int | None
    problems: tuple[str, ...]
    remedy: str
    unruled: tuple[str, ...] = ()


def describe_layers(model: nn.Module, data: Data | Samples | object, *, progress: Progress | None = None) -> LayerTable:
    """List the layers of any module. A network that trace refuses is described as far as that is possible.

    data  as for trace; one sample is run. A multiplication and an addition are two operations; only matrix products,
          convolutions and attention are counted.
    """
    source = as_data(data)
    problems, remedy, unruled = _find_problems(model, source)
    module = copy.deepcopy(model).eval()
    inputs, _ = next(iter(source.train.batches(1)))
    owners = {name: part for name, part in module.named_modules() if _own_tensors(part)}
    run = run_sample(module, owners, torch.from_numpy(inputs))
    if run.failure and not problems:  # trace's own run says it otherwise, for more samples at once
        problems = (f"it does not run on inputs of shape {tuple(inputs.shape[1:])}: {run.failure}",)
    order = [*run.order, *(name for name in owners if name not in run.order)]
    rows = []
    for index, name in enumerate(order, start=1):
        rows.append(_make_row(index, name, owners[name], run))
        if progress is not None:
            progress(index, len(order))
    uncounted = bool(run.failure) or any(row.flops is None and row.name in run.order for row in rows)
    return LayerTable(
        rows=tuple(rows),
        parameters=sum(parameter.numel() for parameter in module.parameters()),
        flops=None if uncounted else run.total,
        problems=problems,
        remedy=remedy,
        unruled=unruled,
    )


def _find_problems(model: nn.Module, data: Data) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    try:
        network = trace(model, data)
    except UnsupportedNetworkError as error:
        return error.problems, error.hint, ()
    return (), "", network.unruled


def _own_tensors(part: nn.Module) -> list[Tensor]:
    return [*part.parameters(recurse=False), *part.buffers(recurse=False)]


def _make_row(index: int, name: str, part: nn.Module, run: SampleRun) -> LayerRow:
    weight = getattr(part, "weight", None)
    own = list(part.parameters(recurse=False))
    kind = KINDS.find(part)
    # Fused operations, an LSTM for one, are invisible to the counter: no count is better than 0.
    unseen = kind is None and not run.flops[name] and any(tensor.dim() > 1 for tensor in own)
    sound = all(t.is_floating_point() for t in own) and all(bool(t.isfinite().all()) for t in _own_tensors(part))
    lower, upper = kind.norm(part, run.shapes.get(name)) if kind is not None and sound else (None, None)
    return LayerRow(
        index=index,
        name=name,
        kind=type(part).__name__ if kind is None else kind.name,
        shape=tuple(weight.shape) if isinstance(weight, Tensor) else (),
        parameters=sum(tensor.numel() for tensor in own),
        flops=None if unseen or name not in run.order else run.flops[name],
        spectral_lower=lower,
        spectral_upper=upper,
    )
