"""certify_fidelity and verify_fidelity: how often the network in a file and its original disagree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from torch import nn

from netpact.certificates import FidelityCertificate, risk_bound
from netpact.coding.format import Compressed, Pact, as_pact
from netpact.core.progress import Progress
from netpact.datasets import Data
from netpact.pacts.fresh.checking import check_fresh, open_as_stated
from netpact.pacts.fresh.disagreement import count_disagreements, recount_disagreements
from netpact.pacts.fresh.drawing import draw
from netpact.pacts.fresh.networks import (
    choose_arithmetic,
    compare_networks,
    open_pair,
    pair_parcel,
    program_of,
    stated_arithmetic,
    tested_file,
    tested_original,
)
from netpact.pacts.fresh.opening import open_unlabelled
from netpact.pacts.priors import Opening, Subject, open_subject
from netpact.pacts.verification import Verdict
from netpact.pacts.verification.recount import Recount

if TYPE_CHECKING:
    from typing_extensions import Unpack


def certify_fidelity(
    pact: Pact | Compressed | str | Path,
    original: nn.Module,
    data: Data | object,
    unlabelled: object,
    *,
    delta: float = 0.05,
    repeats: bool = False,
    original_arithmetic: str | None = None,
    progress: Progress | None = None,
    **opening: Unpack[Opening],
) -> FidelityCertificate:
    """A bound on how often two networks disagree, with probability 1 - delta over fresh inputs without labels: 0 bits.

        P[f and g disagree] <= max{p : P[Bin(n, p) <= disagreements] >= delta}

    original    the trained network itself, float32
    data        what the networks were made from: fresh inputs that are among them are refused
    unlabelled  a file or folder, an array or tensor of inputs, or Samples, whose labels are not used
    original_arithmetic  "float32" with rounding bounds, or "as-run", the default for a file that is certified as run
    repeats     declares that the distribution repeats values, as for certify
    opening     model, base, base_data, max_parameters, engine, resume: as for certify
    """
    risk_bound(errors=0, samples=1, code_bits=0, delta=delta)  # bad options die before the work
    subject = open_subject(pact, data, repeats=repeats, **opening)
    return state_fidelity(
        subject, original, unlabelled, delta=delta, original_arithmetic=original_arithmetic, progress=progress
    )


def state_fidelity(
    subject: Subject,
    original: nn.Module,
    unlabelled: object,
    *,
    delta: float,
    original_arithmetic: str | None = None,
    progress: Progress | None = None,
) -> FidelityCertificate:
    """What certify_fidelity states, about what was opened already."""
    other = tested_original(original, choose_arithmetic(original_arithmetic, subject))
    fresh = open_unlabelled(unlabelled, like=subject.data)
    drawn = draw(fresh, subject.data, labels=False, repeats=subject.repeats, base_data=subject.base_data).refuse_stale()
    own = tested_file(subject)
    runs = open_pair(subject, original, other.arithmetic)
    counted = count_disagreements(
        *runs,
        drawn.samples,
        progress=progress,
        pair=pair_parcel(subject, original, other.arithmetic, runs),
        execution=subject.execution,
    )
    return FidelityCertificate(
        bound=risk_bound(errors=counted.disagreements, samples=counted.samples, code_bits=0, delta=delta),
        delta=delta,
        disagreements=counted.disagreements,
        near_ties=counted.uncertain,
        compressed=own,
        original=other,
        fresh=drawn.fresh,
        program=program_of(own, other),
    )


def verify_fidelity(
    pact: Pact | str | Path,
    original: nn.Module,
    data: Data | object,
    unlabelled: object,
    *,
    progress: Progress | None = None,
    **opening: Unpack[Opening],
) -> Verdict:
    """Recount on the fresh inputs, recompute the bound with the second implementation, compare."""
    pact = as_pact(pact)
    if pact.fidelity is None:
        return Verdict(("the file has no statement about how often the two networks disagree",), None)
    subject = open_as_stated(pact, data, pact.fidelity.fresh.repeats, **opening)
    return check_fidelity(pact.fidelity, subject, original, unlabelled, progress=progress)


def check_fidelity(
    certificate: FidelityCertificate,
    subject: Subject,
    original: nn.Module,
    unlabelled: object,
    *,
    progress: Progress | None = None,
) -> Verdict:
    """What verify_fidelity checks, on what was opened already."""
    other = tested_original(original, stated_arithmetic(certificate.original.arithmetic))
    own = tested_file(subject)
    reasons = compare_networks(own, certificate.compressed, "the network in the file")
    reasons += compare_networks(other, certificate.original, "the original network")
    fresh, repeats = open_unlabelled(unlabelled, like=subject.data), certificate.fresh.repeats
    drawn = draw(fresh, subject.data, labels=False, repeats=repeats, base_data=subject.base_data)

    def count() -> Recount:
        runs = open_pair(subject, original, other.arithmetic)
        pair = pair_parcel(subject, original, other.arithmetic, runs)
        return recount_disagreements(*runs, drawn.samples, progress, pair=pair, execution=subject.execution)

    return check_fresh(
        certificate, drawn, reasons, called="unlabelled", count=count, own={"compressed": own, "original": other}
    )
