"""certify_hold_out and verify_hold_out: a bound on a network's risk from labelled samples that it never saw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from torch import nn

from netpact.certificates import HoldOutCertificate, Identified, risk_bound
from netpact.coding.format import Compressed, Pact, as_pact
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import Data, Samples, as_data
from netpact.network import count_errors
from netpact.pacts.fresh.checking import check_fresh, open_as_stated
from netpact.pacts.fresh.drawing import draw
from netpact.pacts.fresh.networks import (
    choose_arithmetic,
    compare_networks,
    program_of,
    ready_original,
    stated_arithmetic,
    tested_file,
    tested_original,
)
from netpact.pacts.fresh.opening import open_labelled
from netpact.pacts.priors import Opening, Subject, open_subject
from netpact.pacts.priors.subject import execution_of
from netpact.pacts.verification import Verdict
from netpact.pacts.verification.recount import count_anew
from netpact.runs.parcels import Parcel
from netpact.shards import HERE, Execution

if TYPE_CHECKING:
    from typing_extensions import Unpack

_CALLED = {"file": "the network in the file", "original": "the original network"}


def certify_hold_out(
    network: Pact | Compressed | str | Path | nn.Module,
    fresh: object,
    data: Data | object,
    *,
    delta: float = 0.05,
    repeats: bool = False,
    arithmetic: str | None = None,
    progress: Progress | None = None,
    **opening: Unpack[Opening],
) -> HoldOutCertificate:
    """A bound on the risk of a network, with probability 1 - delta over labelled samples that it never saw: 0 bits.

        risk <= max{p : P[Bin(n, p) <= errors] >= delta}

    network  a file, whose network is meant; or any network itself: a torch.nn.Module, float32
    fresh    a file or folder of fresh samples, a pair (x, y), a torch Dataset or loader, or Samples
    data     what the network was trained on, and its test part: fresh samples that are among them are refused
    repeats  declares that the distribution repeats values, as for certify
    arithmetic  of a torch.nn.Module: "float32" with rounding bounds, the default, or "as-run"
    opening  model, base, base_data, max_parameters, engine, resume: as for certify
    """
    risk_bound(errors=0, samples=1, code_bits=0, delta=delta)  # bad options die before the work
    if isinstance(network, nn.Module):
        return state_hold_out(
            network,
            fresh,
            as_data(data),
            delta=delta,
            repeats=repeats,
            arithmetic=arithmetic,
            execution=execution_of(opening),
            progress=progress,
        )
    if arithmetic is not None:
        raise PactError("the message says how the network in a file is run", where="arithmetic", hint="leave it out")
    subject = open_subject(network, data, repeats=repeats, **opening)
    return state_hold_out(subject, fresh, subject.data, delta=delta, repeats=repeats, progress=progress)


def state_hold_out(
    network: Subject | nn.Module,
    fresh: object,
    data: Data,
    *,
    delta: float,
    repeats: bool,
    arithmetic: str | None = None,
    base_data: Samples | None = None,
    execution: Execution = HERE,
    progress: Progress | None = None,
) -> HoldOutCertificate:
    """What certify_hold_out states, about what was opened already. execution: of a network that is in no file."""
    module, tested, about = _open(network, data, arithmetic)
    used = network.base_data if isinstance(network, Subject) else base_data
    samples = open_labelled(fresh, like=data)
    drawn = draw(samples, data, labels=True, repeats=repeats, base_data=used).refuse_stale()
    counted = count_errors(
        module, drawn.samples, arithmetic=tested.arithmetic, progress=progress, **_counting(network, execution)
    )
    return HoldOutCertificate(
        bound=risk_bound(errors=counted.errors, samples=counted.samples, code_bits=0, delta=delta),
        delta=delta,
        errors=counted.errors,
        near_ties=counted.near_ties,
        classes=data.classes,
        about=about,
        network=tested,
        fresh=drawn.fresh,
        program=program_of(tested),
    )


def _open(network: Subject | nn.Module, data: Data, arithmetic: str | None) -> tuple[nn.Module, Identified, str]:
    if isinstance(network, Subject):
        return network.module, tested_file(network), "file"
    tested = tested_original(network, choose_arithmetic(arithmetic))
    return ready_original(network, data), tested, "original"


class _Counting(TypedDict):
    network: Parcel | None
    execution: Execution


def _counting(network: Subject | nn.Module, execution: Execution) -> _Counting:
    """Who counts, and what travels to workers."""
    if isinstance(network, Subject):
        return {"network": network.parcel, "execution": network.execution}
    return {"network": None, "execution": execution}


def verify_hold_out(
    stated: Pact | str | Path | HoldOutCertificate,
    fresh: object,
    data: Data | object,
    *,
    original: nn.Module | None = None,
    progress: Progress | None = None,
    **opening: Unpack[Opening],
) -> Verdict:
    """Recount on the fresh samples, recompute the bound with the second implementation, compare.

    stated    a file, or a statement that stands by itself
    original  the network itself: for the statement about the original; without it the one about the file's network
    """
    if isinstance(stated, HoldOutCertificate):
        if original is None:
            raise PactError("a statement by itself needs the network that it is about", where="original")
        return check_hold_out(
            stated, original, fresh, as_data(data), progress=progress, execution=execution_of(opening)
        )
    pact = as_pact(stated)
    about, certificate = ("file", pact.hold_out) if original is None else ("original", pact.original_hold_out)
    if certificate is None:
        return Verdict((f"the file has no hold-out statement about {_CALLED[about]}",), None)
    subject = open_as_stated(pact, data, certificate.fresh.repeats, **opening)
    network = subject if original is None else original
    return check_hold_out(
        certificate, network, fresh, subject.data, subject.base_data, progress, execution=subject.execution
    )


def check_hold_out(
    certificate: HoldOutCertificate,
    network: Subject | nn.Module,
    fresh: object,
    data: Data,
    base_data: Samples | None = None,
    progress: Progress | None = None,
    *,
    execution: Execution = HERE,
) -> Verdict:
    """What verify_hold_out checks, on what was opened already. execution: of a network that is in no file."""
    module, tested, about = _open(network, data, stated_arithmetic(certificate.network.arithmetic))
    reasons = compare_networks(tested, certificate.network, _CALLED[about])
    if about != certificate.about:
        reasons.append(f"the statement is about {_CALLED[certificate.about]}")
    if data.classes != certificate.classes:
        reasons.append(f"the number of classes is {data.classes}, the certificate says {certificate.classes}")
    samples = open_labelled(fresh, like=data)
    drawn = draw(samples, data, labels=True, repeats=certificate.fresh.repeats, base_data=base_data)
    return check_fresh(
        certificate,
        drawn,
        reasons,
        called="hold-out",
        count=lambda: count_anew(module, drawn.samples, tested.arithmetic, progress, **_counting(network, execution)),
        own={"network": tested},
    )
