"""make_pact: from a trained network and its data to a file with a verified bound, in one call.

Whoever wants to choose calls the stages: trace, compress, certify, verify. Here the file with the lowest bound is
looked for: how the network is run (float32, float64, integers, as run) is chosen on a few samples, then settings of the
methods that suit it are tried within the time given. All that is chosen is in the message, so it is paid for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from netpact.certificates import Certificate
from netpact.certificates.program import AS_RUN
from netpact.coding.format import WHOLE, Pact
from netpact.coding.format.loading import open_network
from netpact.core.checks import check_number
from netpact.core.display import Displayed, Row
from netpact.core.errors import PactError
from netpact.core.progress import Progress, Stop
from netpact.datasets import Data, Samples, as_data, as_samples
from netpact.methods import (
    Quantize,
    RateAware,
    Reached,
    Target,
    TernarySearch,
    Tried,
    UnreachedError,
    WholeNumber,
    compress,
    compress_to,
)
from netpact.methods.method import Method
from netpact.models import AnyModule, OwnModel, as_module
from netpact.network import Network, count_errors, fold_batch_norm, trace
from netpact.network.kinds import KINDS
from netpact.pacts.certification import certify
from netpact.pacts.verification import Verdict, verify

_PROBED = 256  # samples that rounding is looked at on
_FEW_TIES = 0.02  # near ties count as errors: with more of them another arithmetic is better
_PROBE_BITS = 6
_TOLERANCE = 0.01  # where rounding begins; it is varied
_USEFUL_LOSS = 1.0  # percentage points, for the file that is written where no bound is worth anything


@dataclass(frozen=True, eq=False, repr=False)
class MadePact(Displayed):
    """A certified file, what verify says of it, and how it was found.

    searched   each method that was tried, with its settings
    advice     what to do about a vacuous bound; "" for others
    """

    pact: Pact
    verdict: Verdict
    found: Reached
    searched: tuple[Reached, ...]
    arithmetic: str
    advice: str = ""

    @property
    def certificate(self) -> Certificate:
        assert self.pact.certificate is not None
        return self.pact.certificate

    def display_facts(self) -> Row:
        facts = {
            "bound": self.certificate.bound,
            "agreed": self.verdict.agreed,
            "file_bytes": len(self.pact.to_bytes()),
        }
        return {**facts, "method": repr(self.found.method), "arithmetic": self.arithmetic}

    def to_json(self) -> Row:
        return {
            "certificate": self.certificate.to_json(),
            "verdict": self.verdict.to_json(),
            "method": repr(self.found.method),
            "arithmetic": self.arithmetic,
            "searched": [one.to_json() for one in self.searched],
            "advice": self.advice,
        }


def make_pact(
    model: AnyModule,
    data: Data | object,
    *,
    delta: float = 0.05,
    budget_seconds: float = 300.0,
    arithmetic: str | None = None,
    maker: OwnModel | None = None,
    output: str | int = "",
    keep: str | Path | None = None,
    progress: Callable[[Tried], None] | None = None,
    working: Callable[[str], Progress] | None = None,
) -> MadePact:
    """A certified and verified file of a trained network: pact.write(path) writes it.

    model           the trained network, as trace takes it
    budget_seconds  for trying settings, of which one is finished in any case; again where no bound is worth anything.
                    Certifying and verifying come on top
    arithmetic      how the file's network is to be run; None: float32, or float64 or integers where that is better
    maker           the function that makes a module of your own, without its weights: the certificate names its code
    output          which output has the logits, as for trace
    keep            a folder for what is finished: the same call goes on from there
    progress, working  as for compress_to
    """
    check_number(budget_seconds, where="budget_seconds", above=0)
    lowest = Target(lowest_bound=True, delta=delta)
    source = as_data(data)
    network = trace(model, source, output=output)
    network = network if output != "" else _fold(network, model, source)
    chosen = arithmetic or choose_arithmetic(network, source.train)
    started, searched, measured = time.monotonic(), list[Reached](), list[Tried]()

    def note(one: Tried) -> None:
        measured.append(one)
        if progress is not None:
            progress(one)

    def reach(method: Method, target: Target, stop: Stop) -> None:
        """Nothing where no setting serves, or none was finished in time."""
        with suppress(UnreachedError):
            found = compress_to(
                network,
                method,
                target,
                samples=source.train,
                arithmetic=_precision(method, chosen) if arithmetic is None else arithmetic,
                keep=keep,
                progress=note,
                working=working,
                stop=stop,
            )
            searched.append(found)

    methods = _suitable(network, chosen)
    for place, method in enumerate(methods, start=1):
        end = started + budget_seconds * place / len(methods)
        reach(method, lowest, lambda end=end: bool(measured) and time.monotonic() > end)  # type: ignore[misc]
    found = min(searched, key=lambda one: (one.found.bound or 1.0, len(one.pact.message)), default=None)
    if found is None or _is_vacuous(found, source.classes):
        # Nothing is proven in any case: then the file is at least small, and as good as the network was.
        end, useful = time.monotonic() + budget_seconds, Target(max_accuracy_loss=_USEFUL_LOSS, delta=delta)
        reach(methods[0], useful, lambda: time.monotonic() > end and any(map(_is_useful, measured)))
        found = searched[-1] if searched else None
    if found is None:
        raise PactError(
            f"no setting of {', '.join(one.name for one in methods)} serves this network: {measured[-1]}",
            where="network",
            hint="compress, certify and verify it by itself: netpact methods lists what there is",
        )
    own = (maker or as_module(model)) if network.is_own_module else None
    return _state(found, searched, source, own=own, delta=delta)


def _state(found: Reached, searched: list[Reached], data: Data, *, own: OwnModel | None, delta: float) -> MadePact:
    """Certified, and verified from the bytes of the file alone."""
    pact = certify(found.pact, data, delta=delta, model=own)
    verdict = verify(Pact.from_bytes(pact.to_bytes()), data, model=own)
    assert pact.certificate is not None
    return MadePact(pact, verdict, found, tuple(searched), pact.arithmetic, advise(pact.certificate))


def advise(certificate: Certificate) -> str:
    """What to do about a vacuous bound; "" for others."""
    if not certificate.is_vacuous:
        return ""
    bits, samples = certificate.code_bits, certificate.samples
    return (
        f"vacuous: guessing among {certificate.classes} classes is as good. The message has {bits:,} bits for "
        f"{samples:,} samples; a bound below one half takes fewer bits than samples. What helps: a smaller network "
        "(netpact search looks for one), a base network that has seen other data (docs/priors.md), more samples. "
        "Labelled samples that the network has never seen give a bound without any bits: certify --hold-out."
    )


def choose_arithmetic(network: Network, samples: Samples) -> str:
    """float32 unless rounding decides too many samples; then float64, integers, or as run, the first that serves."""
    if network.unruled:
        return AS_RUN
    few = as_samples(next(iter(samples.batches(_PROBED))), classes=samples.classes)
    rounded = compress(network, Quantize(bits=_PROBE_BITS, per_channel=True))
    for arithmetic in ("float32", "float64"):
        module = open_network(
            replace(rounded, arithmetic=arithmetic), network.module if network.is_own_module else None
        )
        if count_errors(module, few, arithmetic=arithmetic).near_ties <= _FEW_TIES * few.count:
            return arithmetic
    try:
        compress(network, WholeNumber(), samples=samples)
    except PactError:
        return AS_RUN
    return WHOLE


def _suitable(network: Network, arithmetic: str) -> list[Method]:
    """The methods to look among, the quickest first."""
    if arithmetic == WHOLE:
        return [WholeNumber()]
    rounding: list[Method] = [Quantize(tolerance=_TOLERANCE)]
    if len(network.layers) == 1 and network.layers[0].kind == "linear" and not network.others:
        return [*rounding, TernarySearch()]
    trainable = not network.others and all(layer.kind in (*KINDS.measured(), "batch_norm") for layer in network.layers)
    return [*rounding, RateAware()] if trainable and arithmetic != AS_RUN else rounding


def _fold(network: Network, model: AnyModule, data: Data) -> Network:
    """Without batch norm, where there is any: fewer numbers to encode."""
    if not any(layer.kind == "batch_norm" for layer in network.layers):
        return network
    try:
        return trace(fold_batch_norm(model, data), data)
    except PactError:
        return network


def _is_useful(one: Tried) -> bool:
    return one.accuracy_loss is not None and one.accuracy_loss <= _USEFUL_LOSS


def _is_vacuous(found: Reached, classes: int) -> bool:
    return found.found.bound is None or found.found.bound >= 1 - 1 / classes


def _precision(method: Method, chosen: str) -> str | None:
    """WholeNumber has its own. What was trained under a price for bits has small margins: float64 costs no bytes."""
    if chosen == WHOLE:
        return None
    return "float64" if isinstance(method, RateAware) else chosen
