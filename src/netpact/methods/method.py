"""What a compression method is, and the verb that runs one."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Protocol, runtime_checkable

from netpact.coding.format import ARITHMETICS, WHOLE, Compressed, own_slots
from netpact.core.errors import PactError, one_of, wrong_kind
from netpact.core.progress import Progress
from netpact.core.table import Table
from netpact.datasets import Data, Samples, as_data
from netpact.models import AnyModule
from netpact.network import Network, trace


@runtime_checkable
class Method(Protocol):
    """A frozen record of options. Bad options die at its construction; the same input always gives the same output."""

    name: ClassVar[str]

    def compress(self, network: Network, samples: Samples | None, progress: Progress | None) -> Compressed:
        """Every parameter and buffer of the network, rewritten or as it is, in coded form."""


@runtime_checkable
class InWholeNumbers(Protocol):
    def in_whole_numbers(self) -> Method:
        """What stands for this method where the network is to compute with integers."""


# The classes by name. A program of yours adds its own: netpact.methods.METHODS.add(MyMethod).
METHODS: Table[type[Method]] = Table("method", "netpact.methods", "netpact.papers.*.methods")


def compress(
    network: Network | AnyModule,
    method: Method,
    *,
    samples: Samples | Data | None = None,
    arithmetic: str | None = None,
    progress: Progress | None = None,
) -> Compressed:
    """Compress a traced network.

    network     what trace gave; or, where samples are given, what trace takes
    samples     training samples, for methods that look at data; of Data the training part
    arithmetic  in which the compressed network is to be run, and which the certificate speaks about: "float32" (the
                default), "float64", or "whole" for an integer network, which WholeNumber makes; Quantize with
                an even grid then stands for WholeNumber of so many bits
    """
    check_method(method)
    if arithmetic is not None and arithmetic not in ARITHMETICS:
        raise one_of(arithmetic, ARITHMETICS, option="arithmetic")
    method = _in_whole_numbers(method, arithmetic)
    given = None if samples is None else as_data(samples).train
    network = as_network(network, given)
    if given is not None:
        network.check_fits(given)
    found = method.compress(network, given, progress)
    expected = [(slot.name, slot.shape) for slot in own_slots(network.module, found.rewrites)]
    rewrites = (*network.rewrites, *found.rewrites)
    compressed = replace(found, arithmetic=arithmetic or found.arithmetic, method=repr(method), rewrites=rewrites)
    if [(name, tensor.shape) for name, tensor in compressed.tensors.items()] != expected:
        raise AssertionError(f"{method.name} did not code every tensor of the network, in the network's order")
    return compressed


def check_method(method: object) -> None:
    if isinstance(method, type) or not isinstance(method, Method):
        made = f"{method.__name__}()" if isinstance(method, type) else "Quantize(bits=4)"
        raise wrong_kind(method, needed="a compression method", where="method", hint=f"for example {made}")


def _in_whole_numbers(method: Method, arithmetic: str | None) -> Method:
    """The method that makes an integer network, if one is wanted."""
    made = getattr(method, "arithmetic", None) == WHOLE
    if made and arithmetic not in (None, WHOLE):
        raise PactError(
            f"{method.name} makes integer networks, not networks in {arithmetic}",
            where="arithmetic",
            hint='leave it out, or take "whole"',
        )
    if made or arithmetic != WHOLE:
        return method
    if not isinstance(method, InWholeNumbers):
        raise PactError(
            f"{method.name} does not make integer networks",
            where="arithmetic",
            hint="take WholeNumber(bits=...), or Quantize(bits=...) with an even grid, which then stands for it",
        )
    return method.in_whole_numbers()


def as_network(network: Network | AnyModule, samples: Samples | None) -> Network:
    """What trace gave; or what it takes, traced with the samples."""
    if isinstance(network, Network):
        return network
    if samples is None:
        raise wrong_kind(network, needed="a traced network", where="network", hint="call trace(model, data)")
    return trace(network, samples)
