"""The tasks after the trials: certificates of the best files on all samples, and their check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

from netpact.coding.format import Pact
from netpact.comparisons.recommending import pick_accurate, pick_fast
from netpact.comparisons.subject import MEMORY, open_subject
from netpact.core.errors import PactError
from netpact.models import OwnModule
from netpact.pacts.certification import certify
from netpact.reports.file_rows import Opening, check_row
from netpact.reports.rows import Row
from netpact.runs import Engine, kept_workers

# Whose workers count the errors of one file; None: the process that has the task.
_WORKERS: ContextVar[Engine | None] = ContextVar("_WORKERS", default=None)


@contextmanager
def counting_by(engine: Engine | None) -> Iterator[None]:
    """Within this block, tasks that run in this process have their samples counted by the workers of an engine."""
    token = _WORKERS.set(engine)
    try:
        with kept_workers():
            yield
    finally:
        _WORKERS.reset(token)


def choose_certified(rows: Sequence[Row], *, most: int, tolerance: float) -> list[Row]:
    """What will be recommended, and the files whose bounds promise to be the lowest."""
    original, *files = rows
    wanted = [pick_accurate(original, files, tolerance=tolerance), pick_fast(original, files, tolerance=tolerance)]
    promising = sorted(files, key=lambda row: (row.expected_bound or 1.0, row.message_bytes))
    found: dict[str, Row] = {}
    # Of one certificate the lowest bound is the one to have, unless it says nothing: then what will be recommended.
    first = [row for row in promising[:1] if (row.expected_bound or 0.0) < row.guessing]
    for row in (*first, *wanted, *promising):
        if row is not None and len(found) < most:
            found.setdefault(row.name, row)
    return list(found.values())


def certify_file(*, source: dict[str, Any], file: str, message: str, delta: float, counts: str) -> dict[str, Any]:
    """Task: count errors on all training samples and write the certificate into the file. A refusal is a result."""
    subject = open_subject(source)
    pact = Pact.read(file)
    resume = _kept(source, counts)
    try:
        certified = certify(pact, subject.data, delta=delta, model=subject.model, resume=resume, engine=_WORKERS.get())
    except PactError as error:
        return {"refused": str(error)}
    certified.write(Path(file))
    assert certified.certificate is not None
    return {"file": file, "message": message, "bound": certified.certificate.bound}


def _kept(source: Mapping[str, Any], counts: str) -> str | None:
    """Where counts are kept: those of a module that only this process has cannot be found again."""
    return None if source["model"] == MEMORY else counts


def verify_file(*, source: dict[str, Any], row: dict[str, Any], file: str, message: str, counts: str) -> dict[str, Any]:
    """Task: check the certificate from the file and the data, as a stranger would."""
    subject = open_subject(source)
    pact = Pact.read(file)
    own = subject.model if isinstance(pact.architecture, OwnModule) else None
    opening = Opening(model=own, engine=_WORKERS.get(), resume=_kept(source, counts))
    return {"row": check_row(Row(**row), pact, subject.data, opening).to_json()}


def certified_row(row: Row, file: Path) -> Row:
    """What the certificate in the file states, beside what was measured."""
    stated = Pact.read(file).certificate
    if stated is None:
        raise PactError("the file has lost its certificate", where=str(file), hint="run the comparison again")
    return replace(
        row,
        train_error=stated.train_error,
        test_error=stated.test_error,
        counted=None,
        bound=stated.bound,
        expected_bound=None,
        samples=stated.samples,
        delta=stated.delta,
        as_run=stated.as_run,
        sentence=stated.sentence(),
        data_name=stated.data_name,
        data_fingerprint=stated.data_fingerprint,
    )


def is_intact(result: Mapping[str, Any]) -> bool:
    """Whether the file that a result speaks of still holds the network, and the certificate where there was one."""
    if "file" not in result:
        return True
    try:
        pact = Pact.read(result["file"])
    except PactError:
        return False
    if "bound" in result and (pact.certificate is None or pact.certificate.bound != result["bound"]):
        return False
    return pact.message_sha256 == result["message"]
