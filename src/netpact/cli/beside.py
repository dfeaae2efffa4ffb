"""The statements beside a certificate, as certify makes and verify checks them: what was given decides which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netpact.cli.console import AS_RUN_STYLE, people, progress_bar
from netpact.core.errors import PactError, printable

if TYPE_CHECKING:
    from netpact.certificates import Statement
    from netpact.cli.commands.certify import StatementOptions
    from netpact.cli.originals import Case
    from netpact.coding.format import Pact
    from netpact.pacts.priors import Subject
    from netpact.pacts.verification import Verdict

# What has to be given to check a statement.
_NEEDED = {
    "original": "--original and --unlabelled",
    "fidelity": "--original and --unlabelled",
    "hold_out": "--hold-out",
    "original_hold_out": "--original and --hold-out",
}
_CALLED = {
    "original": "the statement about the original network",
    "fidelity": "the statement about how often the two networks disagree",
    "hold_out": "the hold-out statement",
    "original_hold_out": "the hold-out statement about the original network",
}


def state_beside(subject: Subject, case: Case, certified: Pact, statement: StatementOptions) -> Pact:
    """All further statements that the given networks and samples allow."""
    if case.original is not None:
        with progress_bar("comparing with the original network") as bar:
            certified = _with_original(subject, case, certified, statement, bar)
    if case.hold_out is not None:
        from netpact.pacts.fresh.hold_out import state_hold_out

        given = {"delta": statement.delta, "repeats": statement.repeats}
        with progress_bar("counting errors on the hold-out samples") as bar:
            certified = certified.with_hold_out(
                state_hold_out(subject, case.hold_out, case.data, **given, progress=bar)  # type: ignore[arg-type]
            )
            if case.original is not None:
                certified = certified.with_hold_out(
                    state_hold_out(
                        case.original,
                        case.hold_out,
                        case.data,
                        **given,  # type: ignore[arg-type]
                        arithmetic=_original_arithmetic(subject, statement),
                        base_data=case.base_data,
                        execution=subject.execution,
                        progress=bar,
                    )
                )
    return certified


def _original_arithmetic(subject: Subject, statement: StatementOptions) -> str:
    from netpact.pacts.fresh.networks import choose_arithmetic

    return choose_arithmetic(statement.original_arithmetic or None, subject)


def _with_original(
    subject: Subject, case: Case, certified: Pact, statement: StatementOptions, progress: object
) -> Pact:
    """From fresh inputs where given, else from the original's distance to the file's network."""
    from netpact.pacts.fresh.fidelity import state_fidelity
    from netpact.pacts.originals.box_stating import state_box
    from netpact.pacts.originals.stating import state_original

    assert case.original is not None
    delta, seed = statement.delta, statement.public_seed
    if case.unlabelled is None:
        if case.hold_out is not None:  # the original is given for its hold-out statement
            return certified
        boxed = state_box(subject, case.original, delta=delta, public_seed=seed, progress=progress)  # type: ignore[arg-type]
        return certified.with_original(boxed)
    arithmetic = _original_arithmetic(subject, statement)
    return certified.with_fidelity(
        state_fidelity(subject, case.original, case.unlabelled, delta=delta, original_arithmetic=arithmetic)
    ).with_original(
        state_original(
            subject,
            case.original,
            case.unlabelled,
            delta=delta,
            public_seed=seed,
            original_arithmetic=arithmetic,
            progress=progress,  # type: ignore[arg-type]
        )
    )


def print_statement(statement: Statement) -> None:
    people.print(printable(statement.sentence()), style=AS_RUN_STYLE if statement.as_run else None, soft_wrap=True)


def check_beside(case: Case) -> tuple[dict[str, Verdict], list[str]]:
    """Verdicts by the statements' names, and what could not be checked with what was given."""
    from netpact.certificates import BoxCertificate

    pact, asked = case.pact, _asked(case)
    if isinstance(pact.original, BoxCertificate):
        asked["original"] = case.original is not None and case.unlabelled is None
    elif case.original is not None and case.unlabelled is None and pact.original is not None and not case.hold_out:
        raise PactError("the statement about the original network was made from fresh inputs", where="--unlabelled")
    stated = [name for name in _NEEDED if name in pact.statements]
    checked = {name: _check(name, case) for name in stated if asked[name]}
    for name in ("hold_out",) if case.hold_out is not None else ():
        checked.setdefault(name, _check(name, case))
    if case.original is not None and not checked.keys() - {"hold_out"}:
        checked["original"] = _check("original", case)  # says that there is none
    return checked, [
        f"not checked: {_CALLED[name]} (give {_needed(name, pact)})" for name in stated if name not in checked
    ]


def _asked(case: Case) -> dict[str, bool]:
    pair = case.original is not None and case.unlabelled is not None
    held = case.hold_out is not None
    return {
        "original": pair,
        "fidelity": pair,
        "hold_out": held,
        "original_hold_out": held and case.original is not None,
    }


def _needed(name: str, pact: Pact) -> str:
    from netpact.certificates import BoxCertificate

    return "--original" if isinstance(pact.statements[name], BoxCertificate) else _NEEDED[name]


def _check(name: str, case: Case) -> Verdict:
    from netpact.pacts.fresh import verify_fidelity, verify_hold_out
    from netpact.pacts.originals import verify_box, verify_original

    pact, data, opening = case.pact, case.data, case.opening
    with progress_bar(f"verifying {_CALLED[name]}") as bar:
        if name in ("hold_out", "original_hold_out"):
            network = case.original if name == "original_hold_out" else None
            return verify_hold_out(pact, case.hold_out, data, original=network, progress=bar, **opening)
        assert case.original is not None
        if name == "original" and case.unlabelled is None:
            return verify_box(pact, case.original, data, progress=bar, **opening)
        check = verify_original if name == "original" else verify_fidelity
        return check(pact, case.original, data, case.unlabelled, progress=bar, **opening)
