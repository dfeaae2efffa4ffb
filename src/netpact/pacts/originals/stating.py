"""certify_original: a bound on the risk of the network before compression, from fresh unlabelled samples."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from netpact.certificates import Certificate, OriginalCertificate, add_bounds, risk_bound
from netpact.certificates.helper import price_itself
from netpact.coding.format import DEFAULT_MAX_PARAMETERS, Pact
from netpact.core.limits import Limits
from netpact.core.progress import Progress
from netpact.datasets import Data
from netpact.models import OwnModel
from netpact.pacts.certification import state_risk
from netpact.pacts.fresh.disagreement import count_disagreements
from netpact.pacts.fresh.drawing import draw
from netpact.pacts.fresh.networks import choose_arithmetic, open_pair, pair_parcel, program_of, tested_original
from netpact.pacts.fresh.opening import open_unlabelled
from netpact.pacts.originals.itself import is_helper_itself
from netpact.pacts.priors import Base, Subject, open_subject
from netpact.runs import Engine, kept_workers


@kept_workers()
def certify_original(
    pact: Pact | str | Path,
    original: nn.Module,
    data: Data | object,
    unlabelled: object,
    *,
    delta: float = 0.05,
    model: OwnModel | None = None,
    base: Base | None = None,
    repeats: bool = False,
    public_seed: str = "",
    original_arithmetic: str | None = None,
    max_parameters: Limits | int = DEFAULT_MAX_PARAMETERS,
    engine: Engine | None = None,
    resume: str | Path | None = None,
    progress: Progress | None = None,
) -> OriginalCertificate:
    """A bound on the risk of the original network, with probability 1 - delta over training and unlabelled samples.

        risk(original) <= B(errors, m, bits, delta/2) + B(disagreements, n, 0 bits, delta/2)

    The first term is the certificate of the network in the file; the second bounds how often the two networks disagree.
    Both networks were fixed before the unlabelled samples were seen, so these cost no bits. Samples that also occur in
    the training or test data are refused.

    If the file holds the helper network of a data-dependent prior, unchanged, the first term is its hold-out bound: the
    same errors, and a few bits for the choices that were left (price_itself) instead of those of the message.

    original    the trained network itself, float32
    unlabelled  an .npz file with an array x, an array or tensor of inputs, or Samples, whose labels are not used
    public_seed  as for certify
    repeats     declares that the distribution repeats values, as for certify: copies of inputs are counted as well
    original_arithmetic  "float32" with rounding bounds, or "as-run", the default for a file that is certified as run
    model       for a file that holds a user's own module: the function that makes it, as for certify
    engine, resume  as for certify
    """
    risk_bound(errors=0, samples=1, code_bits=0, delta=delta)  # bad options die before the work
    subject = open_subject(
        pact,
        data,
        model=model,
        base=base,
        repeats=repeats,
        max_parameters=max_parameters,
        engine=engine,
        resume=resume,
    )
    return state_original(
        subject,
        original,
        unlabelled,
        delta=delta,
        public_seed=public_seed,
        original_arithmetic=original_arithmetic,
        progress=progress,
    )


def state_original(
    subject: Subject,
    original: nn.Module,
    unlabelled: object,
    *,
    delta: float,
    public_seed: str,
    original_arithmetic: str | None = None,
    progress: Progress | None,
) -> OriginalCertificate:
    """What certify_original states, about what was opened already."""
    tested = tested_original(original, choose_arithmetic(original_arithmetic, subject))
    fresh = open_unlabelled(unlabelled, like=subject.data)
    drawn = draw(fresh, subject.data, labels=False, repeats=subject.repeats, base_data=subject.base_data).refuse_stale()
    half = delta / 2  # a power of two: no rounding
    compressed = state_risk(subject, delta=half, public_seed=public_seed)
    hold_out_bits, hold_out_bound = _hold_out(subject, compressed)
    runs = open_pair(subject, original, tested.arithmetic)
    pair = pair_parcel(subject, original, tested.arithmetic, runs)
    counted = count_disagreements(*runs, drawn.samples, progress=progress, pair=pair, execution=subject.execution)
    share = risk_bound(errors=counted.disagreements, samples=counted.samples, code_bits=0, delta=half)
    return OriginalCertificate(
        bound=add_bounds(
            compressed_bound=compressed.bound if hold_out_bound is None else hold_out_bound, disagreement_bound=share
        ),
        delta=delta,
        compressed=compressed,
        disagreements=counted.disagreements,
        disagreement_bound=share,
        unlabelled_samples=counted.samples,
        unlabelled_duplicates=drawn.fresh.copies,
        unlabelled_name=drawn.fresh.name,
        unlabelled_fingerprint=drawn.fresh.fingerprint,
        original_name=tested.name,
        original_sha256=tested.sha256,
        original_arithmetic=tested.arithmetic,
        program=program_of(tested),
        hold_out_bits=hold_out_bits,
        hold_out_bound=hold_out_bound,
    )


def _hold_out(subject: Subject, compressed: Certificate) -> tuple[int, float] | tuple[None, None]:
    """What naming the helper itself costs, and its hold-out bound; None where the file holds another network.

    The errors are those of the network in the file, in its arithmetic: the one whose disagreements are counted.
    """
    helper, base = compressed.helper, subject.base
    if helper is None or base is None or base.recipe is None or not is_helper_itself(subject, base.recipe):
        return None, None
    bits = price_itself(percent=helper.percent, counter=helper.counter)
    return bits, risk_bound(
        errors=compressed.errors, samples=compressed.samples, code_bits=bits, delta=compressed.delta
    )
