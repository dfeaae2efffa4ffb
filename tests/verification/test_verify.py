"""verify: agrees with what is true, from the file and the data alone; refuses everything else, with the reason."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import netpact
from netpact.certificates import Certificate, code_bits, risk_bound
from netpact.coding.format import Pact
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.pacts import certification
from netpact.pacts.certification import certify
from netpact.pacts.verification import recount, verify

_FRESH = """
import json, sys
from netpact import Pact, verify
print(json.dumps(verify(Pact.read(sys.argv[1]), "digits").to_json()))
"""


def stated(pact: Pact) -> Certificate:
    assert pact.certificate is not None
    return pact.certificate


def rewrite(pact: Pact, **changes: Any) -> Pact:
    """The container written anew around a changed statement, and read back: the checksum is no obstacle to a liar."""
    return Pact.from_bytes(pact.with_certificate(replace(stated(pact), **changes)).to_bytes())


def test_an_honest_file_is_agreed(certified: Pact, digits: Data) -> None:
    verdict = verify(Pact.from_bytes(certified.to_bytes()), digits)
    assert verdict.agreed, verdict.reasons
    assert verdict.counted == stated(certified).errors
    assert verdict.own_bound == pytest.approx(stated(certified).bound, abs=1e-9)
    assert verdict.test_error == stated(certified).test_error
    assert str(verdict) == f"agreed: {stated(certified).sentence()}"


def test_a_fresh_process_agrees_from_file_and_data_alone(certified: Pact, tmp_path: Path) -> None:
    path = certified.write(tmp_path / "linear.pact")
    done = subprocess.run(
        [sys.executable, "-c", _FRESH, str(path)],
        env={"PYTHONPATH": str(Path(netpact.__file__).parents[1]), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["agreed"], verdict["reasons"]
    assert verdict["verified_errors"] == stated(certified).errors
    assert verdict["bound"] == stated(certified).bound


def hexadecimal(text: str) -> str:
    return text[:-1] + ("0" if text[-1] != "0" else "1")


FLATTERING: dict[str, tuple[Any, str]] = {
    "bound": (lambda c: {"bound": c.bound - 1e-6}, "the exact bound is"),
    "kl_bound": (lambda c: {"kl_bound": c.kl_bound - 1e-6}, "the kl bound is"),
    "hoeffding_bound": (lambda c: {"hoeffding_bound": c.hoeffding_bound - 1e-6}, "the hoeffding bound is"),
    "errors": (lambda c: {"errors": c.errors - 1, "near_ties": 0}, "errors counted, the certificate says"),
    "samples": (lambda c: {"samples": c.samples + 100}, "training samples, the certificate says"),
    "samples fewer": (lambda c: {"samples": c.samples - 100}, "training samples, the certificate says"),
    "code_bits": (lambda c: {"code_bits": c.code_bits - 8}, "code_bits"),
    "message_bytes": (lambda c: {"message_bytes": c.message_bytes - 10}, "code_bits"),
    "bytes and bits": (
        lambda c: {"message_bytes": c.message_bytes - 10, "code_bits": code_bits(c.message_bytes - 10)},
        "the number of bytes is",
    ),
    "delta": (lambda c: {"delta": c.delta / 10}, "the exact bound is"),
    "message_sha256": (lambda c: {"message_sha256": hexadecimal(c.message_sha256)}, "the message's sha256 is"),
    "data_fingerprint": (lambda c: {"data_fingerprint": hexadecimal(c.data_fingerprint)}, "data's fingerprint is"),
    "arithmetic": (lambda c: {"arithmetic": "float64"}, "the arithmetic is float32"),
    "prior": (lambda c: {"prior": "conditional", "module": "mine:net"}, "the kind of prior is data-free"),
    "classes": (lambda c: {"classes": 9}, "the number of classes is 10"),
    "decoder_version": (lambda c: {"decoder_version": 0}, "the decoder version is"),
    "test_errors": (lambda c: {"test_errors": c.test_errors - 1}, "test errors counted, the certificate says"),
    "test_samples": (lambda c: {"test_samples": c.test_samples * 10}, "the number of test samples is"),
    "test_fingerprint": (
        lambda c: {"test_errors": 0, "test_fingerprint": hexadecimal(c.test_fingerprint)},
        "the test data's fingerprint is",
    ),
    "form": (lambda c: {"form": "hoeffding"}, "bound"),
    "all at once": (
        lambda c: {
            "errors": 0,
            "near_ties": 0,
            **{
                name: risk_bound(errors=0, samples=c.samples, code_bits=c.code_bits, delta=c.delta, form=form)
                for name, form in (("bound", "exact"), ("kl_bound", "kl"), ("hoeffding_bound", "hoeffding"))
            },
        },
        "errors counted, the certificate says 0",
    ),
}


# Fields that contradict each other: the record cannot even be made.
CONTRADICTORY = {"code_bits", "message_bytes", "form"}


@pytest.mark.parametrize("name", FLATTERING)
def test_every_flattering_lie_is_refused(certified: Pact, digits: Data, name: str) -> None:
    """Either the record itself cannot be made, or the verdict names what is false."""
    change, reason = FLATTERING[name]
    changes = change(stated(certified))
    if name in CONTRADICTORY:
        with pytest.raises(PactError, match=reason):
            rewrite(certified, **changes)
        return
    forged = rewrite(certified, **changes)
    verdict = verify(forged, digits)
    assert not verdict.agreed
    assert any(reason in given for given in verdict.reasons), verdict.reasons
    assert str(verdict).startswith("refused: ")
    assert verdict.to_json()["agreed"] is False


@pytest.mark.parametrize(
    "change",
    [
        lambda c: {"bound": 1.0},
        lambda c: {"hoeffding_bound": 1.0},
        lambda c: {"test_errors": c.test_errors + 3},
        lambda c: {"delta": c.delta * 2},
        lambda c: {
            "errors": c.errors + 5,
            **{
                name: risk_bound(
                    errors=c.errors + 5, samples=c.samples, code_bits=c.code_bits, delta=c.delta, form=form
                )
                for name, form in (("bound", "exact"), ("kl_bound", "kl"), ("hoeffding_bound", "hoeffding"))
            },
        },
    ],
)
def test_a_looser_statement_is_honest(certified: Pact, digits: Data, change: Any) -> None:
    verdict = verify(rewrite(certified, **change(stated(certified))), digits)
    assert verdict.agreed, verdict.reasons


def test_no_certificate(pact: Pact, digits: Data) -> None:
    verdict = verify(pact, digits)
    assert (verdict.agreed, verdict.reasons) == (False, ("the file has no certificate",))
    assert verdict.to_json()["verified_errors"] is None


def test_another_message_under_the_same_certificate(certified: Pact, digits: Data) -> None:
    other = Pact(b"\x00" + certified.message[1:], certified.certificate)
    with pytest.raises(PactError):
        verify(other, digits)
    longer = Pact(certified.message + b"\x00", certified.certificate)
    assert not verify(longer, digits).agreed


def test_other_data_are_refused(certified: Pact, digits: Data) -> None:
    assert digits.test is not None
    verdict = verify(certified, Data("swapped", 10, digits.test, digits.train))
    assert not verdict.agreed
    assert "the training data's fingerprint" in verdict.reasons[0]
    assert verdict.counted is None


def test_one_changed_label_is_refused(certified: Pact, digits: Data) -> None:
    x, y = next(iter(digits.train.batches(digits.train.count)))
    y[17] = (y[17] + 1) % 10
    verdict = verify(certified, ArraySamples(x, y, "changed", 10))
    assert not verdict.agreed
    assert "fingerprint" in str(verdict)


def test_the_same_training_data_without_a_test_part(certified: Pact, digits: Data) -> None:
    """The bound needs no test data; the stated test error is then neither confirmed nor denied."""
    verdict = verify(certified, digits.train)
    assert verdict.agreed
    assert verdict.test_error is None


def test_data_that_do_not_fit_are_refused(certified: Pact) -> None:
    verdict = verify(certified, (np.zeros((20, 1, 9, 9), dtype=np.float32), np.arange(20) % 7))
    assert not verdict.agreed
    assert any("the number of classes is 7" in reason for reason in verdict.reasons)


def test_the_two_counts_are_independent_and_equal(
    pact: Pact, certified: Pact, digits: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If certify counted wrongly, verify would not follow it."""

    def kind(module: object, samples: Any, **options: object) -> object:
        from netpact.network import ErrorCount

        return ErrorCount(0, 0, samples.count)

    monkeypatch.setattr(certification, "count_errors", kind)
    verdict = verify(certify(pact, digits), digits)
    assert not verdict.agreed
    assert verdict.counted == stated(certified).errors


