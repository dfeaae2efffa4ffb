"""Networks told relative to a base: the base is supplied, named, from other data, and nothing else passes for it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from netpact.certificates import Certificate
from netpact.cli.app import run
from netpact.coding.format import Pact, seal
from netpact.coding.forms import Relative
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data, Samples
from netpact.methods import Quantize, compress
from netpact.methods.relative import QuantizeDifference
from netpact.models import build, parse_model, save_weights
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.priors import Base, base_of, open_base
from netpact.pacts.verification import verify
from netpact.training import TrainOptions, train


@dataclass(frozen=True, eq=False)
class Case:
    """A base trained on the first samples, a network trained further on the others, the file that tells it."""

    base_module: nn.Module
    base: Base
    base_data: ArraySamples
    data: Data
    network: nn.Module
    pact: Pact


@pytest.fixture(scope="module")
def case(digits: Data) -> Case:
    x, y = next(iter(digits.train.batches(digits.train.count)))
    others = ArraySamples(x[:900], y[:900], "others", 10)
    data = Data("sample", 10, ArraySamples(x[900:], y[900:], "sample train", 10), digits.test)
    start = build(parse_model("linear", input_shape=data.input_shape, classes=10))
    module = train(start, others, TrainOptions(epochs=20, learning_rate=0.02)).module
    further = train(module, data.train, TrainOptions(epochs=2, learning_rate=0.001)).module
    base = base_of(module, name="ground")
    pact = seal(compress(trace(further, data), QuantizeDifference(base, bits=2)))
    return Case(module, base, others, data, further, certify(pact, data, base=base, base_data=others))


def stated(pact: Pact) -> Certificate:
    assert pact.certificate is not None
    return pact.certificate


def forge(case: Case, **changes: Any) -> Pact:
    return Pact.from_bytes(case.pact.with_certificate(replace(stated(case.pact), **changes)).to_bytes())


def test_the_base_makes_the_bound_small_and_is_named(case: Case) -> None:
    certificate = stated(case.pact)
    assert (certificate.prior, certificate.base_sha256) == ("transfer", case.base.sha256)
    assert certificate.base_data_fingerprint == case.base_data.fingerprint()
    alone = certify(seal(compress(trace(case.network, case.data), Quantize(bits=2))), case.data)
    assert certificate.bound < stated(alone).bound
    assert certificate.sentence().startswith('If the base network "ground" was fixed before the data, with')
    for base_data in (case.base_data, None):
        verdict = verify(Pact.from_bytes(case.pact.to_bytes()), case.data, base=case.base, base_data=base_data)
        assert verdict.agreed, verdict.reasons


def test_weights_are_the_base_plus_steps(case: Case) -> None:
    module = case.pact.to_module(base=case.base)
    for name, coded in case.pact.decode().tensors.items():
        assert isinstance(coded.form, Relative)
        steps = coded.form.step.value * coded.symbols.reshape(coded.shape)
        expected = case.base.tensors[name].astype(np.float64) + steps
        assert np.array_equal(module.get_parameter(name).numpy(), expected.astype(np.float32))


def test_a_network_equal_to_its_base_comes_back_as_the_base(case: Case) -> None:
    same = seal(compress(trace(case.base_module, case.data), QuantizeDifference(case.base)))
    assert len(same.message) < 20
    for one, other in zip(same.to_module(base=case.base).parameters(), case.base_module.parameters(), strict=True):
        assert torch.equal(one, other)


def test_the_base_is_needed_and_only_where_it_is(case: Case) -> None:
    for call in (case.pact.to_module, lambda: verify(case.pact, case.data), lambda: certify(case.pact, case.data)):
        with pytest.raises(PactError, match=r"against a base network.*--base"):
            call()
    plain = seal(compress(trace(case.network, case.data), Quantize(bits=2)))
    with pytest.raises(PactError, match="needs no base network"):
        certify(plain, case.data, base=case.base)
    with pytest.raises(PactError, match="no base network"):
        certify(plain, case.data, base_data=case.base_data)


def test_another_base_is_refused(case: Case) -> None:
    tensors = {name: array.copy() for name, array in case.base.tensors.items()}
    tensors["fc1.weight"][3, 3] = np.nextafter(tensors["fc1.weight"][3, 3], np.float32(9))
    verdict = verify(case.pact, case.data, base=Base("ground", tensors))
    assert "the base network's sha256 is" in verdict.reasons[0]
    with pytest.raises(PactError, match=r"needs the base's fc1\.weight of shape \(10, 64\), it has none"):
        case.pact.to_module(base=Base("other", {"fc1.bias": np.zeros(10)}))
    with pytest.raises(PactError, match="NaN or infinity in a"):
        Base("bad", {"a": np.array([np.nan])})


def overlapping(case: Case) -> Samples:
    assert isinstance(case.data.train, ArraySamples)
    x = np.concatenate([case.base_data.inputs, case.data.train.inputs[7:8]])
    return ArraySamples(x, np.concatenate([case.base_data.labels, [0]]), "with a copy", 10)


def test_a_base_that_has_seen_the_sample_is_refused(case: Case) -> None:
    with pytest.raises(PactError, match=r"sample 7: 1 of the 537 training samples are among its training data"):
        certify(case.pact, case.data, base=case.base, base_data=overlapping(case))
    told = Base("ground", case.base.tensors, case.data.train.fingerprint())
    with pytest.raises(PactError, match="trained on the data of this certificate"):
        certify(case.pact, case.data, base=told)
    assert "trained on the data" in verify(case.pact, case.data, base=told).reasons[0]
    forged = forge(case, base_data_fingerprint=overlapping(case).fingerprint())
    verdict = verify(forged, case.data, base=case.base, base_data=overlapping(case))
    assert "are among its training data" in verdict.reasons[0]
    other = Base("ground", case.base.tensors, "sha256:00")
    with pytest.raises(PactError, match="its file says sha256:00"):
        certify(case.pact, case.data, base=other, base_data=case.base_data)


def test_flattering_lies_about_the_base(case: Case) -> None:
    for changes, reason in (
        ({"base_sha256": "0" * 64}, "the base network's sha256 is"),
        ({"base_data_fingerprint": "sha256:00"}, "fingerprint of the base's training data is"),
        ({"base_data_fingerprint": ""}, "the certificate says nothing"),
        (
            {"prior": "data-free", "base_name": "", "base_sha256": "", "base_data_fingerprint": ""},
            "the kind of prior is transfer, the certificate says data-free",
        ),
        ({"bound": stated(case.pact).bound - 1e-3}, "the exact bound is"),
    ):
        verdict = verify(forge(case, **changes), case.data, base=case.base, base_data=case.base_data)
        assert not verdict.agreed
        assert any(reason in given for given in verdict.reasons), verdict.reasons


def test_contradictions_about_the_base_cannot_be_stated(case: Case) -> None:
    certificate = stated(case.pact)
    lies: tuple[tuple[dict[str, Any], str], ...] = (
        ({"base_data_fingerprint": certificate.data_fingerprint}, "base_data_fingerprint"),
        ({"base_sha256": ""}, "base_sha256"),
        ({"base_name": ""}, "base_name"),
        ({"base_name": 3}, "base_name"),
        ({"prior": "data-free"}, "prior"),
    )
    for changes, where in lies:
        with pytest.raises(PactError) as caught:
            replace(certificate, **changes)
        assert caught.value.where == where
    record = json.loads(json.dumps(certificate.to_json()))
    assert Certificate.from_json(record) == certificate
    for base in (3, {"name": "ground"}):
        with pytest.raises(PactError):
            Certificate.from_json({**record, "base": base})
    del record["base"]
    with pytest.raises(PactError):
        Certificate.from_json(record)


def test_base_files(case: Case, tmp_path: Path) -> None:
    weights = save_weights(case.base_module, tmp_path / "ground.safetensors")
    assert open_base(weights).sha256 == case.base.sha256
    assert open_base(weights).data_fingerprint == ""
    ground = certify(seal(compress(trace(case.base_module, case.data), Quantize(bits=8))), case.base_data)
    opened = open_base(ground.write(tmp_path / "ground.pact"))
    assert opened.data_fingerprint == case.base_data.fingerprint()
    assert np.array_equal(opened.tensors["fc1.weight"], ground.to_module().get_parameter("fc1.weight").numpy())
    with pytest.raises(PactError, match=r"allowed: \.safetensors, \.pt, \.pth, \.pact"):
        open_base(tmp_path / "ground.bin")


def test_what_the_method_refuses(case: Case, digits: Data) -> None:
    for options, where in (({"bits": 1}, "bits"), ({"bits": True}, "bits")):
        with pytest.raises(PactError) as caught:
            QuantizeDifference(case.base, **options)
        assert caught.value.where == where
    with pytest.raises(PactError, match="must be a Base"):
        QuantizeDifference("ground.pact")  # type: ignore[arg-type]
    own = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    with pytest.raises(PactError, match=r"none of its tensors has the name and shape of one of .*; it has fc1.weight "):
        compress(trace(own, digits), QuantizeDifference(case.base))


def test_the_command_line_takes_a_base(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(case.data.train, ArraySamples)
    for name, part in (("d", case.data.train), ("b", case.base_data)):
        np.savez(tmp_path / f"{name}.npz", x_train=part.inputs, y_train=part.labels)
    weights = save_weights(case.base_module, tmp_path / "ground.safetensors")
    file = Pact(case.pact.message).write(tmp_path / "net.pact")
    data = [str(file), "--data", str(tmp_path / "d.npz")]
    base = ["--base", str(weights), "--base-data", str(tmp_path / "b.npz")]
    assert run(["certify", *data, *base]) == 0
    capsys.readouterr()
    assert run(["verify", *data, *base, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["prior"], record["base"]["sha256"]) == ("transfer", case.base.sha256)
    assert run(["verify", *data]) == 2
    assert run(["info", str(file)]) == 0
