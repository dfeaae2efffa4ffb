"""A result that says yes or no is true or false: `if result:` must not take a no for a yes."""

from __future__ import annotations

import pytest

from netpact.bounds import Premise
from netpact.certificates import check_bound
from netpact.experiments.findings import Finding
from netpact.pacts.verification import Verdict


@pytest.mark.parametrize(("holds", "true"), [(True, True), (False, False), (None, False)])
def test_a_premise(holds: bool | None, true: bool) -> None:
    assert bool(Premise("rho >= 3d", holds, "rho = 2.1")) is true


@pytest.mark.parametrize(("bound", "true"), [(0.9, True), (0.01, False)])
def test_a_second_opinion(bound: float, true: bool) -> None:
    opinion = check_bound(errors=10, samples=100, code_bits=8, delta=0.05, form="exact", bound=bound)
    assert bool(opinion) is true


@pytest.mark.parametrize(("holds", "true"), [((True, True), True), ((True, False), False), ((), False)])
def test_a_finding(holds: tuple[bool, ...], true: bool) -> None:
    assert bool(Finding("claim", "rule", tuple(1.0 for _ in holds), holds)) is true


def test_a_refused_verdict() -> None:
    assert not Verdict(("the file has no certificate",), None)
