from __future__ import annotations

from dataclasses import dataclass

from netpact.cli.app import FINE
from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.data_warnings import warn_about
from netpact.cli.engine_options import ShardOptions
from netpact.cli.hold_out_alone import AloneOptions, certify_alone, is_file
from netpact.cli.interrupts import keeping, shards_in
from netpact.cli.one_step import certify_model
from netpact.cli.options import DataName, Delta, LimitOptions, PactOrModel, RunOptions
from netpact.cli.options_of import option
from netpact.cli.originals import FreshOptions, NetworkOptions
from netpact.cli.picture import look_around, print_picture
from netpact.cli.statement_page import StatementPage
from netpact.core.errors import PactError
from netpact.runs.idle import kept_workers


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
    original_arithmetic: str = option(
        "",
        "NAME",
        "How the original network is run: float32, with rounding bounds, or as-run.",
        shown="as-run where the file is, else float32",
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


@kept_workers()
def certify(
    file: PactOrModel,
    data: DataName,
    statement: StatementOptions,
    work: ShardOptions,
    networks: NetworkOptions,
    fresh: FreshOptions,
    limits: LimitOptions,
    alone: AloneOptions,
    run: RunOptions,
    show: StatementPage,
) -> int:
    """Certify a file: count the decoded network's errors on the training data and add a proven bound on its test error.

    With a MODEL and its --weights in place of a file, everything in one step: settings of the methods that suit the
    network are tried for --budget, the file with the lowest bound is written to --out, certified, and verified.

    The bound depends on four numbers: bytes of the message, errors, samples, delta. The data's test part is counted for
    comparison only.

    A file encoded against a helper network (--base) is certified on the samples that the helper has not seen; the
    helper's own hold-out bound is stated beside the certificate.

    Further statements are added beside the certificate, each with probability 1 - delta; together they fail with at
    most the sum of their deltas (docs/statements.md):

    - --original and --unlabelled: how often the network and the one before compression disagree, and the latter's risk

    - --original alone: its risk, from a bound on the distance between the two networks

    - --hold-out: the risk by fresh labelled samples, with 0 bits; with --original also that of the original

    A MODEL with --hold-out gets a hold-out statement only, written to --out FILE.json.

    With --arithmetic as-run the bound is about what netpact's evaluation computes with this torch on this machine;
    another machine may decide near ties otherwise. The message says so, and the bound pays for it.

    Example: netpact certify mlp.pact --data digits

    Example: netpact certify mlp --weights mlp.safetensors --data digits --budget 2m
    """
    from netpact.certificates import joint_delta, joint_sentence
    from netpact.certificates.wording import contradiction
    from netpact.cli.beside import print_statement, state_beside
    from netpact.cli.originals import open_case
    from netpact.pacts.certification import refuse_near_ties, state_risk

    run.set_threads()
    engine = work.make_engine(run.threads)
    if not is_file(file):
        code, model = FINE, str(file)
        if fresh.hold_out is None:
            record, code = certify_model(model, data, statement, alone, show, resume=work.resume)
        else:
            record = certify_alone(model, data, statement, fresh, alone, show, engine=engine, resume=work.resume)
        if run.json:
            print_json(record)
        return code
    if alone.weights is not None or alone.out is not None:
        raise PactError("only for a MODEL, without a .pact file", where="--weights, --out", hint="leave it out")
    case = open_case(file, data, networks, fresh, limits.limits(), engine=engine, resume=work.resume)
    warn_about(case.data)
    subject = case.subject(repeats=statement.repeats)
    if statement.arithmetic:
        subject = subject.with_arithmetic(statement.arithmetic)
    with keeping(shards_in(work.resume)), progress_bar("counting errors") as bar:
        certificate = state_risk(
            subject, delta=statement.delta, form=statement.form, public_seed=statement.public_seed, progress=bar
        )
    refuse_near_ties(certificate, most=statement.most_near_ties)
    # Further statements that the file has already are about the same message, and stay.
    certified = state_beside(subject, case, subject.pact.with_certificate(certificate), statement)
    file_bytes = certified.write(file).stat().st_size
    print_statement(certificate)
    around = look_around(case.data, file_bytes=file_bytes)
    print_picture(certificate, around)
    if certificate.contradicted and certificate.test_error is not None:
        people.print(contradiction(certificate.test_error), style="red", soft_wrap=True)
    record = certificate.to_json() | around.to_json(certificate)
    statements = certified.statements
    for name, stated in statements.items():
        if stated is not certificate:
            print_statement(stated)
            record[name] = stated.to_json()
    if len(statements) > 1:
        people.print(joint_sentence(statements.values()), soft_wrap=True)
        record["joint_delta"] = joint_delta(statements.values())
    show.write(statements, file=file)
    if run.json:
        print_json(record)
    return FINE
