"""A measured test error above the bound is called a contradiction, wherever the two are shown side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netpact.cli.app import CONTRADICTED, FINE, REFUSED, run
from netpact.coding.format import Pact
from netpact.datasets import ArraySamples, Data
from netpact.pacts.certification import certify
from netpact.pacts.verification import verify
from netpact.reports.rows import Row
from netpact.reports.table import error_words

FILE = Path(__file__).parents[2] / "records" / "digits.pact"


@pytest.fixture(scope="module")
def elsewhere(digits: Data) -> Data:
    """The training samples as they are, test samples whose labels are wrong."""
    assert digits.test is not None
    x, y = next(iter(digits.test.batches(digits.test.count)))
    return replace(digits, test=ArraySamples(x, (y + 1) % 10, "test", 10))


def test_certificate_and_verdict_say_it(elsewhere: Data, digits: Data) -> None:
    pact = certify(Pact.read(FILE), elsewhere)
    assert pact.certificate is not None
    assert pact.certificate.contradicted
    verdict = verify(pact, elsewhere)
    assert verdict.agreed
    assert verdict.contradicted
    assert "contradicts" in str(verdict)
    assert verdict.to_json()["contradicted"] is True
    fine = verify(Pact.read(FILE), digits)
    assert fine.agreed
    assert not fine.contradicted
    assert "contradicts" not in str(fine)


def test_without_test_samples_nothing_is_contradicted(digits: Data) -> None:
    pact = certify(Pact.read(FILE), replace(digits, test=None))
    assert pact.certificate is not None
    assert not pact.certificate.contradicted
    assert not verify(pact, replace(digits, test=None)).contradicted


def test_the_command_line_has_an_exit_code_for_it(
    elsewhere: Data, digits: Data, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = write(elsewhere, tmp_path / "data.npz")
    file = Pact.read(FILE).write(tmp_path / "net.pact")
    assert run(["certify", str(file), "--data", str(data)]) == FINE
    assert "contradicts" in "".join(capfd.readouterr())
    assert run(["verify", str(file), "--data", str(data)]) == CONTRADICTED == 3
    assert "contradicts" in "".join(capfd.readouterr())
    # A refusal is a refusal first: nothing is left to contradict.
    assert run(["verify", str(file), "--data", str(write(digits, tmp_path / "other.npz"))]) in (FINE, REFUSED)


def test_a_report_row_says_it() -> None:
    row = Row(name="net", method="", classes=10, parameters=1, message_bytes=9, train_error=0.0, test_error=0.89)
    assert "contradicts" not in error_words(row)
    bounded = replace(row, bound=0.04, code_bits=80)
    assert error_words(bounded).split() == ["89.0", "%", "contradicts"]
    assert "contradicts" not in error_words(replace(bounded, test_error=0.04))
    assert "contradicts" not in error_words(replace(bounded, agreed=False))


def write(data: Data, path: Path) -> Path:
    arrays: dict[str, Any] = {}
    for part, samples in (("train", data.train), ("test", data.test)):
        assert samples is not None
        arrays[f"x_{part}"], arrays[f"y_{part}"] = next(iter(samples.batches(samples.count)))
    np.savez(path, **arrays)
    return path
