"""What shows when a network is run on a few samples: its graph, or why no bound can follow it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from netpact.network.adapting import other_inputs
from netpact.network.graph import Graph
from netpact.network.recording import Recording, Run, record
from netpact.network.refusals.hidden_state import RUN_ERRORS
from netpact.network.refusals.obstacles import hooked
from netpact.network.rounding.constants import FOREIGN, Constants
from netpact.network.rounding.counting import are_same
from netpact.network.rounding.tolerance import Spread, make_spread, rounding, value_of

PROBE = 4  # samples in the batch that is run to look at a network
_CHANNELS = (1, 3, 4)


@dataclass(frozen=True)
class Probed:
    """What a Recording shows, complete where there are no problems."""

    problems: tuple[str, ...]
    graph: Graph | None = None
    runs: tuple[Run, ...] = ()
    strays: tuple[str, ...] = ()
    unruled: tuple[str, ...] = ()


@torch.no_grad()
def probe(module: nn.Module, inputs: Tensor, *, classes: int) -> Probed:
    """Run a float64 copy of the module several times; the global random numbers stay as they were."""
    twin = copy.deepcopy(module).double().eval()
    x = inputs.double()
    with torch.random.fork_rng(devices=[]), _without_fast_paths():
        try:
            problems = _drop_hooks(twin, x)
            recording = record(twin, x)
        except RUN_ERRORS as error:
            shape = tuple(inputs.shape[1:])
            return Probed((f"it does not run on inputs of shape {shape}: {error}{_other_order(shape)}",))
        problems += _look_at_output(recording, (len(inputs), classes))
        is_usable = recording.graph is not None and not problems
        followed, unruled = _follow(twin, x)
        problems += [f"operation {name}: no file would hold it" for name in unruled if FOREIGN in name]
        problems += [f"operation {name}: what runs next could depend on the sample" for name in recording.exits]
        if is_usable and isinstance(recording.output, Tensor):
            problems += _compare_runs(twin, x, recording.output, followed)
    return Probed(tuple(problems), recording.graph, recording.runs, recording.strays, unruled)


def _other_order(shape: tuple[int, ...]) -> str:
    """What is likely wrong with images whose channels come last."""
    if len(shape) == 3 and shape[2] in _CHANNELS and shape[0] not in _CHANNELS:
        return "; images have their channels first: x.transpose(0, 3, 1, 2)"
    return ""


@contextmanager
def _without_fast_paths() -> Iterator[None]:
    """As a decoded network runs: see coding/format/arithmetic.py."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _drop_hooks(twin: nn.Module, x: Tensor) -> list[str]:
    """The user's own hooks may look, but the file does not hold them: what they change would be lost."""
    parts = list(hooked(twin))
    if not parts:
        return []
    before = twin(x.clone())
    drop_hooks(twin)
    after = twin(x.clone())
    if isinstance(before, Tensor) and isinstance(after, Tensor) and are_same(before, after):
        return []
    return [f"{name or 'the module itself'}: forward hooks change what the network computes" for name, _ in parts]


def drop_hooks(module: nn.Module) -> None:
    for _, part in hooked(module):
        part._forward_hooks.clear()
        part._forward_pre_hooks.clear()


def _look_at_output(recording: Recording, shape: tuple[int, int]) -> list[str]:
    output = recording.output
    if not isinstance(output, Tensor):
        return [f"it returns {type(output).__name__}, must return one tensor of logits: state which entry holds them"]
    problems = []
    if tuple(output.shape) != shape:
        problems.append(
            f"it returns logits of shape {tuple(output.shape)}, must be {shape}: one for each of the {shape[1]} "
            f"classes of the data, whose labels are 0 to {shape[1] - 1}"
        )
    if recording.graph is None:
        problems.append("what it returns is not computed from its input")
    return problems


def _follow(twin: nn.Module, x: Tensor) -> tuple[Tensor | None, tuple[str, ...]]:
    """The logits as the rounding rules compute them, and every operation that has no rule."""
    start = make_spread(x.clone(), torch.zeros_like(x))
    with rounding("float64", collect=True) as run, Constants(twin):
        try:
            logits = twin(start)
        except RUN_ERRORS as error:
            # An operation without a rule may hand on something that the next one cannot take.
            return None, tuple(sorted({*run.unknown})) or (f"what follows: {error}",)
    if run.unknown:
        return None, tuple(sorted({*run.unknown}))
    return (value_of(logits), ()) if isinstance(logits, Spread) else (None, ())


def _compare_runs(twin: nn.Module, x: Tensor, logits: Tensor, followed: Tensor | None) -> list[str]:
    """The same samples again, followed by the rules, one by one, and in another order."""
    if not are_same(logits, twin(x.clone())):
        return ["two runs on the same samples give different logits"]
    problems = []
    if followed is not None and not are_same(logits, followed):
        problems.append("it computes something else under rounding analysis: avoid in-place changes of shared tensors")
    try:
        if _depends_on_company(twin, x, logits):
            problems.append("a sample's logits depend on the other samples of its batch")
    except RUN_ERRORS as error:
        problems.append(f"it runs on {len(x)} samples, but not in batches of another size or order: {error}")
    return problems


def _depends_on_company(twin: nn.Module, x: Tensor, logits: Tensor) -> bool:
    if len(x) == 1:
        x = torch.cat([x, other_inputs(twin, x)])
        logits = torch.cat([logits, twin(x[1:])])
    alone = torch.cat([twin(x[place : place + 1].clone()) for place in range(len(x))])
    return not (are_same(logits, alone) and are_same(logits.roll(1, dims=0), twin(x.roll(1, dims=0))))
