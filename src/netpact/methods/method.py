"""What a compression method is, and the verb that runs one."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Protocol, runtime_checkable

from netpact.datasets import Samples
from netpact.errors import PactError, one_of
from netpact.format import ARITHMETICS, Compressed, module_slots
from netpact.network import Network
from netpact.progress import Progress


@runtime_checkable
class Method(Protocol):
    """A frozen record of options. Bad options die at its construction; the same input always gives the same output."""

    name: ClassVar[str]

    def compress(self, network: Network, samples: Samples | None, progress: Progress | None) -> Compressed:
        """Every parameter and buffer of the network in coded form."""


def compress(
    network: Network,
    method: Method,
    *,
    samples: Samples | None = None,
    arithmetic: str = "float32",
    progress: Progress | None = None,
) -> Compressed:
    """Compress a traced network.

    samples     training samples, for methods that look at data
    arithmetic  the precision in which the compressed network is to be run, and which the certificate speaks about
    """
    if not isinstance(network, Network):
        raise PactError(
            f"compress needs a traced network, got {type(network).__name__}", hint="call trace(model, data)"
        )
    if not isinstance(method, Method):
        raise PactError(f"{method!r} is no compression method", where="method")
    if arithmetic not in ARITHMETICS:
        raise one_of(arithmetic, ARITHMETICS, option="arithmetic")
    if samples is not None:
        _check_samples(samples, network)
    compressed = replace(method.compress(network, samples, progress), arithmetic=arithmetic, method=repr(method))
    expected = [(slot.name, slot.shape) for slot in module_slots(network.module)]
    if [(name, tensor.shape) for name, tensor in compressed.tensors.items()] != expected:
        raise AssertionError(f"{method.name} did not code every tensor of the network, in the network's order")
    return compressed


def _check_samples(samples: Samples, network: Network) -> None:
    if not isinstance(samples, Samples):
        raise PactError(f"samples are needed, got {type(samples).__name__}", where="samples", hint="give data.train")
    network.check_fits(samples)
