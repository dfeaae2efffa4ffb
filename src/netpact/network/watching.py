"""Running a network while looking at its weight layers: what each receives and returns, or with an output replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.core.progress import Progress

if TYPE_CHECKING:
    from netpact.datasets import Samples
    from netpact.network.tracing import Network


@dataclass(frozen=True, eq=False)
class Activations:
    """One batch: for every weight layer, by index, what it received and what it returned before any activation."""

    inputs: Mapping[int, Tensor]
    outputs: Mapping[int, Tensor]
    logits: Tensor
    labels: NDArray[np.int64]


@torch.no_grad()
def stream_activations(
    network: Network, samples: Samples, *, batch: int = 64, progress: Progress | None = None
) -> Iterator[Activations]:
    """Every batch's activations, one batch in memory at a time: take from them what you need and let them go."""
    seen = 0
    for inputs, labels in samples.batches(batch):
        received: dict[int, Tensor] = {}
        returned: dict[int, Tensor] = {}

        def note(
            index: int,
            given: Tensor,
            output: Tensor,
            received: dict[int, Tensor] = received,
            returned: dict[int, Tensor] = returned,
        ) -> Tensor:
            received[index], returned[index] = given, output
            # The layer's output stays as it was even where the next operation works in place.
            return output.clone()

        with watching(network, note, copy_inputs=True):
            logits = network.module(torch.from_numpy(inputs))
        _refuse_folded(network, returned, samples=len(labels))
        yield Activations(received, returned, logits, labels)
        seen += len(labels)
        if progress is not None:
            progress(seen, samples.count)


def _refuse_folded(network: Network, returned: Mapping[int, Tensor], *, samples: int) -> None:
    for index, output in returned.items():
        if len(output) != samples:
            raise PactError(
                f"runs on {len(output):,} rows for {samples:,} samples, must be one for each",
                where=network.layers[index - 1].name,
                hint="put one dense layer in its place: of a HigherOrderCPConv2d, to_dense()",
            )


@contextmanager
def watching(
    network: Network,
    look: Callable[[int, Tensor, Tensor], Tensor],
    *,
    copy_inputs: bool = False,
    known: Mapping[int, Tensor] = MappingProxyType({}),
) -> Iterator[None]:
    """Within this block, `look(index, input, output)` sees every weight layer and says what goes on in its place.

    A module that runs several times is several layers, told apart by which run it is; each run of the whole network
    counts anew.

    known  outputs of layers that need not be computed again, by index: those layers return them without running
    """
    parts = dict(network.module.named_modules())
    places = {(layer.name, layer.call): layer.index for layer in network.layers}
    calls: Counter[str] = Counter()
    given: dict[str, Tensor] = {}

    def begin(name: str, inputs: tuple[Any, ...]) -> None:
        calls[name] += 1
        given[name] = inputs[0].clone() if copy_inputs else inputs[0]

    def end(name: str, output: Tensor) -> Tensor:
        if (name, calls[name]) not in places:
            raise PactError(
                f"run {calls[name]} of {name or 'the module itself'} was not there when the network was traced",
                where=network.name,
                hint="what runs must not depend on the samples",
            )
        return look(places[name, calls[name]], given.pop(name), output)

    def run(name: str, forward: Callable[..., Tensor], inputs: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
        output = known.get(places.get((name, calls[name]), 0))
        return forward(*inputs, **named) if output is None else output

    handles = [network.module.register_forward_pre_hook(lambda *_: calls.clear())]
    skipping: list[nn.Module] = []
    for name in {layer.name: None for layer in network.layers}:
        part: nn.Module = parts[name]
        if known and any(layer.name == name and layer.index in known for layer in network.layers):
            own = part.forward
            part.forward = lambda *inputs, name=name, own=own, **named: run(name, own, inputs, named)
            skipping.append(part)
        handles.append(part.register_forward_pre_hook(lambda _, inputs, name=name: begin(name, inputs)))
        handles.append(part.register_forward_hook(lambda _, __, output, name=name: end(name, output)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        for part in skipping:
            del part.forward  # the class's own is back


def check_pair(network: Network, start: int, end: int) -> None:
    count = len(network.layers)
    if not 1 <= start <= count or not start < end <= count + 1:
        raise PactError(
            f"layers {start} and {end}: the first is from 1 to {count}, the second after it, "
            f"at most {count + 1} for the logits",
            where="partial map",
        )
