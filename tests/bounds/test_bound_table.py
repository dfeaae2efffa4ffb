"""The table of bounds: a row from outside, former names, options of its own, and what each bound says that it needs."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from dataclasses import dataclass, field, fields, replace
from io import StringIO
from typing import Any

import numpy as np
import pytest
from bounds.bound_examples import FIRST, SECOND, chain, make_facts, make_layer, make_stability, some_data
from rich.console import Console

from netpact import PactError
from netpact.bounds import BOUNDS, FACTS, RULES, Bound, EstimateOptions, Fact, Facts, Gamma, NormOptions, check_names
from netpact.bounds import estimate_bounds as estimate
from netpact.bounds.bound import option_records
from netpact.papers.arora.stability import CushionOptions
from netpact.reports.bound_page import render_estimates
from netpact.reports.bound_rows import bound_table

FORMER = {
    "theorem-2.1": "arora-2.1",
    "theorem-2.2": "arora-2.2",
    "theorem-4.1": "arora-4.1",
    "theorem-5.1": "arora-5.1",
    "figure-2": "arora-figure-2",
    "lemma-3": "arora-lemma-3",
    "lemma-3-printed": "arora-lemma-3-printed",
    "lemma-6": "arora-lemma-6",
    "lemma-8": "arora-lemma-8",
    "vc": "bartlett-2019",
    "l1-inf": "bartlett-mendelson-2002",
    "spec-l1-2": "bartlett-2017-figure",
    "frobenius": "neyshabur-2015",
    "spec-fro": "neyshabur-2017",
}
FIXED = EstimateOptions(gamma=Gamma(value=0.5))


@pytest.fixture(autouse=True)
def tables_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in (BOUNDS, FACTS):
        list(table)
        monkeypatch.setattr(table, "_rows", dict(table._rows))


def test_a_bound_from_outside_is_in_json_table_and_page() -> None:
    """With an option and a fact of its own."""

    @dataclass(frozen=True)
    class Toy:
        toy_factor: float = field(default=2.0, metadata={"help": "a factor"})

    FACTS.add(Fact("toy_sum", lambda facts: sum(float(layer.weight.abs().sum()) for layer in facts.structure.layers)))
    BOUNDS.add(
        Bound(
            name="toy-2026",
            theorem="Somebody 2026, Theorem 9",
            needs=("toy_sum", "gamma"),
            log_capacity=lambda facts: math.log(facts.options.of(Toy).toy_factor * facts.toy_sum / facts.gamma),
            options=(Toy,),
        )
    )
    data = some_data(inputs=2, classes=2, count=30)
    found = estimate(chain(FIRST, SECOND), data, EstimateOptions(gamma=Gamma(value=0.5), toy_factor=3.0))
    row = next(row for row in found.to_json()["estimates"] if row["name"] == "toy-2026")  # type: ignore[attr-defined]
    assert row["log10"] == pytest.approx(math.log10(3 * 12 / 0.5))
    assert row["gamma"] == 0.5
    stream = StringIO()
    Console(file=stream, width=80).print(bound_table(found.rows, title="all"))
    assert "toy-2026" in stream.getvalue()
    assert "Somebody 2026, Theorem 9" in render_estimates(found.rows, found, data)
    assert "toy_factor" in option_records()
    alone = estimate(chain(FIRST, SECOND), data, FIXED, only=["toy-2026"])
    assert alone.rows[0].log10 == pytest.approx(math.log10(2 * 12 / 0.5)), "the default of its option"


def test_former_names_still_find_their_bounds() -> None:
    assert {row.former: row.name for row in RULES.values() if row.former} == FORMER
    data, model = some_data(inputs=2, classes=2, count=9), chain(FIRST, SECOND)
    found = estimate(model, data, FIXED, only=["frobenius", "neyshabur-2015", "vc"])
    assert [row.name for row in found.rows] == ["bartlett-2019", "neyshabur-2015"], "asked for twice, evaluated once"
    assert found["frobenius"] is found["neyshabur-2015"]
    assert check_names(["figure-2", "spec-fro"]) == ("spec-fro", "figure-2"), "as they were given, in the table's order"
    assert not set(FORMER) & set(RULES.keys())
    with pytest.raises(PactError, match="estimate: 'l1-inf' is not known"):
        found["l1-inf"]


class Watched(Facts):
    """Notes the facts that a formula asks for itself."""

    def __init__(self, facts: Facts) -> None:
        self.asked: set[str] = {"gamma"}
        super().__init__(facts.options, known=facts.known, gamma=facts.gamma)

    def __getattr__(self, name: str) -> Any:
        self.asked.add(name)
        return super().__getattr__(name)


@pytest.mark.parametrize("name", list(BOUNDS))
def test_a_formula_asks_for_the_facts_that_its_bound_names(name: str) -> None:
    stability = make_stability(*[make_layer(cushion=0.5, interlayer=0.5)] * 2)
    known = {**make_facts(FIRST, SECOND, stability=stability).known, "widest": 2, "delta": 0.05}
    watched = Watched(Facts(EstimateOptions(), known=known))
    BOUNDS[name].log_capacity(watched)
    assert watched.asked | {"gamma"} == set(BOUNDS[name].needs) | {"gamma"}


def test_facts_are_found_once_and_only_where_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def count(name: str) -> Fact:
        row = FACTS[name]
        return replace(row, find=lambda facts: asked.append(name) or row.find(facts))  # type: ignore[func-returns-value]

    counted = {name: count(name) for name in FACTS}
    monkeypatch.setattr(FACTS, "_rows", counted)
    data, model = some_data(inputs=2, classes=2, count=9), chain(FIRST, SECOND)
    estimate(model, data, EstimateOptions(gamma=Gamma(grid=(0.1, 0.5, 2.0))))
    assert asked.count("norms") == 1, "for all bounds and all margins"
    asked.clear()
    estimate(model, data, only=["parameters"])
    assert set(asked) == {"parameters", "samples", "errors"}, "no norm is computed"


def test_options_of_the_bounds_are_given_by_name() -> None:
    options = EstimateOptions(convolutions="reshaped", zeta=0.1)
    changed = replace(options, cushions="plain")  # type: ignore[call-arg]
    assert changed == EstimateOptions(convolutions="reshaped", zeta=0.1, cushions="plain")
    assert changed.of(CushionOptions) == CushionOptions(zeta=0.1, cushions="plain")
    assert changed.of(NormOptions) == NormOptions(convolutions="reshaped")
    assert pickle.loads(pickle.dumps(options)) == options
    with pytest.raises(PactError, match="allowed: gamma, delta, convolutions, cushions, zeta"):
        EstimateOptions(cushion="plain")
    for name, kind in option_records().items():
        (found,) = (one for one in fields(kind) if one.name == name)
        assert found.metadata["help"], name
        assert kind(), "every option has a default"


def test_an_unknown_fact_is_named() -> None:
    with pytest.raises(PactError, match=r"'normz' is not known.*norms"):
        _ = make_facts(np.eye(2)).normz


def test_the_table_is_read_without_torch() -> None:
    code = (
        "import sys; from netpact.bounds.bound import option_records; assert option_records(); "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
