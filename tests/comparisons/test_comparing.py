"""compare: every method has a row or a reason; nothing finished is repeated; serial and parallel agree."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from torch import nn

from netpact.coding.format import Pact
from netpact.comparisons import CompareOptions, compare, comparing, settling, trying
from netpact.comparisons.comparing import Step
from netpact.comparisons.subject import thin
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import Data, load_data
from netpact.methods import METHODS
from netpact.models import build, parse_model
from netpact.overview import gather
from netpact.pacts.verification import verify
from netpact.runs import Processes
from netpact.training import TrainOptions, train

QUICK = CompareOptions(sizes=1, minutes=5.0, certified=2)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small data set that other processes can load."""
    digits = load_data("digits")
    parts: dict[str, Any] = {}
    for name, samples, count in (("train", digits.train, 160), ("test", digits.test, 60)):
        assert samples is not None
        parts[f"x_{name}"], parts[f"y_{name}"] = next(iter(samples.batches(count)))
    path = tmp_path_factory.mktemp("data") / "few.npz"
    np.savez(path, **parts)
    return str(path)


@pytest.fixture(scope="module")
def module(place: str) -> nn.Module:
    data = load_data(place)
    start = build(parse_model("mlp:12", input_shape=data.input_shape, classes=data.classes), seed=Seed(0))
    return train(start, data.train, TrainOptions(epochs=15, learning_rate=0.01)).module


