"""Decoding a large file takes long: each verb decodes and re-encodes the message once.

The header is read once before that; the network is built, and copies among the samples are looked for, once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

from netpact.cli.app import run
from netpact.coding.format import Pact, loading, message, pact, seal
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data, Split, load_data
from netpact.methods import Quantize, QuantizeDifference, compress
from netpact.models import build, parse_model, save_weights
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.originals import certify_box, certify_original, verify_box, verify_original
from netpact.pacts.priors import Base, base_of, ground, helper_module, train_helper
from netpact.pacts.verification import verify
from netpact.training import Recipe, TrainOptions


@dataclass(frozen=True, eq=False)
class Case:
    """A file, what it was made from, and what has to be given with it."""

    pact: Pact
    data: Data
    original: nn.Module
    model: type[nn.Module] | None = None
    base: Base | None = None

    @property
    def given(self) -> dict[str, Any]:
        return {"model": self.model, "base": self.base}


class Own(nn.Sequential):
    def __init__(self, classes: int = 10) -> None:
        super().__init__(nn.Flatten(), nn.Linear(64, classes))


@pytest.fixture(scope="module")
def few(digits: Data) -> Data:
    x, y = next(iter(digits.train.batches(300)))
    return Data("few", 10, ArraySamples(x, y, "few", 10))


@pytest.fixture(scope="module", params=["ours", "own module", "helper"])
def case(few: Data, request: pytest.FixtureRequest) -> Case:
    if request.param == "own module":
        original: nn.Module = Own()
        return Case(seal(compress(trace(original, few), Quantize(bits=6))), few, original, model=Own)
    if request.param == "helper":
        recipe = Recipe("linear", TrainOptions(epochs=1), Split(percent=40, counter=3))
        helper = train_helper(few, recipe)
        original = helper_module(helper, recipe, few)
        compressed = compress(trace(original, few), QuantizeDifference(helper, bits=6))
        return Case(seal(compressed), few, original, base=helper)
    original = build(parse_model("linear", input_shape=few.input_shape, classes=10))
    return Case(seal(compress(trace(original, few), Quantize(bits=6))), few, original)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counted: Counter[str] = Counter()

    def count(home: object, name: str) -> None:
        inner = getattr(home, name)

        def outer(*given: Any, **named: Any) -> Any:
            counted[name] += 1
            return inner(*given, **named)

        monkeypatch.setattr(home, name, outer)

    count(pact, "decode_message")
    count(pact, "peek_header")
    count(message, "_code_header")
    count(loading, "load_module")
    count(ground, "find_copies")
    return counted


def once(case: Case) -> dict[str, int]:
    """The header stands in what is peeked at, decoded and encoded again; a user's module is made and filled twice."""
    fills = 1 if case.model is None else 2
    return {"decode_message": 1, "peek_header": 1, "_code_header": 3, "load_module": fills, "find_copies": 1}


def test_certify_and_verify_open_the_file_once(case: Case, calls: Counter[str]) -> None:
    certified = certify(case.pact, case.data, **case.given)
    assert calls == once(case)
    calls.clear()
    assert verify(certified, case.data, **case.given).agreed
    assert calls == once(case)


def test_a_statement_about_the_original_by_fresh_inputs_opens_the_file_once(case: Case, calls: Counter[str]) -> None:
    fresh = np.random.default_rng(0).random((40, *case.data.input_shape), dtype=np.float32)
    certified = certify(case.pact, case.data, **case.given)
    calls.clear()
    stated = certify_original(certified, case.original, case.data, fresh, **case.given)
    assert calls == once(case)
    calls.clear()
    verdict = verify_original(certified.with_original(stated), case.original, case.data, fresh, **case.given)
    assert verdict.agreed, verdict.reasons
    assert calls == once(case)


def test_a_statement_about_the_original_by_a_box_opens_the_file_once(case: Case, calls: Counter[str]) -> None:
    certified = certify(case.pact, case.data, **case.given)
    calls.clear()
    stated = certify_box(certified, case.original, case.data, **case.given)
    assert calls == once(case)
    calls.clear()
    verdict = verify_box(certified.with_original(stated), case.original, case.data, **case.given)
    assert verdict.agreed, verdict.reasons
    assert calls == once(case)


def test_a_statement_that_cannot_be_true_is_refused_without_decoding(case: Case, calls: Counter[str]) -> None:
    certificate = certify(case.pact, case.data, **case.given).certificate
    assert certificate is not None
    calls.clear()
    assert not verify(
        case.pact.with_certificate(replace(certificate, message_sha256="0" * 64)), case.data, **case.given
    ).agreed
    assert calls == {"peek_header": 1, "_code_header": 1}


def test_a_file_without_a_certificate_is_not_even_looked_into(few: Data, calls: Counter[str]) -> None:
    assert verify(Pact(b"no message at all"), few).reasons == ("the file has no certificate",)
    assert not calls


def test_a_function_that_makes_another_shape_the_second_time_is_refused(few: Data) -> None:
    """Both modules are filled from the message as it was decoded for the first."""
    sizes = iter([10, 10, 12])

    def changing() -> nn.Module:
        return Own(next(sizes))

    sealed = seal(compress(trace(changing(), few), Quantize(bits=6)))
    with pytest.raises(PactError, match=r"message and module differ in 1\.bias, 1\.weight"):
        certify(sealed, few, model=changing)


def test_a_users_own_module_without_a_base_takes_none(few: Data) -> None:
    sealed = seal(compress(trace(Own(), few), Quantize(bits=6)))
    for statement in (sealed, certify(sealed, few, model=Own)):
        verb = certify if statement is sealed else verify
        with pytest.raises(PactError, match="this message needs no base network"):
            verb(statement, few, model=Own, base=base_of(Own(), name="other"))


def test_the_command_shares_what_it_opened_between_both_statements(tmp_path: Path, calls: Counter[str]) -> None:
    data = load_data("digits")
    original = build(parse_model("linear", input_shape=data.input_shape, classes=10))
    weights = str(save_weights(original, tmp_path / "linear.safetensors"))
    file = str(seal(compress(trace(original, data), Quantize(bits=6))).write(tmp_path / "linear.pact"))
    fresh = str(tmp_path / "fresh.npz")
    np.savez(fresh, x=np.random.default_rng(0).random((40, *data.input_shape), dtype=np.float32))
    for more in ([], ["--unlabelled", fresh]):
        calls.clear()
        assert run(["certify", file, "--data", "digits", "--original", weights, *more]) == 0
        assert (calls["decode_message"], calls["load_module"]) == (1, 1)
        assert run(["verify", file, "--data", "digits", "--original", weights, *more]) == 0
