"""The record: what it says, what it refuses, and JSON there and back."""

import json
import math
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest

from netpact.certificates import Certificate, Helper, Program, code_bits, risk_bound
from netpact.core.errors import PactError
from netpact.network.rounding import pointwise


def make(**changes: Any) -> Certificate:
    counts: dict[str, Any] = {"errors": 43, "samples": 1437, "code_bits": code_bits(100)}
    values: dict[str, Any] = {
        **counts,
        "bound": risk_bound(**counts, delta=0.05),
        "kl_bound": risk_bound(**counts, delta=0.05, form="kl"),
        "hoeffding_bound": risk_bound(**counts, delta=0.05, form="hoeffding"),
        "form": "exact",
        "delta": 0.05,
        "message_bytes": 100,
        "message_sha256": "0123456789abcdef" * 4,
        "prior": "data-free",
        "arithmetic": "float32",
        "data_name": "digits",
        "data_fingerprint": "sha256:ab",
        "classes": 10,
        "near_ties": 2,
        "decoder_version": 1,
        "netpact_version": "0.1.0",
    }
    return Certificate(**values | changes)


TESTED = {"test_errors": 12, "test_samples": 360, "test_fingerprint": "sha256:cd"}
CONDITIONAL = {"prior": "conditional", "module": "my.Net"}
BASE = {"base_name": "ground", "base_sha256": "ab" * 32, "base_data_fingerprint": "sha256:ef"}
TRANSFER = {"prior": "transfer", **BASE}
HELPER = Helper(
    name="half",
    sha256="cd" * 32,
    recipe='{"model":"linear"}',
    percent=50,
    counter=3,
    samples=718,
    errors=40,
    near_ties=1,
    bound=0.9,
)
DEPENDENT = {"prior": "data-dependent", "helper": HELPER}
PROGRAM = Program(torch="2.13.0+cpu", machine="x86_64 AVX512", onednn=True, rows=32, tolerance=1e-4)
AS_RUN = {"arithmetic": "as-run", "program": PROGRAM, "near_ties": 99}
EXAMPLES = [
    make(),
    make(**AS_RUN),
    make(**DEPENDENT),
    make(copies=7),
    make(copies=7, repeats=True, **TRANSFER),
    make(**TESTED),
    make(**CONDITIONAL),
    make(**TRANSFER),
    make(**TESTED, **CONDITIONAL, arithmetic="float64", bound=0.9),
]


def test_the_rates() -> None:
    certificate = make(**TESTED)
    assert certificate.kind == "certificate"
    assert certificate.train_error == 43 / 1437
    assert certificate.test_error == 12 / 360
    assert make().test_error is None


def test_the_sentence_rounds_the_error_up_and_the_confidence_down() -> None:
    assert make(bound=0.41101).sentence() == (
        "With probability at least 95 % over the draw of the 1,437 training samples, the network in this file errs on "
        "at most 41.2 % of new samples from the same distribution."
    )
    assert "at most 41.2 %" in make(bound=0.412).sentence()
    assert "at most 100.0 %" in make(bound=0.99901).sentence()
    assert "at least 99.9 %" in make(delta=0.001).sentence()
    assert "at least 99.9999999999 %" in make(delta=1e-20).sentence()
    assert "at least 66.6666666666 %" in make(delta=1 / 3).sentence()


def test_a_conditional_certificate_never_sounds_unconditional() -> None:
    certificate = make(**CONDITIONAL)
    assert certificate.sentence().startswith(
        'If the module "my.Net" (its code is not identified) was fixed before the data, with probability'
    )
    assert any(
        '"my.Net" (its code is not identified) was fixed before the data' in premise
        for premise in certificate.assumptions
    )
    assert any("my.Net" in declared for declared in certificate.declarations)
    assert not any("module" in premise for premise in make().assumptions)