@pytest.fixture(scope="module")
def found(module: nn.Module, place: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return compare(module, place, QUICK, out=tmp_path_factory.mktemp("compare"))


def test_every_method_has_a_row_or_a_reason(found: Any) -> None:
    tried = {row.method for row in found.rows[1:]}
    assert tried | {one.name for one in found.left_out} >= set(METHODS)
    assert all(one.reason for one in found.left_out)
    assert {"vector-compress", "quantize-difference"} <= {one.name for one in found.left_out}
    assert len({row.name for row in found.rows}) == len(found.rows)
    assert len({row.message_sha256 for row in found.rows}) == len(found.rows), "no file twice"


def test_rows_know_sizes_errors_speed_and_estimates(found: Any) -> None:
    for row in found.rows[1:]:
        assert row.message_bytes < found.rows[0].message_bytes
        assert row.flops is not None
        assert row.samples_per_second > 0
        assert 0 <= row.fidelity <= 1
        assert row.test_error is not None
        assert (row.bound is None) != (row.expected_bound is None)
    assert sum(row.deviation is not None for row in found.rows) > len(found.rows) / 2
    assert sum(bool(row.estimates) for row in found.rows) > len(found.rows) / 2
    assert {name.partition("-")[0] for name in found.rows[0].estimates} >= {"arora", "li", "shin", "guha", "bartlett"}


def test_certificates_are_checked_and_their_files_verify(found: Any, place: str) -> None:
    certified = [row for row in found.rows if row.bound is not None]
    assert len(certified) == QUICK.certified
    for row in certified:
        assert row.agreed
        verdict = verify(found.page.parent / row.file, place)
        assert verdict.agreed
        assert verdict.certificate is not None
        assert verdict.certificate.bound == row.bound


def test_the_page_has_every_section_and_the_record_is_read_by_report(found: Any) -> None:
    page = found.page.read_text()
    for key in ("advice", "table", "plane", "parts", "bits", "measured", "bounds", "left-out", "guarantees"):
        assert f'id="{key}"' in page, key
    for heading in ("Layer cushion", "Effective parameters", "Norms", "Ranks", "Tails", "CP spectra of", "Margin"):
        assert f"<h3>{heading}" in page, heading
    for row in found.rows:
        assert row.name in page
    assert len(page) < 3_000_000
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")
    record = json.loads((found.page.parent / "comparison.json").read_text())
    assert record["recommendation"] == found.recommendation.to_json()
    assert {row.name for row in gather([found.page.parent / "comparison.json"]).rows} == {
        row.name for row in found.rows
    }


def test_it_shows_itself(found: Any) -> None:
    assert "Comparison(files=" in repr(found)
    assert "<table" in found._repr_html_()
    assert found.recommendation.choices[0].words in str(found)
    assert {row.name for row in found.shortlist()} <= {row.name for row in found.rows}


def without_speed(rows: Any) -> list[Any]:
    return [replace(row, samples_per_second=None) for row in rows]


def test_serial_and_parallel_agree(module: nn.Module, place: str, tmp_path: Path) -> None:
    few = replace(QUICK, methods=("rate-aware", "tucker"), certified=1)
    serial = compare(module, place, few, out=tmp_path / "one")
    parallel = compare(module, place, few, out=tmp_path / "two", engine=Processes(2, 1))
    assert without_speed(serial.rows) == without_speed(parallel.rows)
    assert serial.left_out == parallel.left_out


def test_long_counts_are_shared_by_the_workers(
    module: nn.Module, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(QUICK, methods=("quantize",), certified=2)
    engine, shares = Processes(2, 1), list[float | None]()
    dealt_out = compare(module, place, few, out=tmp_path / "one", engine=engine)
    monkeypatch.setattr(comparing, "_LONG", 0.0)
    used: list[object] = []
    certify = settling.certify

    def note(*given: Any, **named: Any) -> Pact:
        used.append(named["engine"])
        return certify(*given, **named)

    monkeypatch.setattr(settling, "certify", note)
    shared = compare(
        module, place, few, out=tmp_path / "two", engine=engine, progress=lambda step: shares.append(step.share)
    )
    assert used == [engine] * 2
    assert without_speed(shared.rows) == without_speed(dealt_out.rows)
    told = [share for share in shares if share is not None]
    assert told == sorted(told), "what is done never falls back"
    assert told[-1] == pytest.approx(1)


def test_certificates_that_do_not_fit_into_the_time_are_left_out(
    module: nn.Module, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(QUICK, methods=("quantize",), certified=None, minutes=1e-6)
    monkeypatch.setattr(comparing, "_LONG", 0.0)
    found = compare(module, place, few, out=tmp_path / "short")
    assert sum(row.bound is not None for row in found.rows) == 1, "one in any case"
    left = [one for one in found.left_out if one.name.startswith("certificate of")]
    assert len(left) >= 2
    assert "netpact verify" in next(one.reason for one in found.left_out if one.name.startswith("check of"))
    assert all(row.agreed is None for row in found.rows)
    assert all("1e-06 minutes were not enough" in one.reason for one in left)
    all_three = compare(module, place, replace(few, certified=3), out=tmp_path / "asked for")
    assert sum(row.bound is not None for row in all_three.rows) == 3


def test_an_interrupted_comparison_goes_on_and_repeats_nothing(module: nn.Module, place: str, tmp_path: Path) -> None:
    few = replace(QUICK, methods=("quantize", "tucker", "sketch"))
    totals = []

    def stop(step: Step) -> None:
        totals.append(step.total)
        if step.stage == "compress" and step.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(module, place, few, out=tmp_path, progress=stop)
    before = {path: path.stat().st_mtime_ns for path in [*tmp_path.glob("*.pact"), *(tmp_path / "run").glob("*.json")]}
    assert len(before) >= 6
    told: list[Any] = []
    first = compare(module, place, few, out=tmp_path, announce=told.append)
    assert told[0].trials == totals[-1] - 3, "three were made"
    kept = {path: path.stat().st_mtime_ns for path in before}
    certified = {tmp_path / str(row.file) for row in first.rows if row.bound is not None}
    assert {path for path in before if kept[path] != before[path]} <= certified
    stamps = {path: path.stat().st_mtime_ns for path in [*tmp_path.glob("*.pact"), *(tmp_path / "run").glob("*.json")]}
    again = compare(module, place, few, out=tmp_path)
    assert again.rows == first.rows
    assert stamps == {path: path.stat().st_mtime_ns for path in stamps}


def test_files_of_deep_networks_are_certified_in_float64_and_measured_in_float32(
    module: nn.Module, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their logits in float32 are near ties, all of them."""
    monkeypatch.setattr(trying, "_NEAR_TIES", -1.0)
    found = compare(module, place, replace(QUICK, methods=("tucker", "whole"), certified=2), out=tmp_path)
    arithmetics = {Pact.read(tmp_path / str(row.file)).decode().arithmetic for row in found.rows[1:]}
    assert arithmetics == {"float64", "whole"}
    assert all(row.agreed and row.samples_per_second for row in found.rows[1:])
    assert not found.left_out


def test_a_spoiled_file_is_made_again(module: nn.Module, place: str, tmp_path: Path) -> None:
    few = replace(QUICK, methods=("sketch", "tucker"))
    first = compare(module, place, few, out=tmp_path)
    for row in first.rows[1:]:
        (tmp_path / str(row.file)).write_bytes(b"spoiled")
    again = compare(module, place, few, out=tmp_path)
    assert without_speed(again.rows) == without_speed(first.rows)


class Own(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, 8), nn.Linear(8, 10)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x.flatten(1)).relu())


def test_a_module_of_the_user_s_own(place: str, tmp_path: Path) -> None:
    data = load_data(place)
    few = replace(QUICK, methods=("quantize", "whole", "truncated-svd"), certified=1)
    found = compare(Own(), data, few, out=tmp_path)
    assert {row.method for row in found.rows[1:]} >= {"quantize", "whole"}
    assert sum(row.agreed is True for row in found.rows) == 1
    with pytest.raises(PactError, match="one process only"):
        compare(Own(), data, few, out=tmp_path / "more", engine=Processes(2, 1))


@dataclass(frozen=True)
class Faulty:
    name: ClassVar[str] = "faulty"

    def compress(self, network: Any, samples: Any, progress: Any) -> Any:
        raise RuntimeError("cannot be")


def test_a_new_method_joins_and_one_that_fails_is_named(module: nn.Module, place: str, tmp_path: Path) -> None:
    METHODS.add(Faulty)
    try:
        found = compare(module, place, replace(QUICK, methods=("sketch", "faulty")), out=tmp_path)
    finally:
        del METHODS._rows["faulty"]
    assert [one.name for one in found.left_out if "cannot be" in one.reason] == ["faulty"]
    assert {row.method for row in found.rows[1:]} == {"sketch"}


def test_samples_for_the_table_are_spread_evenly() -> None:
    digits: Data = load_data("digits")
    few = thin(digits.train, 10)
    (inputs, _) = next(iter(few.batches()))
    (every, _) = next(iter(digits.train.batches(digits.train.count)))
    assert few.count == 10
    assert np.array_equal(inputs, every[[place * digits.train.count // 10 for place in range(10)]])
    assert thin(digits.train, 10**6) is digits.train


def test_options_are_a_record(module: nn.Module, place: str, tmp_path: Path) -> None:
    wrong: Any = {"sizes": 2}
    with pytest.raises(PactError, match="options"):
        compare(module, place, wrong, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"methods": ("nonsense",)}, "nonsense"),
        ({"methods": ("sketch", "sketch")}, "twice"),
        ({"sizes": 0}, "sizes"),
        ({"samples": -1}, "samples"),
        ({"certified": -1}, "certified"),
        ({"minutes": 0.0}, "minutes"),
        ({"delta": 1.0}, "delta"),
        ({"tolerance": 2.0}, "tolerance"),
    ],
)
def test_bad_options_die_at_once(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(PactError, match=word):
        CompareOptions(**changes)
