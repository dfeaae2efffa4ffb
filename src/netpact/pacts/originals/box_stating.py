"""certify_box: a bound on the risk of the network before compression, without further samples."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from netpact.certificates import BoxCertificate, code_bits, risk_bound
from netpact.certificates.box import refuse_as_run
from netpact.certificates.names import make_name
from netpact.coding.format import DEFAULT_MAX_PARAMETERS, Pact
from netpact.core.limits import Limits
from netpact.core.progress import Progress
from netpact.datasets import Data, Samples
from netpact.deviations import check_same_structure, compose_exactly
from netpact.models import OwnModel
from netpact.network import trace
from netpact.pacts.certification import state_risk
from netpact.pacts.fresh.networks import ORIGINAL_ARITHMETIC, check_original, hash_network, name_network
from netpact.pacts.originals.box import encode_box, make_box
from netpact.pacts.originals.box_counting import count_reachable_errors, refuse_other_code
from netpact.pacts.priors import Base, Subject, open_subject


def certify_box(
    pact: Pact | str | Path,
    original: nn.Module,
    data: Data | object,
    *,
    delta: float = 0.05,
    model: OwnModel | None = None,
    base: Base | None = None,
    base_data: Samples | None = None,
    repeats: bool = False,
    public_seed: str = "",
    max_parameters: Limits | int = DEFAULT_MAX_PARAMETERS,
    progress: Progress | None = None,
) -> BoxCertificate:
    """A bound on the risk of the original network f, with probability 1 - delta over the training samples alone.

        risk(f) <= B(#{ margin_g(x, y) <= sqrt(2) E(x) }, m, bits*ln 2 + ln(1/delta))

    g is the network in the file. A second message, the box, bounds the distance of f's layers from g's; its bits are
    added to those of the file's message. E(x) >= |f(x) - g(x)|_2 is computed from g and the box alone, so the
    number counted belongs to message and box, and bounds every network in the box at once. There is one event, and
    delta is not split.

    original  the trained network itself, float32, of the same architecture as the one in the file
    repeats, public_seed  declarations, as for certify
    """
    risk_bound(errors=0, samples=1, code_bits=0, delta=delta)  # bad options die before the work
    subject = open_subject(
        pact, data, model=model, base=base, base_data=base_data, repeats=repeats, max_parameters=max_parameters
    )
    return state_box(subject, original, delta=delta, public_seed=public_seed, progress=progress)


def state_box(
    subject: Subject, original: nn.Module, *, delta: float, public_seed: str, progress: Progress | None
) -> BoxCertificate:
    """What certify_box states, about what was opened already."""
    refuse_as_run(subject.header.arithmetic)
    check_original(original)
    trace(original, subject.data)  # names everything that has no rule at once
    compressed = state_risk(subject, delta=delta, public_seed=public_seed)
    module, samples = compose_exactly(subject.module, original), subject.ground.samples
    check_same_structure(module, original)
    refuse_other_code(module, original, samples)
    box = make_box(module, original)
    message = encode_box(box, module)
    errors = count_reachable_errors(module, box, samples, arithmetic=compressed.arithmetic, progress=progress)
    bits = compressed.code_bits + code_bits(len(message))
    return BoxCertificate(
        bound=risk_bound(errors=errors, samples=samples.count, code_bits=bits, delta=delta),
        delta=delta,
        compressed=compressed,
        box=message.hex(),
        code_bits=bits,
        errors=errors,
        original_name=make_name(name_network(original)),
        original_sha256=hash_network(original),
        original_arithmetic=ORIGINAL_ARITHMETIC,
    )
