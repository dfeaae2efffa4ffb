"""A user's module must hold nothing that the message does not set."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
import torch
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.network.refusals.code_constants import check_constants
from netpact.network.refusals.reading import no_files, watch_forward

_HINT = "register it with register_buffer, so that it is written into the file"
_FEW = 4  # samples, to see which tensors a run uses
# What a user's forward may raise when it meets inputs it was not made for.
RUN_ERRORS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
_REGISTERED = {"_parameters", "_buffers", "_modules"}


def hidden_tensors(module: nn.Module) -> list[str]:
    """Tensors and arrays kept as plain attributes: state that is neither a parameter nor a buffer.

    A list of the module's own parameters is no state besides them. Buffers have no such excuse: a change of precision
    puts new tensors in their places, and the list would keep the old ones.
    """
    own = {id(parameter) for parameter in module.parameters()}

    def is_hidden(entry: object) -> bool:
        return isinstance(entry, (Tensor, np.ndarray)) and id(entry) not in own

    return [
        f"{name}.{attribute}".lstrip(".")
        for name, part in module.named_modules()
        for attribute, value in vars(part).items()
        if attribute not in _REGISTERED and any(map(is_hidden, _entries(value)))
    ]


def open_own_module(
    load: Callable[[list[nn.Module]], list[nn.Module]],
    model: nn.Module | Callable[[], nn.Module],
    inputs: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
    prepare: Callable[[nn.Module], nn.Module] = lambda module: module,
) -> nn.Module:
    """Fill the user's module from the message and check that the message alone decides what it computes.

    A function that makes the module is called twice under different random seeds; both copies, spoiled and then filled,
    must compute the same. A module that was made already can only be searched. Numbers in its code are refused, and so
    are files that are read while it is made or run; the module returned goes on looking out for those.

    load     gives filled copies of the modules it is given, all from one message
    prepare  makes a filled module take and return what is counted: see network/adapting.py
    """
    if isinstance(model, nn.Module):
        makers: list[Callable[[], nn.Module]] = [lambda: model]
    else:
        makers = [lambda: _make(model, seed=1), lambda: _make(model, seed=2)]
    made = [make() for make in makers]
    for module in made:
        if hidden := hidden_tensors(module):
            raise PactError(
                f"tensors outside parameters and buffers: {', '.join(hidden)}", where=type(module).__name__, hint=_HINT
            )
        check_constants(module)
    loaded = [watch_forward(prepare(module)) for module in load(made)]
    with torch.no_grad():
        x = torch.from_numpy(inputs)
        outputs = [module(x.to(next(module.parameters()).dtype)) for module in loaded]
        _refuse_foreign(loaded[0], x[:_FEW])
    check_constants(loaded[0], opened=True)  # again: what a first run has kept shows now
    if not all(torch.equal(outputs[0], other) for other in outputs[1:]):
        raise PactError(
            "two copies of the module, filled from one message, compute different things: it keeps state elsewhere",
            where=type(loaded[0]).__name__,
            hint=_HINT,
        )
    return loaded[0]


def _refuse_foreign(module: nn.Module, x: Tensor) -> None:
    """Tensors that forward takes from elsewhere; what rules are known for what it computes does not matter here."""
    from netpact.network.rounding.constants import FOREIGN, Constants
    from netpact.network.rounding.tolerance import make_spread, rounding

    twin, start = copy.deepcopy(module).double(), make_spread(x.double(), torch.zeros_like(x).double())
    with rounding("float64", collect=True) as run, Constants(twin), suppress(*RUN_ERRORS):
        twin(start)
    if found := [name for name in run.unknown if FOREIGN in name]:
        raise PactError(f"operation {found[0]}: no file would hold it", where=type(module).__name__, hint=_HINT)


def _make(model: Callable[[], nn.Module], *, seed: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        state = np.random.get_state()
        np.random.seed(seed)  # the user's code may draw from it; put back below
        try:
            with no_files(getattr(model, "__qualname__", type(model).__qualname__)):
                module = model()
        finally:
            np.random.set_state(state)
    if not isinstance(module, nn.Module):
        raise PactError(f"the model function must return a torch.nn.Module, got {type(module).__name__}", where="model")
    return module


def _entries(value: object) -> Iterator[object]:
    """A value and, where it is a container, everything in it."""
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple, set)) else ()
    for entry in inner:
        yield from _entries(entry)
