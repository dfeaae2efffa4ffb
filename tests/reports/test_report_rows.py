from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from reports.report_examples import ORIGINAL, PROVENANCE, ROWS, compressed

from netpact.core.errors import PactError
from netpact.reports import Row, find_best
from netpact.reports.rows import check_rows


def test_rows_and_provenance_survive_json() -> None:
    for row in ROWS:
        assert Row(**json.loads(json.dumps(row.to_json()))) == row
    assert json.loads(json.dumps(PROVENANCE.to_json()))["data_fingerprint"] == "sha256:3f9a51"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("classes", 1),
        ("classes", True),
        ("parameters", -1),
        ("message_bytes", 0),
        ("message_bytes", 1.5),
        ("train_error", 1.01),
        ("train_error", float("nan")),
        ("samples", 0),
        ("delta", 1.0),
        ("fidelity", 1.2),
        ("deviation", -1.0),
        ("estimates", {"shin-2": float("nan")}),
        ("test_error", -0.1),
        ("bound", float("inf")),
        ("bound", "0.4"),
        ("code_bits", -8),
        ("code_bits", None),
    ],
)
def test_a_bad_field_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(PactError, match=field.removesuffix("s")):
        compressed("x", **{field: value})


def test_agreement_needs_a_bound() -> None:
    with pytest.raises(PactError, match="agreed"):
        compressed("x", bound=None)


@pytest.mark.parametrize(
    ("field", "value"), [("delta", 0), ("delta", 1.0), ("delta", -1), ("samples", 0), ("seed", -1)]
)
def test_bad_provenance_is_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(PactError, match=field.removesuffix("s")):
        replace(PROVENANCE, **{field: value})  # type: ignore[arg-type]


def test_a_bound_is_vacuous_from_the_error_of_guessing_on() -> None:
    assert compressed("x", bound=0.9).vacuous
    assert not compressed("x", bound=0.8999).vacuous
    assert compressed("x", bound=0.5, classes=2).vacuous
    assert not ORIGINAL.vacuous


def test_the_best_row_has_the_smallest_bound_that_stands() -> None:
    best = find_best(ROWS)
    assert best is not None
    assert best.name == "linear ternary search"
    refused = compressed("refused", bound=0.01, agreed=False)
    assert find_best([refused, *ROWS]) is best
    assert find_best([ORIGINAL, refused]) is None
    assert find_best([compressed("a"), compressed("b", message_bytes=10)]) == compressed("b", message_bytes=10)


def test_only_the_uncoded_network_is_the_original() -> None:
    assert ORIGINAL.original
    assert not compressed("x", bound=None, agreed=None).original


def test_a_report_is_about_one_task() -> None:
    with pytest.raises(PactError, match="at least one row"):
        check_rows([])
    with pytest.raises(PactError, match="2, 10"):
        check_rows([ORIGINAL, compressed("x", classes=2)])


def test_reports_do_not_import_torch() -> None:
    code = "import sys, netpact.reports; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"]).returncode == 0