@pytest.mark.parametrize("size", [1, 7, 2000])
def test_the_verifier_counts_the_same_in_every_batch_size(
    certified: Pact, digits: Data, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recount, "_BATCH", size)
    verdict = verify(certified, digits.train)
    assert verdict.counted == stated(certified).errors


def test_the_verifier_takes_ties_and_near_ties_for_errors() -> None:
    """The network is the identity; the logits are small whole numbers, so ties abound."""
    values = np.random.default_rng(0).integers(-1, 2, (400, 3)).astype(np.float32)
    labels = np.random.default_rng(1).integers(0, 3, 400)
    layer = nn.Linear(3, 3, bias=False)
    layer.weight.data.copy_(torch.eye(3))
    values[0], labels[0] = [1.0, np.nextafter(np.float32(1), np.float32(0)), 0.0], 0
    wrong = sum(any(row[j] >= row[y] for j in range(3) if j != y) for row, y in zip(values, labels, strict=True))
    samples = ArraySamples(values, labels, "ties", 3)
    assert recount.count_anew(layer, samples, "float32") == (wrong + 1, 400, 1, 0)
    assert recount.count_anew(layer, samples, "float64") == (wrong, 400, 0, 0)


def test_progress(certified: Pact, digits: Data) -> None:
    calls: list[tuple[int, int]] = []
    verify(certified, digits.train, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (digits.train.count, digits.train.count)
