"""What an agreement says: the statement in the verifier's own words, with the names of what the verifier was given.

A name in a file is the word of whoever wrote it. Where it names something that is identified by a hash, it may differ:
files are renamed. The verdict then bears the verifier's name, and a note gives the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from netpact.certificates import Certificate
from netpact.certificates.names import make_name, quote
from netpact.network import this_program
from netpact.pacts.priors import Subject
from netpact.pacts.verification.as_run import other_program
from netpact.pacts.verification.recount import Recount

_NOT_IDENTIFIED = "the code of the module is not identified: the certificate has no sha256 of it"
_NO_SOURCE = "the code of the module is not identified: its source is not available here"
_NO_TEST = "the stated test error was not checked: the data given here have no test part"


def compare_module(certificate: Certificate, subject: Subject) -> tuple[list[str], list[str]]:
    """Reasons to refuse, and notes: the code by its hash, and by its name where there is none."""
    if not certificate.module and subject.model is None:
        return [], []
    if not certificate.module:
        return ["the network is a module of the user's, and the certificate names none"], []
    stated, sha256, name = certificate.module_sha256, subject.module_sha256, subject.module_name
    if stated and sha256:
        if stated == sha256:
            return [], []
        return [f"the sha256 of the module's code is {sha256}, the certificate says {stated}: it is other code"], []
    if certificate.module != name:
        return [f"the module is {quote(name)}, the certificate says {quote(certificate.module)}"], []
    return [], [_NO_SOURCE if stated else _NOT_IDENTIFIED]


def in_own_words(
    certificate: Certificate,
    subject: Subject,
    *,
    near_ties: int | None,
    hold_out: Recount | None,
    tested: Recount | None,
) -> tuple[Certificate, list[str]]:
    """The statement with the verifier's names and findings, and a note for each that differs from the file's.

    near_ties  as counted here; None where another network was counted than the stated one
    hold_out   the same for the helper
    tested     what was counted on the test samples
    """
    data, base = subject.data, subject.base
    own: dict[str, Any] = {"data_name": make_name(data.name)}
    notes = [_renamed("data", certificate.data_name, own["data_name"])]
    if certificate.module:
        own["module"] = subject.module_name
        own["module_sha256"] = subject.module_sha256 if certificate.module_sha256 else ""
        notes.append(_renamed("module", certificate.module, own["module"]))
    if certificate.prior == "transfer" and base is not None:
        own["base_name"] = make_name(base.name)
        notes.append(_renamed("base network", certificate.base_name, own["base_name"]))
    if certificate.helper is not None and base is not None:
        own["helper"] = replace(certificate.helper, name=make_name(base.name))
        if hold_out is not None and hold_out.errors == certificate.helper.errors:
            own["helper"] = replace(own["helper"], near_ties=hold_out.near_ties)
        notes.append(_renamed("helper network", certificate.helper.name, own["helper"].name))
    if subject.ground.published:
        own |= {"order": "published", "order_source": ""}
    if near_ties is not None and near_ties != certificate.near_ties:
        own["near_ties"] = near_ties
        notes.append(f"{near_ties:,} near ties counted, the certificate says {certificate.near_ties:,}")
    if certificate.program is not None:
        own["program"] = this_program()
        notes.append(other_program(certificate.program))
        if tested is not None and certificate.test_errors not in (None, tested.errors):
            own["test_errors"] = tested.errors
            notes.append(f"{tested.errors:,} test errors counted, the certificate says {certificate.test_errors:,}")
    if data.test is None and certificate.test_errors is not None:
        own |= {"test_errors": None, "test_samples": None, "test_fingerprint": None}
        notes.append(_NO_TEST)
    return replace(certificate, **own), [note for note in notes if note]


def _renamed(what: str, stated: str, own: str) -> str:
    return "" if stated == own else f"the {what} {quote(own)} is called {quote(stated)} in the file"
