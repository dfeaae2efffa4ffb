"""Labels of entries, carried through a run of a network: see channels.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from netpact.layers import Chain
from netpact.layers.affine import ChannelAffine
from netpact.layers.rewrites import can_factor
from netpact.network.kinds import KINDS
from netpact.network.nested import map_tensors, tensors_in
from netpact.network.rounding.pointwise import POINTWISE
from netpact.network.rounding.rules import JOINS, MOVES, SUMS

NOTHING, KEPT = 0, 1  # entries that padding made, which are 0; entries of which nothing can be removed
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, ChannelAffine)
_POOLS = ("max_pool1d", "max_pool2d", "adaptive_max_pool2d", "avg_pool1d", "avg_pool2d", "adaptive_avg_pool2d")
_REDUCTIONS = ("mean", "sum", "amax", "amin")


class Labels:
    """Sets of labels that were joined, and which of them must stay."""

    def __init__(self) -> None:
        self._parents = [NOTHING, KEPT]
        self._reasons: dict[int, str] = {KEPT: "it is made of the input"}

    def fresh(self, count: int) -> NDArray[np.int64]:
        first = len(self._parents)
        self._parents.extend(range(first, first + count))
        return np.arange(first, first + count)

    def fix(self, labels: NDArray[np.int64], reason: str) -> None:
        for label in labels.tolist():
            if label != NOTHING:
                self._reasons.setdefault(self._root(label), reason)

    def join(self, first: int, second: int) -> None:
        one, other = self._root(first), self._root(second)
        if one != other:
            self._parents[other] = one
            reason = self._reasons.pop(other, None)
            if reason is not None:
                self._reasons.setdefault(one, reason)

    def resolve(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The representative of every label, and whether it must stay."""
        roots = np.array([self._root(label) for label in range(len(self._parents))])
        return roots, np.isin(roots, [*self._reasons, NOTHING])

    def reason(self, labels: NDArray[np.int64]) -> str:
        """Why all of them must stay; empty if some need not."""
        found = [self._reasons.get(self._root(label), "") for label in labels.tolist()]
        return found[0] if found and all(found) else ""

    def _root(self, label: int) -> int:
        while self._parents[label] != label:
            self._parents[label] = self._parents[self._parents[label]]
            label = self._parents[label]
        return label


@dataclass(frozen=True, eq=False)
class LabelledLayer:
    outputs: NDArray[np.int64]
    inputs: NDArray[np.int64]
    is_filter: bool


