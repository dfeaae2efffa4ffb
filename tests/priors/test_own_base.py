"""A base for a user's own module: another class count and input size, in memory and from files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cli.fresh_process import run_fresh
from torch import nn

import netpact
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples, Data
from netpact.methods import compress
from netpact.methods.feature_cache import FeatureCache, feature_key
from netpact.methods.head_on_base import HeadOnBase
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.priors import Base, open_base
from netpact.pacts.verification import verify


@pytest.fixture(autouse=True)
def _short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpact.methods.sign_training._FEWEST_STEPS", 300)
    monkeypatch.setattr("netpact.methods.sign_training._FREE_STEPS", 100)


def backbone() -> nn.Sequential:
    parts = [nn.Conv2d(1, 12, 3, stride=2), nn.BatchNorm2d(12), nn.ReLU(), nn.Conv2d(12, 16, 3), nn.ReLU()]
    return nn.Sequential(*parts)


def classifier() -> nn.Module:
    return netpact.with_head(backbone(), features=16, classes=10, size=16, mean=(0.5,), std=(0.25,))


def other_classifier() -> nn.Module:
    return netpact.with_head(backbone(), features=16, classes=10, size=12, mean=(0.5,), std=(0.25,))


@pytest.fixture(scope="module")
def sample(digits: Data) -> Data:
    x, y = next(iter(digits.train.batches(digits.train.count)))
    return Data("sample", 10, ArraySamples(x[600:], y[600:], "sample train", 10), digits.test)


@pytest.fixture(scope="module")
def weights(digits: Data, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained to tell three classes of other images, of 16 x 16; saved as torch users save it."""
    x, y = next(iter(digits.train.batches(600)))
    larger = ArraySamples(np.repeat(np.repeat(x, 2, 2), 2, 3), y % 3, "others", 3)
    torch.manual_seed(0)
    start = nn.Sequential(*backbone(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 3))
    trained = netpact.train(start, larger, netpact.TrainOptions(epochs=4, learning_rate=0.01, seed=Seed(1)))
    path = tmp_path_factory.mktemp("base") / "ground.pth"
    torch.save(trained.module.state_dict(), path)
    return path


@pytest.fixture(scope="module")
def base(weights: Path) -> Base:
    return open_base(weights)


@pytest.fixture(scope="module")
def others(digits: Data) -> ArraySamples:
    x, y = next(iter(digits.train.batches(600)))
    return ArraySamples(x, y % 3, "others", 3)


@pytest.fixture(scope="module")
def pact(base: Base, sample: Data, others: ArraySamples) -> netpact.Pact:
    patch = pytest.MonkeyPatch()
    patch.setattr("netpact.methods.sign_training._FEWEST_STEPS", 300)
    method = HeadOnBase(base, steps=100, restarts=1, bit_price=0.1, cache="none")
    small = compress(trace(classifier(), sample), method, samples=sample.train, arithmetic="float64")
    patch.undo()
    return certify(netpact.seal(small), sample, model=classifier, base=base, base_data=others)


def test_from_base_to_verdict(
    pact: netpact.Pact, sample: Data, weights: Path, base: Base, others: ArraySamples
) -> None:
    certificate = pact.certificate
    assert certificate is not None
    assert (certificate.prior, certificate.base_sha256) == ("transfer", base.sha256)
    assert certificate.module.endswith(":classifier")
    assert certificate.module_sha256
    assert certificate.base_data_fingerprint == others.fingerprint()
    sentence = certificate.sentence()
    assert "the module" in sentence
    assert "the base network" in sentence
    assert certificate.module_sha256[:12] in sentence
    assert certificate.train_error < 0.8
    assert verify(pact, sample, model=classifier, base=weights, base_data=others).agreed
    module = pact.to_module(classifier(), base=base)
    assert np.array_equal(module.get_parameter("backbone.3.weight").numpy(), base.tensors["3.weight"])


