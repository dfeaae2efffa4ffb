"""Is what a certificate says about its prior true: the kind, the base network, the helper and its hold-out bound?"""

from __future__ import annotations

from netpact.certificates import Certificate, Helper, check_bound
from netpact.certificates.base import OnBase
from netpact.core.errors import PactError
from netpact.core.json import read_object
from netpact.datasets import Samples, is_sorted
from netpact.pacts.priors import Base, Ground, Subject, helper_module
from netpact.pacts.verification.as_run import compare_errors
from netpact.pacts.verification.recount import Recount, count_anew
from netpact.training import Recipe

STATED_HELPER = "given the stated helper"
SAME_HELPER = "with the helper trained again, bit for bit the stated one"
OTHER_HELPER = "with the helper trained again, which is NOT bit for bit the stated one"


def compare_prior(certificate: Certificate, base: Base | None, ground: Ground) -> tuple[list[str], str]:
    """Reasons to refuse, and what an agreement rests on."""
    if ground.prior != certificate.prior:
        return [f"the kind of prior is {ground.prior}, the certificate says {certificate.prior}"], ""
    if base is None:
        return [], ""
    if certificate.helper is not None:
        return _compare_helper(certificate, certificate.helper, base, ground)
    return compare_base(certificate, sha256=base.sha256, told=ground.base_data_fingerprint), ""


def compare_base(certificate: OnBase, *, sha256: str, told: str) -> list[str]:
    """Is it the stated base? told: the fingerprint of its training data as found here, or ""."""
    if sha256 != certificate.base_sha256:
        return [f"the base network's sha256 is {sha256}, the certificate says {certificate.base_sha256 or 'nothing'}"]
    # Without the base's data, and where its file says nothing, the stated fingerprint is a declaration.
    if told and told != certificate.base_data_fingerprint:
        stated = certificate.base_data_fingerprint or "nothing"
        return [f"the fingerprint of the base's training data is {told}, the certificate says {stated}"]
    return []


def _compare_helper(certificate: Certificate, stated: Helper, base: Base, ground: Ground) -> tuple[list[str], str]:
    recipe = Recipe.from_json(read_object(stated.recipe, where="recipe"))
    split = ground.split
    assert split is not None  # the kind of prior agrees
    found: list[tuple[str, object, object]] = [
        ("the split in the message", str(split), f"{stated.percent} % by counter {stated.counter}"),
        ("the split of the recipe", str(recipe.split), str(split)),
        ("the number of samples to count on", ground.samples.count, certificate.samples),
    ]
    reasons = [f"{what} is {own}, expected {said}" for what, own, said in found if own != said]
    if base.recipe is not None and base.recipe != recipe:
        reasons.append("the recipe in the helper's file is not the one that the certificate states")
    same = base.sha256 == stated.sha256
    if not same and not base.retrained:
        reasons.append(f"the helper network's sha256 is {base.sha256}, the certificate says {stated.sha256}")
    return reasons, (SAME_HELPER if same else OTHER_HELPER) if base.retrained else STATED_HELPER


def compare_order(certificate: Certificate, ground: Ground, samples: Samples) -> list[str]:
    """Is the stated order of the samples what is found here? A declared one cannot be checked, and stays a premise."""
    if certificate.order == "published" and not ground.published:
        return [
            "the certificate says that the samples are in the order of a published data set, but their fingerprint "
            "is that of none"
        ]
    if certificate.order == "public-seed" and not is_sorted(samples, repeats=certificate.repeats):
        return [
            "the certificate says that the order of the samples is that of their hashes, without copies, but it is "
            "another one"
        ]
    return []


def check_hold_out(
    certificate: Certificate, subject: Subject, reasons: list[str], undecided: list[str]
) -> Recount | None:
    """Count and compute the helper's hold-out bound again, where there is one. Adds reasons; what was counted."""
    stated, base, data, ground = certificate.helper, subject.base, subject.data, subject.ground
    if stated is None or base is None:
        return None
    assert ground.split is not None  # the kind of prior agrees
    seen = len(ground.split.indices(data.train.count)[0])
    if seen != stated.samples:
        reasons.append(f"the helper has seen {seen:,} samples, the certificate says {stated.samples:,}")
    try:
        recipe = Recipe.from_json(read_object(stated.recipe, where="recipe"))
        module = helper_module(base, recipe, data, max_parameters=subject.max_parameters)
    except PactError as error:
        reasons.append(f"the helper is not what its recipe says: {error.where}: {error.what}")
        return None
    found = count_anew(module, ground.samples, certificate.arithmetic, execution=subject.execution)
    compare_errors("errors of the helper", found, stated.errors, reasons, undecided)
    opinion = check_bound(
        errors=stated.errors,
        samples=found.samples,
        code_bits=0,
        delta=certificate.delta,
        form="exact",
        bound=stated.bound,
    )
    if not opinion.holds:
        reasons.append(f"the hold-out bound is {opinion.own_bound:.6f}, the certificate says {stated.bound:.6f}")
    return found