class Follower(TorchFunctionMode):
    """Sees every torch function while it is entered, and every layer with weights as a whole."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.labels = Labels()
        self.layers: dict[str, LabelledLayer] = {}
        self._known: dict[int, tuple[Tensor, Tensor]] = {}  # tensors are kept alive, so that no id is used twice
        self._depth = 0
        owners = Counter(id(tensor) for part in module.modules() for tensor in part.parameters(recurse=False))
        self._lent = {key for key, count in owners.items() if count > 1}
        self._parameters = {id(tensor) for tensor in module.parameters()}
        self._strayed: set[int] = set()
        self._held: dict[str, set[int]] = {}

    @contextmanager
    def watching(self, module: nn.Module, x: Tensor) -> Iterator[Tensor]:
        """Within this block every layer with weights is followed as one operation."""
        self._know(x, torch.full(x.shape, float(KEPT), dtype=torch.float64))

        def enter() -> None:
            self._depth += 1

        def leave(name: str, part: nn.Module, inputs: tuple[Any, ...], output: object) -> None:
            self._depth -= 1
            if not self._depth:
                self._pass_layer(name, part, inputs, output)

        handles = []
        for name, part in module.named_modules():
            if isinstance(part, Chain) or KINDS.find(part) is not None:
                handles.append(part.register_forward_pre_hook(lambda *_: enter()))
                handles.append(
                    part.register_forward_hook(lambda part, inputs, out, name=name: leave(name, part, inputs, out))
                )
        try:
            with self:
                yield x
        finally:
            for handle in handles:
                handle.remove()

    def finish(self, output: object) -> None:
        """The logits stay, and so do filters whose weights were used past their layer."""
        for tensor in tensors_in(output):
            self._fix(tensor, "its outputs are the logits")
        for name, held in self._held.items():
            if held & self._strayed:
                self._fix_layer(name, f"the weights of {name} are used elsewhere too")

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        given = list(tensors_in((args, named)))
        # What an operation in place needs to know of its arguments, it must know before.
        found = None if self._depth else self._rule(getattr(func, "__name__", str(func)), func, args, named, given)
        result = func(*args, **named)
        if self._depth:
            return result
        self._strayed |= {id(tensor) for tensor in given} & self._parameters
        if any(id(tensor) in self._known for tensor in given):
            made = list(tensors_in(result))
            labels = list(tensors_in(found)) if found is not None else []
            fits = len(made) == len(labels) and all(a.shape == b.shape for a, b in zip(made, labels, strict=True))
            for place, tensor in enumerate(made):
                self._know(tensor, labels[place] if fits else torch.full(tensor.shape, float(KEPT)).double())
            if made and not fits:
                self._fix_all(given, f"the operation {getattr(func, '__name__', func)}")
            elif not made and getattr(func, "__name__", "") == "__setitem__":
                self._fix_all(given, "the operation __setitem__")
        return result

    def _rule(
        self, name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], given: list[Tensor]
    ) -> Any:
        """The labels of what the operation makes; None where none can be said."""
        known = [tensor for tensor in given if id(tensor) in self._known]
        if not known:
            return None
        if name in (*MOVES, *JOINS) and name != "__get__":
            return func(*map_tensors(args, self._labels_of), **map_tensors(kwargs, self._labels_of))
        if name in SUMS and len(known) == 2:
            return self._sum(*(self._labels_of(tensor) for tensor in known))
        if name in _POOLS:
            return self._pool(func, args, kwargs, known[0])
        if name in _REDUCTIONS:
            return self._reduce(args, kwargs, known[0])
        if (name in POINTWISE or name in SUMS) and len(known) == 1:
            zeros = {id(known[0]): torch.zeros_like(known[0])}
            moved = func(*map_tensors(args, lambda t: zeros.get(id(t), t)), **kwargs)
            if not bool((moved == 0).all()):
                self._fix(known[0], f"{name.strip('_')} makes another number of 0")
            return self._labels_of(known[0]).expand(moved.shape)
        return None

    def _sum(self, first: Tensor, second: Tensor) -> Tensor:
        first, second = torch.broadcast_tensors(first, second)
        pairs = np.unique(torch.stack([first.flatten(), second.flatten()]).numpy().astype(np.int64), axis=1)
        for one, other in pairs.T.tolist():
            if NOTHING in (one, other):
                # The number of padded channels stands in the program, and no rewrite changes it.
                self.labels.fix(np.array([one, other]), "channels of zeros are added to it")
            else:
                self.labels.join(one, other)
        return torch.where(first == NOTHING, second, first)

    def _pool(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], x: Tensor
    ) -> Tensor | None:
        rows = self._labels_of(x).flatten(2)
        made = func(*args, **kwargs)
        if not isinstance(made, Tensor) or not bool((rows.amax(2) == rows.amin(2)).all()):
            return None
        return rows[:, :, :1].expand(*rows.shape[:2], made[0, 0].numel()).reshape(made.shape)

    def _reduce(self, args: tuple[Any, ...], kwargs: dict[str, Any], x: Tensor) -> Tensor | None:
        labels, rest = self._labels_of(x), {key: value for key, value in kwargs.items() if key != "input"}
        args = args[1:] if args and args[0] is x else args
        largest, smallest = (reduce(labels, *args, **rest) for reduce in (torch.amax, torch.amin))
        return largest if torch.equal(largest, smallest) else None

    def _pass_layer(self, name: str, part: nn.Module, inputs: tuple[Any, ...], output: object) -> None:
        given = inputs[0] if inputs and isinstance(inputs[0], Tensor) else None
        if given is None or not isinstance(output, Tensor):
            return
        axis = -1 if isinstance(part, nn.Linear) else 1
        rows = self._labels_of(given).movedim(axis, 0).flatten(1)
        read = rows[:, 0].numpy().astype(np.int64)
        reason = self._obstacle(name, part)
        if not reason and not bool((rows == rows[:, :1]).all()):
            reason = f"{name} takes one channel of it for several"
        if reason:
            self._fix(given, reason)
        if isinstance(part, _NORMS):
            made, is_filter = read, False
        else:
            made, is_filter = self.labels.fresh(output.shape[axis]), True
        if reason:
            self.labels.fix(made, reason)
            self._fix_layer(name, reason)
        self.layers[name] = LabelledLayer(made, read, is_filter)
        self._held[name] = {id(tensor) for tensor in part.parameters()}
        shape = [1] * output.dim()
        shape[axis] = len(made)
        self._know(output, torch.from_numpy(made).double().reshape(shape).expand(output.shape))

    def _fix_layer(self, name: str, reason: str) -> None:
        if (layer := self.layers.get(name)) is not None:
            self.labels.fix(np.concatenate([layer.outputs, layer.inputs]), reason)

    def _obstacle(self, name: str, part: nn.Module) -> str:
        if isinstance(part, Chain):
            return f"{name} is a chain of factors"
        if not (can_factor(part) or type(part) in _NORMS):
            groups = getattr(part, "groups", 1)
            return f"{name} has {groups} groups" if groups != 1 else f"{name} is a {type(part).__name__}"
        if name in self.layers:
            return f"{name} runs several times"
        lent = {id(tensor) for tensor in part.parameters()} & self._lent
        return f"the weights of {name} are used elsewhere too" if lent else ""

    def _labels_of(self, tensor: Tensor) -> Tensor:
        if id(tensor) in self._known:
            return self._known[id(tensor)][1]
        if not tensor.is_floating_point():
            return tensor  # an index
        return torch.full(tensor.shape, float(KEPT if bool(tensor.any()) else NOTHING), dtype=torch.float64)

    def _know(self, tensor: Tensor, labels: Tensor) -> None:
        self._known[id(tensor)] = (tensor, labels.contiguous())  # view takes no others

    def _fix_all(self, given: list[Tensor], reason: str) -> None:
        for tensor in given:
            if id(tensor) in self._known:
                self._fix(tensor, reason)

    def _fix(self, tensor: Tensor, reason: str) -> None:
        self.labels.fix(np.unique(self._labels_of(tensor).numpy().astype(np.int64)), reason)
