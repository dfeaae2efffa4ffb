"""Data-dependent priors: the bound is about the samples that the helper has not seen, and every part is checked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from cli.fresh_process import run_fresh
from priors.conftest import Case

from netpact.certificates import Certificate, Helper, risk_bound
from netpact.coding.format import Pact, measure_message, seal
from netpact.coding.format.message import decode_message, encode_message
from netpact.core.errors import PactError
from netpact.core.json import encode_json
from netpact.core.seed import Seed
from netpact.datasets import Data, Split, set_aside
from netpact.methods import Quantize, QuantizeDifference, compress
from netpact.network import count_errors, trace
from netpact.pacts.certification import certify
from netpact.pacts.priors import Base, base_of, helper_module, open_base, retrain_helper, save_helper, train_helper
from netpact.pacts.verification import verify
from netpact.training import Recipe, TrainOptions


def stated(pact: Pact) -> tuple[Certificate, Helper]:
    assert pact.certificate is not None
    assert pact.certificate.helper is not None
    return pact.certificate, pact.certificate.helper


def forge(case: Case, changes: dict[str, Any] | None = None, **helper: Any) -> Pact:
    certificate, told = stated(case.pact)
    lie = replace(certificate, **(changes or {}), helper=replace(told, **helper))
    return Pact.from_bytes(case.pact.with_certificate(lie).to_bytes())


def plain(base: Base) -> Base:
    """The same network from a file that tells nothing."""
    return Base(base.name, base.tensors)


def test_errors_are_counted_on_what_the_helper_has_not_seen(case: Case) -> None:
    certificate, helper = stated(case.pact)
    seen, others = set_aside(case.data.train, case.recipe.split)
    module = case.pact.to_module(base=case.helper)
    assert (certificate.prior, helper.samples, certificate.samples) == ("data-dependent", 574, 863)
    assert (seen.count, others.count) == (574, 863)
    assert certificate.errors == count_errors(module, others, arithmetic="float32").errors
    assert certificate.data_fingerprint == case.data.train.fingerprint()
    assert (helper.percent, helper.counter, helper.sha256) == (40, 3, case.helper.sha256)
    alone = helper_module(case.helper, case.recipe, case.data)
    assert helper.errors == count_errors(alone, others, arithmetic="float32").errors
    assert helper.bound == risk_bound(errors=helper.errors, samples=863, code_bits=0, delta=0.05)
    assert Recipe.from_json(json.loads(helper.recipe)) == case.recipe


def test_the_helper_never_sees_the_certified_samples(case: Case) -> None:
    """Other inputs and labels there, the same helper bit for bit."""
    _, certified = case.recipe.split.indices(case.data.train.count)
    x, y = (np.concatenate(parts) for parts in zip(*case.data.train.batches(), strict=True))
    x[certified], y[certified] = 1 - x[certified], (y[certified] + 3) % 10
    assert train_helper((x, y), case.recipe).sha256 == case.helper.sha256
    x[~np.isin(np.arange(len(x)), certified)] *= np.float32(0.5)
    assert train_helper((x, y), case.recipe).sha256 != case.helper.sha256


def test_verified_with_the_helper_and_with_the_helper_trained_again(case: Case) -> None:
    pact = Pact.from_bytes(case.pact.to_bytes())
    for base, given in (
        (case.helper, "given the stated helper"),
        (plain(case.helper), "given the stated helper"),
        (retrain_helper(pact, case.data), "with the helper trained again, bit for bit the stated one"),
    ):
        verdict = verify(pact, case.data, base=base)
        assert verdict.agreed, verdict.reasons
        assert str(verdict).startswith(f'agreed, {given}: If the helper network "helper')
        assert "hold-out bound" in str(verdict)
        assert verdict.to_json()["given"] == given
    with pytest.raises(PactError, match=r"encoded against the helper network helper.*--retrain"):
        verify(pact, case.data)
    with pytest.raises(PactError, match="no certificate that names a helper"):
        retrain_helper(pact.with_certificate(None), case.data)


def test_a_helper_that_comes_out_otherwise_is_counted_for_itself(case: Case) -> None:
    """Some last bits differ, as with another version of torch: agreed if its own count allows, and said so."""
    tensors = {name: np.nextafter(array, np.float32(9)) for name, array in case.helper.tensors.items()}
    near = Base("helper", tensors, case.helper.data_fingerprint, case.recipe, retrained=True)
    verdict = verify(case.pact, case.data, base=near)
    assert verdict.agreed, verdict.reasons
    assert "NOT bit for bit" in verdict.given
    far = Base("helper", {name: -array for name, array in case.helper.tensors.items()}, "", case.recipe, retrained=True)
    reasons = " ".join(verify(case.pact, case.data, base=far).reasons)
    assert "errors counted, the certificate says" in reasons
    assert "errors of the helper counted" in reasons
    # Its test errors were never stated; the stated helper's are held against it.
    assert "test errors" not in reasons
    assert "sha256 is" in verify(case.pact, case.data, base=replace(near, retrained=False)).reasons[0]


def test_file_and_data_are_enough_in_a_fresh_process(case: Case, tmp_path: Path) -> None:
    file = case.pact.write(tmp_path / "net.pact")
    command = ("verify", str(file), "--data", "digits", "--retrain", "--threads", "1", "--json")
    done = run_fresh(*command, folder=tmp_path)
    record = json.loads(done.stdout)
    assert record["agreed"] is True
    assert record["given"] == "with the helper trained again, bit for bit the stated one"
    assert record["verified_errors"] == record["errors"]


def other_recipe(case: Case, **changes: Any) -> str:
    return encode_json(replace(case.recipe, **changes).to_json(), where="recipe")


def test_flattering_lies_are_refused(case: Case) -> None:
    certificate, helper = stated(case.pact)
    lower = {"errors": certificate.errors - 1, "near_ties": 0}
    fewer = replace(helper, errors=helper.errors - 1, near_ties=0)
    lies: tuple[tuple[Pact, str], ...] = (
        (forge(case, counter=4), "the split in the message is 40 % by counter 3"),
        (forge(case, percent=39), "the split in the message is"),
        (forge(case, sha256="0" * 64), "the helper network's sha256 is"),
        (forge(case, recipe=other_recipe(case, split=Split(40, 4))), "the split of the recipe is 40 % by counter 4"),
        (forge(case, recipe=other_recipe(case, model="mlp")), "the helper is not what its recipe says"),
        (forge(case, recipe='{"model":"linear"}'), "the keys are not those of this record"),
        (forge(case, samples=575), "the helper has seen 574 samples"),
        (forge(case, errors=fewer.errors, near_ties=0), f"{helper.errors} errors of the helper counted"),
        (forge(case, bound=helper.bound - 1e-4), "the hold-out bound is"),
        (forge(case, {"bound": certificate.bound - 1e-3}), "the exact bound is"),
        (forge(case, lower), "errors counted"),
        (forge(case, {"samples": 1437}), "the number of samples to count on is 863"),
        (
            case.pact.with_certificate(
                replace(
                    certificate,
                    prior="transfer",
                    helper=None,
                    order="",
                    base_name="b",
                    base_sha256=case.helper.sha256,
                )
            ),
            "the kind of prior is data-dependent, the certificate says transfer",
        ),
    )
    for pact, reason in lies:
        verdict = verify(pact, case.data, base=plain(case.helper))
        assert not verdict.agreed
        assert any(reason in given for given in verdict.reasons), (reason, verdict.reasons)


def test_a_tampered_recipe_does_not_survive_training_again(case: Case) -> None:
    for changes, reason in (
        ({"options": TrainOptions(epochs=1, learning_rate=1e-5)}, "errors counted"),
        ({"options": replace(case.recipe.options, seed=Seed(9)), "split": Split(40, 5)}, "it was trained on 40 %"),
    ):
        pact = forge(case, recipe=other_recipe(case, **changes))
        verdict = verify(pact, case.data, base=retrain_helper(pact, case.data))
        assert any(reason in given for given in verdict.reasons), verdict.reasons
    pact = forge(case, recipe=other_recipe(case, netpact_version="9.9"))
    assert "the recipe in the helper's file is not" in verify(pact, case.data, base=case.helper).reasons[0]


def test_wrong_helpers_are_refused(case: Case) -> None:
    other = replace(case.recipe, split=Split(40, 4))
    wrong_split = replace(case.helper, recipe=other)
    message = Pact(case.pact.message)
    with pytest.raises(PactError, match="it was trained on 40 % by counter 4, the message says 40 % by counter 3"):
        certify(message, case.data, base=wrong_split)
    assert "by counter 4" in verify(case.pact, case.data, base=wrong_split).reasons[0]
    with pytest.raises(PactError, match="this base has no recipe"):
        certify(message, case.data, base=plain(case.helper))
    elsewhere = replace(case.helper, data_fingerprint="sha256:00")
    with pytest.raises(PactError, match="a helper for the training data sha256:00"):
        certify(message, case.data, base=elsewhere)
    with pytest.raises(PactError, match="a part of the sample itself"):
        certify(message, case.data, base=case.helper, base_data=case.data.train)
    with pytest.raises(PactError, match="a part of the sample itself"):
        verify(case.pact, case.data, base=case.helper, base_data=case.data.train)


def test_a_helper_is_no_base_from_other_data(case: Case) -> None:
    """The split left out of the message would let the bound count on samples that the helper was trained on."""
    compressed = replace(compress(trace(case.network, case.data), QuantizeDifference(case.helper)), split=None)
    with pytest.raises(PactError, match="base helper: it was trained on the data of this certificate"):
        certify(seal(compressed), case.data, base=case.helper)


def test_the_split_is_in_the_message_and_counted(case: Case) -> None:
    compressed = case.pact.decode()
    assert compressed.split == Split(40, 3)
    cost = dict(measure_message(compressed))["part of the sample that the base has seen"]
    assert cost == 1 + 7 + 5  # the kind of prior, the percentage, Elias gamma of 4
    without = replace(compressed, split=None)
    assert decode_message(encode_message(without)).split is None
    assert measure_message(without)[-1][1] == 1
    lengths = {len(encode_message(replace(compressed, split=Split(40, counter)))) for counter in (0, 2**32 - 2)}
    assert max(lengths) - min(lengths) == 8
    hostile: Any = SimpleNamespace(percent=120, counter=0)
    with pytest.raises(PactError, match=r"message, percent: must be an integer from 1 to 99, got 120"):
        decode_message(encode_message(replace(compressed, split=hostile)))
    absolute = compress(trace(case.network, case.data), Quantize())
    with pytest.raises(PactError, match="only a network encoded against a base has a split"):
        replace(absolute, split=Split())


def test_a_helper_told_as_it_is_costs_next_to_nothing(case: Case) -> None:
    alone = helper_module(case.helper, case.recipe, case.data)
    pact = certify(
        seal(compress(trace(alone, case.data), QuantizeDifference(case.helper))), case.data, base=case.helper
    )
    certificate, helper = stated(pact)
    assert len(pact.message) <= 8
    assert certificate.errors == helper.errors
    assert certificate.beats_hold_out is False
    assert "does NOT beat it" in certificate.sentence()
    for one, other in zip(pact.to_module(base=case.helper).parameters(), alone.parameters(), strict=True):
        assert torch.equal(one, other)


def test_helper_files(case: Case, tmp_path: Path) -> None:
    path = save_helper(case.helper, case.data, tmp_path / "helper.safetensors")
    opened = open_base(path)
    assert (opened.sha256, opened.recipe, opened.name) == (case.helper.sha256, case.recipe, "helper")
    assert opened.data_fingerprint == case.data.train.fingerprint()
    assert verify(case.pact, case.data, base=opened).agreed
    with pytest.raises(PactError, match="only a network with a recipe"):
        save_helper(plain(case.helper), case.data, tmp_path / "x.safetensors")
    for told in ({"recipe": case.recipe.to_json()}, {"recipe": {}, "data_fingerprint": "a"}, 3):
        path.write_bytes(_with_note(case, told))
        with pytest.raises(PactError, match=r"keys are not those of this record|must be a JSON object"):
            open_base(path)


def _with_note(case: Case, told: object) -> bytes:
    from netpact.models.tensors import pack_tensors, state_of

    module = helper_module(case.helper, case.recipe, case.data)
    architecture: Any = module.netpact_architecture
    return pack_tensors(state_of(module), {"architecture": architecture.to_json(), "helper": told})


def test_the_original_network_beside_a_data_dependent_certificate(case: Case) -> None:
    from netpact.pacts.originals import certify_original, verify_original

    x, _ = next(iter(case.data.test.batches(360))) if case.data.test else (None, None)
    bare = Data("digits", 10, case.data.train)
    pact = case.pact.with_original(certify_original(case.pact, case.network, bare, x, base=case.helper))
    verdict = verify_original(pact, case.network, bare, x, base=case.helper)
    assert verdict.agreed, verdict.reasons
    assert verdict.given == "given the stated helper"
    assert "863 training samples" in str(verdict)


def test_base_of_keeps_the_recipe(case: Case) -> None:
    module = helper_module(case.helper, case.recipe, case.data)
    assert base_of(module, name="h", recipe=case.recipe).recipe == case.recipe