def test_a_data_dependent_certificate_is_never_told_without_its_hold_out_bound() -> None:
    better, worse = make(**DEPENDENT), make(prior="data-dependent", helper=replace(HELPER, bound=0.06))
    assert (better.beats_hold_out, worse.beats_hold_out, make().beats_hold_out) == (True, False, None)
    assert "hold-out" not in make().sentence()
    for certificate, words in (
        (better, "90.0 %: this certificate beats it"),
        (worse, "6.0 %: this certificate does NOT"),
    ):
        said = certificate.sentence()
        assert said.startswith(
            'If the order of the samples was not chosen by looking at them, and the helper network "half" was computed '
            "from 718 other samples alone, with probability"
        )
        assert "the 1,437 training samples that it has not seen" in said
        assert words in said
        assert "costs one bit" in said
        assert any("without looking at the 1,437 certified samples" in text for text in certificate.declarations)
        assert any("50 % of the training data, drawn by counter 3" in text for text in certificate.assumptions)
        assert any("fixed before the data were looked at" in text for text in certificate.assumptions)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"name": ""}, "helper, name"),
        ({"sha256": "cd"}, "helper, sha256"),
        ({"recipe": "{"}, "helper, recipe"),
        ({"recipe": '{"a": 1}'}, "helper, recipe"),
        ({"recipe": '{"a":NaN}'}, "helper, recipe['a']"),
        ({"recipe": {"a": 1}}, "helper, recipe"),
        ({"percent": 0}, "helper, percent"),
        ({"percent": 100}, "helper, percent"),
        ({"counter": -1}, "helper, counter"),
        ({"samples": 0}, "helper, samples"),
        ({"errors": 1438}, "helper, errors"),
        ({"errors": True}, "helper, errors"),
        ({"near_ties": 41}, "helper, near_ties"),
        ({"bound": 0.02}, "helper, bound"),
        ({"bound": 1.5}, "helper, bound"),
        ({"bound": math.nan}, "helper, bound"),
    ],
)
def test_bad_values_about_the_helper_are_refused_by_name(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(PactError) as caught:
        make(prior="data-dependent", helper=replace(HELPER, **changes))
    assert caught.value.where == where


def test_a_helper_and_its_prior_go_together() -> None:
    for changes in ({"helper": HELPER}, {"prior": "data-dependent"}, {"prior": "transfer", **BASE, "helper": HELPER}):
        with pytest.raises(PactError) as caught:
            make(**changes)
        assert caught.value.where == "prior"
    content = make(**DEPENDENT).to_json()
    for damage in (3, {"name": "half"}, {**HELPER.to_json(), "recipe": "linear"}, {**HELPER.to_json(), "extra": 1}):
        with pytest.raises(PactError, match="helper"):
            Certificate.from_json(content | {"helper": damage})


def test_theorem_and_premises_name_what_they_rest_on() -> None:
    certificate = make(decoder_version=7, arithmetic="float64")
    assert "Langford 2005" in certificate.theorem
    assert "Arora et al. 2018, Theorem 2.1" in certificate.theorem
    premises = " ".join(certificate.assumptions)
    for words in (
        "drawn independently",
        "Decoder version 7",
        "delta = 0.05",
        "float64, its sums of products in any order",
        "no TF32",
        f"accurate to {pointwise.ULPS} units",
        "flushed to zero",
        "Winograd",
    ):
        assert words in premises
    assert "Hoeffding" in make(form="hoeffding", bound=certificate.hoeffding_bound).theorem


@pytest.mark.parametrize("certificate", EXAMPLES)
def test_there_and_back_is_the_same_certificate(certificate: Certificate) -> None:
    content = certificate.to_json()
    assert Certificate.from_json(content) == certificate
    assert Certificate.from_json(json.dumps(content)) == certificate
    assert Certificate.from_json(json.dumps(content)).to_json() == content
    held = {"kind", "train_error", "test_error", "theorem", "assumptions", "declarations"}
    grouped = {name for group in Certificate.layout.groups.values() for name in group.values()}
    held |= {field.name for field in fields(certificate)} - {"helper", "program", *grouped}
    assert ("copies" in content) == bool(certificate.copies or certificate.repeats)
    assert ("base" in content) == (certificate.prior == "transfer")
    assert ("helper" in content) == (certificate.prior == "data-dependent")
    assert ("program" in content) == certificate.as_run == (content["kind"] == "certificate as run")
    assert held <= set(content)
    assert content["data"] == {"name": "digits", "fingerprint": "sha256:ab"}


def test_numpy_numbers_become_plain_ones() -> None:
    certificate = make(errors=np.int64(43), samples=np.int32(1437), bound=np.float64(0.5), **TESTED)
    assert type(certificate.errors) is int
    assert type(certificate.bound) is float
    assert json.loads(json.dumps(certificate.to_json()))["errors"] == 43


def test_the_record_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        make().bound = 0.1  # type: ignore[misc]


def test_the_test_error_is_no_part_of_the_bound() -> None:
    assert make(**TESTED).bound == replace(make(**TESTED), test_errors=360).bound == make().bound


BAD_VALUES: list[tuple[str, object]] = [
    ("bound", math.nan),
    ("bound", 1.5),
    ("bound", 0.01),
    ("bound", "0.4"),
    ("bound", True),
    ("bound", 10**400),
    ("kl_bound", -0.1),
    ("hoeffding_bound", math.inf),
    ("form", "best"),
    ("form", ["exact"]),
    ("prior", "data-dependent"),
    ("prior", None),
    ("arithmetic", "bfloat16"),
    ("delta", 0),
    ("delta", 1),
    ("errors", -1),
    ("errors", 43.0),
    ("errors", 2000),
    ("samples", True),
    ("samples", 0),
    ("code_bits", 0),
    ("code_bits", code_bits(100) - 1),
    ("message_bytes", 99),
    ("message_bytes", -1),
    ("message_sha256", "0123"),
    ("message_sha256", "G" * 64),
    ("message_sha256", "0123456789abcdef" * 4 + "\n"),
    ("classes", 1),
    ("near_ties", 44),
    ("decoder_version", -1),
    ("netpact_version", ""),
    ("module", 3),
    ("module", "my.Net"),
    ("test_samples", 100),
    ("test_fingerprint", "sha256:cd"),
]


@pytest.mark.parametrize(("name", "value"), BAD_VALUES)
def test_bad_values_are_refused_by_name_at_construction_and_in_json(name: str, value: object) -> None:
    named = {"message_bytes": ("message_bytes", "code_bits"), "module": ("module", "prior")}.get(
        name, (name, "test_samples")
    )
    with pytest.raises(PactError) as caught:
        make(**{name: value})
    assert caught.value.where in named
    with pytest.raises(PactError) as caught:
        Certificate.from_json(make().to_json() | {name: value})
    assert caught.value.where in named


@pytest.mark.parametrize(
    ("inner", "where"),
    [
        ({"number": -1, "repeats": False}, "copies"),
        ({"number": True, "repeats": False}, "copies"),
        ({"number": 1438, "repeats": True}, "copies"),
        ({"number": 1, "repeats": 1}, "repeats"),
        ({"number": 1}, "copies"),
    ],
)
def test_bad_values_about_copies_are_refused_by_name(inner: dict[str, object], where: str) -> None:
    with pytest.raises(PactError) as caught:
        Certificate.from_json(make().to_json() | {"copies": inner})
    assert caught.value.where == where


def test_nan_in_json_text_is_refused_by_key() -> None:
    for key in ("bound", "delta", "errors", "train_error", "test_errors"):
        with pytest.raises(PactError) as caught:
            Certificate.from_json(json.dumps(make().to_json() | {key: math.nan}))
        assert caught.value.where == f"certificate['{key}']"


def test_a_conditional_prior_needs_a_module_name() -> None:
    with pytest.raises(PactError, match="prior"):
        make(prior="conditional")


def test_the_form_and_its_bound_go_together() -> None:
    for form in ("kl", "hoeffding"):
        with pytest.raises(PactError, match="bound"):
            make(form=form)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kind", "estimate"),
        ("train_error", 0.0),
        ("train_error", False),
        ("test_error", 0.01),
    ],
)
def test_what_is_derived_must_agree(key: str, value: object) -> None:
    with pytest.raises(PactError) as caught:
        Certificate.from_json(make().to_json() | {key: value})
    assert caught.value.where == key


