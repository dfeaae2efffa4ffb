from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import typer

from netpact.cli.console import people, print_json, progress_bar, verdict_style
from netpact.cli.engine_options import ShardOptions
from netpact.cli.hold_out_alone import verify_alone
from netpact.cli.interrupts import keeping, shards_in
from netpact.cli.options import DataName, LimitOptions, PactFile, RunOptions
from netpact.cli.options_of import option
from netpact.cli.originals import FreshOptions, NetworkOptions
from netpact.cli.statement_page import StatementPage
from netpact.core.limits import Limits
from netpact.runs.idle import kept_workers


@dataclass(frozen=True, kw_only=True)
class VerifyLimits(LimitOptions):
    max_training: int = option(
        Limits().max_training,
        "OPS",
        "With --retrain: most multiply-adds of training.",
        least=1,
        shown="10^15, some hours",
    )


@kept_workers()
def verify(
    file: PactFile,
    data: DataName,
    retrain: Annotated[
        bool,
        typer.Option(
            "--retrain", help="Train the helper network again by the recipe in the file. A .pick file always is."
        ),
    ] = False,
    *,
    networks: NetworkOptions,
    fresh: FreshOptions,
    limits: VerifyLimits,
    work: ShardOptions,
    run: RunOptions,
    show: StatementPage,
) -> int:
    """Check a certificate from the file and the data alone: decode, count errors, recompute the bound, compare.

    A data-dependent certificate needs its helper network: give it by --base ("agreed, given the stated helper"), or
    train it again by --retrain, which needs only file and data.

    With --original, --unlabelled and --hold-out, as they were given to certify, the other statements in the file are
    checked as well; those that cannot be checked are named. A hold-out statement by itself (FILE.json) needs --original
    and --hold-out.

    A statement with arithmetic as run is checked with the torch and on the machine that verify runs on. Where its
    count is larger by near ties alone, the verdict is "undecided".

    A .pick file (search --kind sample-compression) is checked by picking its samples again, from its recipe and the
    data, with or without --retrain: the learner computes in integers, so every machine picks the same, or the file is
    refused. One that was made with a base needs the same base (--base).

    Exit codes: 0 agreed; 1 refused, with reasons; 3 agreed, but contradicted by a test error above the bound; 4
    undecided.

    Example: netpact verify mlp.pact --data digits --json
    """
    from netpact.certificates import joint_sentence
    from netpact.cli.beside import check_beside
    from netpact.cli.originals import open_case
    from netpact.core.errors import PactError
    from netpact.pacts.verification import verify as check
    from netpact.picking.file import is_picked_file

    run.set_threads()
    engine = work.make_engine(run.threads)
    if is_picked_file(file):
        from netpact.cli.picking import verify_picks

        return verify_picks(file, data, networks, limits.limits(), show, as_json=run.json)
    if file.suffix == ".json":
        return verify_alone(
            file, data, networks, fresh, limits.limits(), show, as_json=run.json, engine=engine, resume=work.resume
        )
    if retrain and networks.base is not None:
        raise PactError("with --retrain the helper is trained again, and no base is read", where="--base")
    case = open_case(file, data, networks, fresh, limits.limits(), engine=engine, resume=work.resume)
    pact = case.pact
    if retrain:
        from netpact.pacts.priors import retrain_helper

        with progress_bar("training the helper again") as bar:
            case = replace(case, base=retrain_helper(pact, case.data, progress=bar, max_parameters=case.max_parameters))
    with keeping(shards_in(work.resume)), progress_bar("verifying") as bar:
        verdict = check(pact, case.data, progress=bar, **case.opening)
    people.print(str(verdict), style=verdict_style(verdict), soft_wrap=True, markup=False)
    record = verdict.to_json()
    beside, left = check_beside(case)
    for name, other in beside.items():
        people.print(str(other), style=verdict_style(other), soft_wrap=True, markup=False)
        record[name] = other.to_json()
    for line in left:
        people.print(line, soft_wrap=True)
    verdicts = [verdict, *beside.values()]
    if beside and all(verdicts):
        people.print(joint_sentence(one.certificate for one in verdicts if one.certificate is not None), soft_wrap=True)
    show.write(pact.statements, file=file, verdicts={"certificate": verdict, **beside})
    if run.json:
        print_json(record)
    if not all(verdicts):
        undecided = all(one.agreed or (one.undecided and not one.reasons) for one in verdicts)
        return 4 if undecided else 1
    return 3 if verdict.contradicted else 0
