"""certify: run the decoded network on the data and state what is proven about it."""

from __future__ import annotations

from pathlib import Path

from netpact.certificates import AS_RUN, Certificate, Helper, risk_bound
from netpact.certificates.names import check_name, make_name
from netpact.coding.format import DEFAULT_MAX_PARAMETERS, Compressed, Pact
from netpact.core.checks import check_number
from netpact.core.errors import PactError
from netpact.core.json import encode_json
from netpact.core.limits import Limits
from netpact.core.percent import percent
from netpact.core.progress import Progress
from netpact.core.version import __version__
from netpact.datasets import Data, Samples, is_sorted
from netpact.datasets.standardising import refuse_computed_constants
from netpact.models import OwnModel
from netpact.network import ErrorCount, count_errors, this_program
from netpact.pacts.priors import Base, Subject, helper_module, open_subject
from netpact.runs import Engine, kept_workers

MOST_NEAR_TIES = 0.1  # a bound that loses ten points to rounding is about rounding


@kept_workers()
def certify(
    pact: Pact | Compressed | str | Path,
    data: Data | object,
    *,
    delta: float = 0.05,
    form: str = "exact",
    model: OwnModel | str | None = None,
    base: Base | str | Path | None = None,
    base_data: object = None,
    repeats: bool = False,
    public_seed: str = "",
    arithmetic: str | None = None,
    most_near_ties: float = MOST_NEAR_TIES,
    max_parameters: Limits | int = DEFAULT_MAX_PARAMETERS,
    resume: str | Path | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Pact:
    """The same pact with a certificate: a bound on the risk of what is in the file, with probability 1 - delta.

    The network is decoded from the message's bytes alone and run on all training samples. The bound depends only on
    the numbers of bytes, errors and samples, and on delta. Choose delta before you train.

    pact   a Pact, the path of a .pact file, or a compressed network, which is sealed
    data   a data set by name, or anything that as_data takes; its test part, if any, is counted for comparison only
    model  for a user's own architecture: the module, or better the function that makes it, or its name as on the
           command line
    base   for a message encoded against a base network: that network, as returned by open_base or train_helper, or
           its file. With a helper, errors are counted on the samples that it has not seen
    base_data  what the base was trained on, if available: copies of training samples in it are refused
    repeats  declares that the distribution itself repeats values, as tables and texts do. Otherwise exact copies of
           samples are left out: each is counted once. The sentence says which
    public_seed  with a helper and samples that sort_samples has sorted: declares that the split's counter was fixed
           publicly before the samples were collected, and names where ("NIST beacon of 2 May 2025, last two digits").
           Without, and for data that were not published, the sentence says that their order was not chosen
    arithmetic  "float32", "float64" or "as-run": write the message anew with this arithmetic, which is a part of it and
           so is paid for; None: what the message says
    most_near_ties  an error where more than this share of the samples are near ties, in any arithmetic but as-run: the
           bound would be about rounding
    max_parameters  larger networks are refused before memory is allocated; raise it for a file that you trust
    resume  a folder for what has been counted so far: the same call goes on from there after an interrupt, with
           whatever engine
    engine  whose workers count: netpact.runs.Processes(2), Ray("auto"). None: this process. The counts are the same
    """
    risk_bound(errors=0, samples=1, code_bits=0, delta=delta, form=form)  # bad options die before the work
    check_number(most_near_ties, where="most_near_ties", least=0, most=1)
    subject = open_subject(
        pact,
        data,
        model=model,
        base=base,
        base_data=base_data,
        repeats=repeats,
        max_parameters=max_parameters,
        engine=engine,
        resume=resume,
    )
    if arithmetic is not None:
        subject = subject.with_arithmetic(arithmetic)
    certificate = state_risk(subject, delta=delta, form=form, public_seed=public_seed, progress=progress)
    refuse_near_ties(certificate, most=most_near_ties)
    return subject.pact.with_certificate(certificate)


def refuse_near_ties(certificate: Certificate, *, most: float) -> None:
    """A bound that is mostly about rounding is not stated unless it is asked for; nothing else is stated instead."""
    near, samples = certificate.near_ties, certificate.samples
    if certificate.as_run or near <= most * samples:
        return
    raise PactError(
        f"{near:,} of the {samples:,} samples ({percent(near / samples)}) are near ties: right as computed here, but "
        f"not proven to be right in every run in {certificate.arithmetic}. Allowed are {percent(most)}",
        where="rounding",
        hint="arithmetic float64 costs no bytes; the method whole makes an integer network, which has no near "
        "ties; arithmetic as-run certifies what one stated program computes; most_near_ties=1 states this bound "
        "(on the command line --arithmetic and --most-near-ties)",
    )


def state_risk(
    subject: Subject,
    *,
    delta: float,
    form: str = "exact",
    public_seed: str = "",
    progress: Progress | None = None,
) -> Certificate:
    """What certify states, about what was opened already."""
    pact, source, ground = subject.pact, subject.data, subject.ground
    order = _find_order(subject, public_seed)
    refuse_computed_constants(source)
    helper = _state_hold_out(subject, delta=delta)
    version, arithmetic = subject.header.version, subject.header.arithmetic
    counted = _count(subject, ground.samples, progress)
    tested = None if source.test is None else _count(subject, source.test)

    def bound(which: str) -> float:
        return risk_bound(
            errors=counted.errors, samples=counted.samples, code_bits=pact.code_bits, delta=delta, form=which
        )

    transfer = subject.base if ground.prior == "transfer" else None
    return Certificate(
        bound=bound(form),
        form=form,
        delta=delta,
        errors=counted.errors,
        samples=counted.samples,
        code_bits=pact.code_bits,
        message_bytes=len(pact.message),
        message_sha256=pact.message_sha256,
        prior=ground.prior,
        arithmetic=arithmetic,
        data_name=make_name(source.name),
        data_fingerprint=source.train.fingerprint(),
        classes=source.classes,
        test_errors=None if tested is None else tested.errors,
        test_samples=None if tested is None else tested.samples,
        test_fingerprint=None if source.test is None else source.test.fingerprint(),
        near_ties=counted.near_ties,
        kl_bound=bound("kl"),
        hoeffding_bound=bound("hoeffding"),
        decoder_version=version,
        netpact_version=__version__,
        program=this_program() if arithmetic == AS_RUN else None,
        module=subject.module_name,
        module_sha256=subject.module_sha256,
        base_name="" if transfer is None else make_name(transfer.name),
        base_sha256="" if transfer is None else transfer.sha256,
        base_data_fingerprint=ground.base_data_fingerprint,
        helper=helper,
        copies=ground.copies,
        repeats=subject.repeats,
        order=order,
        order_source=public_seed,
        standardised="" if source.standardised is None else str(source.standardised),
    )


def _count(subject: Subject, samples: Samples, progress: Progress | None = None) -> ErrorCount:
    return count_errors(
        subject.module,
        samples,
        arithmetic=subject.header.arithmetic,
        progress=progress,
        network=subject.parcel,
        execution=subject.execution,
    )


def _find_order(subject: Subject, public_seed: str) -> str:
    """What fixed the places of the samples: a key of certificates.ORDERS, or "" where places do not matter."""
    ground = subject.ground
    if public_seed:
        check_name(public_seed, name="public_seed")
        if ground.split is None:
            raise PactError("no samples are set aside by a seed here", where="public_seed", hint="leave it out")
        if not is_sorted(subject.data.train, repeats=subject.repeats):
            raise PactError(
                "with a public seed the samples have to be sorted, without copies, so that whoever wrote them down has "
                "no influence on the split",
                where="public_seed",
                hint="leave copies out; then sort_samples(data), or --data FILE.npz:sorted, for the helper as well",
            )
        return "public-seed"
    if ground.split is None:
        return ""
    return "published" if ground.published else "declared"


def _state_hold_out(subject: Subject, *, delta: float) -> Helper | None:
    """What is said about a helper network, with the bound that it has without any message; None for other bases."""
    base, ground = subject.base, subject.ground
    if base is None or ground.split is None:
        return None
    if base.recipe is None:
        raise PactError(
            "the message is encoded against a helper, but this base has no recipe",
            where=f"base {base.name}",
            hint="take the helper that train_helper gave, or its file: the recipe goes into the certificate",
        )
    module = helper_module(base, base.recipe, subject.data, max_parameters=subject.max_parameters)
    counted = count_errors(module, ground.samples, arithmetic=subject.header.arithmetic, execution=subject.execution)
    return Helper(
        name=make_name(base.name),
        sha256=base.sha256,
        recipe=encode_json(base.recipe.to_json(), where="recipe"),
        percent=ground.split.percent,
        counter=ground.split.counter,
        samples=len(ground.split.indices(subject.data.train.count)[0]),
        errors=counted.errors,
        near_ties=counted.near_ties,
        bound=risk_bound(errors=counted.errors, samples=counted.samples, code_bits=0, delta=delta),
    )
