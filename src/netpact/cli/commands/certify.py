from __future__ import annotations

from dataclasses import dataclass

from netpact.cli.console import AS_RUN_STYLE, people, print_json, progress_bar
from netpact.cli.data_warnings import warn_about
from netpact.cli.options import DataName, Delta, LimitOptions, PactFile, RunOptions
from netpact.cli.options_of import option
from netpact.cli.originals import NetworkOptions
from netpact.cli.picture import look_around, print_picture
from netpact.core.errors import printable


@dataclass(frozen=True, kw_only=True)
class StatementOptions:
    delta: Delta = 0.05
    form: str = option("exact", "NAME", "How the tail is inverted: exact, kl or hoeffding.")
    repeats: bool = option(
        False,
        None,
        "Declare that the distribution repeats values, as tables do: exact copies of samples are counted. Default: "
        "each value is counted once.",
    )
    public_seed: str = option(
        "",
        "SOURCE",
        "With a helper and --data FILE.npz:sorted: declare that the split's counter was fixed publicly before the "
        "samples were collected, and where.",
    )
    arithmetic: str = option(
        "",
        "NAME",
        "Write the message anew with this arithmetic: float32, float64, or as-run, which certifies what one stated "
        "program computes (this torch on this machine).",
        shown="what the file says",
    )
    most_near_ties: float = option(
        0.1,
        "SHARE",
        "End with an error where more than this share of the samples are near ties; not with as-run.",
        least=0,
        most=1,
    )

    def __post_init__(self) -> None:
        from netpact.certificates import risk_bound
        from netpact.coding.format import ARITHMETICS
        from netpact.core.checks import check_choice

        if self.arithmetic:
            check_choice(self.arithmetic, ARITHMETICS, where="--arithmetic")
        risk_bound(errors=0, samples=1, code_bits=0, delta=self.delta, form=self.form)  # before anything is opened


def certify(
    file: PactFile,
    data: DataName,
    statement: StatementOptions,
    networks: NetworkOptions,
    limits: LimitOptions,
    run: RunOptions,
) -> None:
    """Certify a file: count the decoded network's errors on the training data and add a proven bound on its test error.

    The bound depends on four numbers: bytes of the message, errors, samples, delta. The data's test part is counted for
    comparison only.

    A file encoded against a helper network (--base) is certified on the samples that the helper has not seen; the
    helper's own hold-out bound is stated beside the certificate.

    With --original a second statement is added, about the network before compression: from fresh inputs
    (--unlabelled), or else from a bound on the distance between the two networks. Each statement holds separately with
    probability 1 - delta.

    With --arithmetic as-run the bound is about what netpact's evaluation computes with this torch on this machine;
    another machine may decide near ties otherwise. The message says so, and the bound pays for it.

    Example: netpact certify mlp.pact --data digits
    """
    from netpact.certificates.wording import contradiction
    from netpact.cli.originals import open_case, state_original
    from netpact.pacts.certification import refuse_near_ties, state_risk
    from netpact.pacts.priors import open_subject

    run.set_threads()
    case = open_case(file, data, networks, limits.limits())
    warn_about(case.data)
    subject = open_subject(
        case.pact,
        case.data,
        model=case.model,
        base=case.base,
        base_data=case.base_data,
        repeats=statement.repeats,
        max_parameters=case.max_parameters,
    )
    if statement.arithmetic:
        subject = subject.with_arithmetic(statement.arithmetic)
    with progress_bar("counting errors") as bar:
        certificate = state_risk(
            subject, delta=statement.delta, form=statement.form, public_seed=statement.public_seed, progress=bar
        )
    refuse_near_ties(certificate, most=statement.most_near_ties)
    certified = subject.pact.with_certificate(certificate)
    if case.original is not None:
        with progress_bar("comparing with the original network") as bar:
            certified = certified.with_original(state_original(subject, case.original, statement, bar))
    file_bytes = certified.write(file).stat().st_size
    people.print(printable(certificate.sentence()), style=AS_RUN_STYLE if certificate.as_run else None, soft_wrap=True)
    around = look_around(case.data, file_bytes=file_bytes)
    print_picture(certificate, around)
    if certificate.contradicted and certificate.test_error is not None:
        people.print(contradiction(certificate.test_error), style="red", soft_wrap=True)
    record = certificate.to_json() | around.to_json(certificate)
    if case.original is not None and certified.original is not None:
        people.print(printable(certified.original.sentence()), soft_wrap=True)
        record["original"] = certified.original.to_json()
    if run.json:
        print_json(record)