def test_file_data_and_base_are_enough_in_a_fresh_process(
    pact: netpact.Pact, sample: Data, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the base another number of classes and another input size; of the module its code."""
    arrays: dict[str, Any] = {}
    for part, samples in (("train", sample.train), ("test", sample.test)):
        assert samples is not None
        arrays[f"x_{part}"], arrays[f"y_{part}"] = next(iter(samples.batches(samples.count)))
    np.savez(tmp_path / "sample.npz", **arrays)
    pact.write(tmp_path / "net.pact")
    assert pact.certificate is not None
    here = [str(Path(netpact.__file__).parents[1]), *(str(Path(__file__).parents[up]) for up in (2, 1))]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(here))
    given = ("--data", "sample.npz", "--model", pact.certificate.module, "--base", str(weights))
    done = run_fresh("verify", "net.pact", *given, folder=tmp_path)
    assert "agreed" in done.stdout + done.stderr


def test_lies_and_other_things_are_refused(pact: netpact.Pact, sample: Data, base: Base, others: ArraySamples) -> None:
    verdict = verify(pact, sample, model=other_classifier, base=base)
    assert not verdict.agreed
    assert "it is other code" in verdict.reasons[0]
    changed = Base("ground", {**base.tensors, "0.bias": np.asarray(base.tensors["0.bias"]) + 1})
    assert not verify(pact, sample, model=classifier, base=changed).agreed
    certificate = pact.certificate
    assert certificate is not None
    silent = pact.with_certificate(replace(certificate, module="", module_sha256=""))
    verdict = verify(silent, sample, model=classifier, base=base, base_data=others)
    assert not verdict.agreed
    assert "the certificate names none" in verdict.reasons[0]
    with pytest.raises(PactError, match="encodes a network against a base"):
        verify(pact, sample, model=classifier)


def test_a_base_that_has_seen_the_sample(pact: netpact.Pact, sample: Data, base: Base) -> None:
    seen = Base(base.name, base.tensors, sample.train.fingerprint())
    with pytest.raises(PactError, match="trained on the data of this certificate"):
        certify(replace(pact), sample, model=classifier, base=seen)
    with pytest.raises(PactError, match=r"trained on the data of this certificate|are among its training data"):
        certify(pact, sample, model=classifier, base=base, base_data=sample.train)


def test_what_the_base_lacks_is_coded_alone(base: Base, sample: Data, others: ArraySamples) -> None:
    torch.manual_seed(3)
    module = classifier()
    module.backbone.load_state_dict(  # type: ignore[union-attr]
        {name: torch.from_numpy(np.array(base.tensors[name])) for name in backbone().state_dict()}
    )
    with torch.no_grad():
        module.get_parameter("backbone.3.weight").add_(0.01 * torch.randn(16, 12, 3, 3))
        module.get_buffer("backbone.1.running_var").mul_(1.3)
        module.get_buffer("backbone.1.num_batches_tracked").add_(7)
    small = compress(trace(module, sample), netpact.QuantizeDifference(base, bits=6, rounding="nearest"))
    forms = {name: tensor.form.name for name, tensor in small.tensors.items()}
    assert forms["head.weight"] == "uniform"
    assert forms["backbone.3.weight"] == "relative"
    decoded = netpact.seal(small).to_module(classifier(), base=base)
    for name, tensor in {**dict(decoded.named_parameters()), **dict(decoded.named_buffers())}.items():
        wanted = module.state_dict()[name]
        assert torch.allclose(tensor.double(), wanted.double(), rtol=0.02, atol=0.05 * float(wanted.abs().max())), name
    assert int(decoded.get_buffer("backbone.1.num_batches_tracked")) == int(
        module.get_buffer("backbone.1.num_batches_tracked")
    )
    done = certify(netpact.seal(small), sample, model=classifier, base=base, base_data=others, most_near_ties=1)
    assert verify(done, sample, model=classifier, base=base, base_data=others).agreed


def test_features_are_kept_and_damaged_or_foreign_ones_are_not_used(sample: Data, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = classifier().eval()
    fresh, labels = FeatureCache("none").features(module, "head", sample.train)
    assert not list(tmp_path.iterdir())
    cache = FeatureCache(str(tmp_path))
    assert np.array_equal(cache.features(module, "head", sample.train)[0], fresh)
    (file,) = tmp_path.rglob("*.safetensors")
    again, truth = cache.features(module, "head", sample.train)
    assert np.array_equal(again, fresh)
    assert np.array_equal(truth, labels)
    content = file.read_bytes()
    for damaged in (content[:-4] + b"\\0\\0\\0\\1", content[: len(content) // 2], b""):
        file.write_bytes(damaged)
        assert np.array_equal(cache.features(module, "head", sample.train)[0], fresh)
        assert file.read_bytes() == content
    keys = {feature_key(module, "head", sample.train), feature_key(module, "head", sample.test)}  # type: ignore[arg-type]
    torch.manual_seed(1)
    keys |= {feature_key(classifier().eval(), "head", sample.train)}
    assert len(keys) == 3


def test_refusals_name_what_is_missing(base: Base, sample: Data, tmp_path: Path) -> None:
    wider: Any = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 10))
    with pytest.raises(PactError, match=r"it lacks 1.weight \(8, 64\)"):
        compress(trace(wider, sample), HeadOnBase(base), samples=sample.train)
    with pytest.raises(PactError, match="none of its tensors has the name and shape"):
        compress(trace(wider, sample), netpact.QuantizeDifference(base))
    torch.save({"weights": nn.Linear(2, 2)}, tmp_path / "module.pth")
    with pytest.raises(PactError, match="not a file of plain weights"):
        open_base(tmp_path / "module.pth")
