"""Which file is recommended for what: rules on made-up rows, and that the words never promise more than is proven."""

from __future__ import annotations

from typing import Any

import pytest

from netpact.certificates import risk_bound
from netpact.comparisons.recommending import FAITHFUL, FAST, FRESH, PROVEN, SMALL, largest_useful, recommend
from netpact.comparisons.settling import choose_certified
from netpact.reports.rows import Row

SAMPLES = 1000


def original(**changes: Any) -> Row:
    known = {"train_error": 0.02, "test_error": 0.05, "flops": 1000, "samples_per_second": 100.0}
    return Row(
        **{"name": "original", "method": "", "classes": 10, "parameters": 9, "message_bytes": 9000, **known, **changes}
    )


def file(name: str, size: int, error: float, *, certified: bool = False, **changes: Any) -> Row:
    shared = {"classes": 10, "parameters": 9, "samples": SAMPLES, "delta": 0.05, "file": f"{name}.pact"}
    bound = risk_bound(errors=round(error * SAMPLES), samples=SAMPLES, code_bits=8 * size, delta=0.05)
    stated = {"bound": bound, "agreed": True} if certified else {"expected_bound": bound}
    known = {"train_error": error, "test_error": error, "code_bits": 8 * size, "message_bytes": size, "fidelity": 0.97}
    speed = {"flops": 1000, "samples_per_second": 100.0}
    return Row(**{"name": name, "method": name, **shared, **known, **speed, **stated, **changes})


def advise(*files: Row, tolerance: float = 0.01, **changes: Any) -> dict[str, tuple[str, str]]:
    found = recommend([original(**changes), *files], tolerance=tolerance)
    return {choice.goal: (choice.row, choice.words) for choice in found.choices}


def test_the_smallest_file_within_the_tolerance() -> None:
    found = advise(file("large", 800, 0.02), file("small", 300, 0.03), file("worse", 100, 0.031))
    assert found[SMALL][0] == "small"
    assert "300 bytes, 30.0 times fewer" in found[SMALL][1]
    assert advise(file("a", 300, 0.031), tolerance=0.011)[SMALL][0] == "a"


def test_the_test_errors_play_no_part() -> None:
    """They are shown; a choice by them would make them worthless as a measurement."""
    found = advise(file("a", 300, 0.02, test_error=0.9), file("b", 400, 0.02, test_error=0.0))
    assert found[SMALL][0] == "a"


def test_when_no_file_is_accurate_none_is_recommended() -> None:
    small, words = advise(file("a", 300, 0.5), file("b", 900, 0.2))[SMALL]
    assert not small
    assert "No file stays within 1.0 %" in words
    assert "Nearest is b" in words


def test_a_file_that_was_trained_further_has_a_faithful_one_beside_it() -> None:
    found = advise(file("trained", 100, 0.01, fidelity=0.9), file("rounded", 500, 0.02, fidelity=0.99))
    assert found[SMALL][0] == "trained"
    assert found[FAITHFUL][0] == "rounded"
    assert FAITHFUL not in advise(file("rounded", 500, 0.02, fidelity=0.99))


def test_the_fastest_of_the_accurate_ones_if_it_is_faster_at_all() -> None:
    quick = file("quick", 500, 0.02, samples_per_second=150.0)
    wrong = file("wrong", 500, 0.2, samples_per_second=900.0)
    found = advise(quick, wrong, file("slow", 100, 0.02))
    assert found[FAST][0] == "quick"
    assert "1.5 times as fast" in found[FAST][1]
    assert advise(file("a", 100, 0.02, samples_per_second=109.0))[FAST][0] == ""


def test_the_lowest_proven_bound() -> None:
    found = advise(file("a", 30, 0.05, certified=True), file("b", 20, 0.2, certified=True), file("c", 10, 0.01))
    assert found[PROVEN][0] == "a"
    assert "with probability at least 95 %" in found[PROVEN][1]
    assert FRESH not in found


def test_what_is_expected_or_refused_is_not_proven() -> None:
    refused = file("refused", 30, 0.01, certified=True, agreed=False)
    found = advise(refused, file("expected", 20, 0.0))
    assert found[PROVEN] == ("", "No file has a certificate, so nothing is proven. --certified N makes certificates.")
    assert FRESH in found


def test_a_bound_as_run_is_told_as_such() -> None:
    row, words = advise(file("ran", 30, 0.01, certified=True, as_run=True))[PROVEN]
    assert not row
    assert "for no other" in words


def test_when_all_is_vacuous_it_says_so_and_what_to_do() -> None:
    found = advise(file("a", 800, 0.02, certified=True), file("b", 700, 0.02))
    row, words = found[PROVEN]
    assert not row
    assert "Every certificate is vacuous" in words
    least = largest_useful(file("x", 10, 0.0))
    assert f"at most {least:,} bytes" in words
    assert "--hold-out" in found[FRESH][1]
    assert "--unlabelled" in found[FRESH][1]
    held = risk_bound(errors=200, samples=10_000, code_bits=0, delta=0.05)
    assert f"{100 * held + 0.05:.1f} %" in found[FRESH][1]


def test_the_largest_useful_message_is_exact() -> None:
    bits = 8 * largest_useful(file("x", 10, 0.0))
    assert risk_bound(errors=0, samples=SAMPLES, code_bits=bits, delta=0.05) < 0.9
    assert risk_bound(errors=0, samples=SAMPLES, code_bits=bits + 8, delta=0.05) >= 0.9


def test_without_files_it_says_so() -> None:
    assert advise()[SMALL] == ("", "No method gave a file of this network.")


@pytest.mark.parametrize("most", [0, 1, 2, 5])
def test_certificates_go_to_the_lowest_bound_then_to_what_is_recommended(most: int) -> None:
    files = [
        file("low", 40, 0.10),
        file("second", 60, 0.10),
        file("small", 300, 0.02),
        file("fast", 400, 0.02, flops=500),
    ]
    rows = [original(samples_per_second=None), *files]
    chosen = [row.name for row in choose_certified(rows, most=most, tolerance=0.01)]
    assert chosen == ["low", "small", "fast", "second"][:most]


def test_where_no_bound_promises_anything_the_recommended_files_are_certified_first() -> None:
    rows = [original(samples_per_second=None), file("low", 600, 0.10), file("small", 900, 0.02)]
    assert [row.name for row in choose_certified(rows, most=1, tolerance=0.01)] == ["small"]