@pytest.mark.parametrize("key", ["theorem", "sentence", "assumptions", "declarations"])
def test_words_are_made_anew_and_never_taken_from_a_file(key: str) -> None:
    certificate = make()
    read = Certificate.from_json(certificate.to_json() | {key: "It never errs."})
    assert read == certificate
    assert read.to_json() == certificate.to_json()


def test_a_truth_value_is_not_a_rate() -> None:
    certificate = make(errors=1437, bound=1.0, kl_bound=1.0, hoeffding_bound=1.0)
    with pytest.raises(PactError, match="train_error"):
        Certificate.from_json(certificate.to_json() | {"train_error": True})


def test_unknown_and_missing_keys_are_named() -> None:
    content = make().to_json()
    with pytest.raises(PactError, match="duplicate key: bound"):
        Certificate.from_json(json.dumps(content)[:-1] + ', "bound": 0.9}')
    with pytest.raises(PactError, match="unknown: extra"):
        Certificate.from_json(content | {"extra": 1})
    for key in content:
        with pytest.raises(PactError, match=f"missing: {key}"):
            Certificate.from_json({name: value for name, value in content.items() if name != key})
    with pytest.raises(PactError, match=r"data: .*missing: fingerprint"):
        Certificate.from_json(content | {"data": {"name": "digits"}})
    with pytest.raises(PactError, match="data: "):
        Certificate.from_json(content | {"data": "digits"})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "3",
        "{",
        '{"kind": "certificate", "kind": "certificate"}',
        "[" * 100_000,
        '{"errors": ' + "9" * 5000 + "}",
    ],
)
def test_text_that_is_no_certificate_is_refused(text: str) -> None:
    with pytest.raises(PactError, match="certificate"):
        Certificate.from_json(text)


def test_the_folder_does_not_import_torch() -> None:
    code = "import sys, netpact.certificates; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
