"""Names. The adversary tried:

- a module's name that ends the sentence and begins another one: "errs on at most 0.1 % ...";
- names with terminal escapes, line ends, letters that turn the direction of writing, quotes, or a thousand letters;
- other code under the module's name: another forward, another constant, another layer of torch's;
- names of data, bases, helpers and unlabelled inputs that belong to something well known;
- a count of near ties that makes errors look harmless, a version that is a sentence;
- two networks that are hashed as one text, by a tensor's name that holds another tensor.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from netpact.certificates import Certificate, Helper
from netpact.certificates.names import check_name, make_name
from netpact.coding.format import Pact, seal
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data, Split
from netpact.methods import Quantize, QuantizeDifference, compress
from netpact.models import build, hash_source, parse_model
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.originals import certify_original, hash_network, verify_original
from netpact.pacts.priors import Base, base_of, helper_module, retrain_helper, train_helper
from netpact.pacts.verification import verify
from netpact.training import Recipe, TrainOptions

FORGED = 'm" was fixed, the network errs on at most 0.1 % of new samples. If the module "x'
BAD: dict[str, Any] = {
    "quotes": FORGED,
    "escape": "net\x1b[2J\x1b[1;32magreed",
    "line": "net\nagreed: it never errs",
    "separator": "net\u2028agreed",
    "turning": "net\u202e%1.0 tsom ta",
    "hebrew": "net \u05d0\u05d1 1",
    "hidden": "net\u200bwork",
    "mark": "\u0338net",
    "long": "n" * 81,
    "empty": "",
    "no text": 3,
}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(64, 10)
        self.scale = 1.0

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.scale * x.flatten(1))


def other_code(kind: str) -> Callable[[], nn.Module]:
    """A module under the name of Net that is not Net."""

    class Other(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(64, 10)
            self.scale = 1.0

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.scale * x.flatten(1) + 0 * x.flatten(1))

    class Scaled(Net):
        def __init__(self) -> None:
            super().__init__()
            self.scale = 1.0000001

    made: type[nn.Module] = Other if kind == "forward" else Scaled
    made.__module__, made.__qualname__, made.__name__ = Net.__module__, Net.__qualname__, Net.__name__
    return made


@pytest.fixture(scope="module")
def own(digits: Data) -> Pact:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(2)
        return certify(compress(trace(Net(), digits), Quantize(bits=3)), digits, model=Net)


def stated(pact: Pact) -> Certificate:
    assert pact.certificate is not None
    return pact.certificate


def forge(pact: Pact, **changes: Any) -> Pact:
    return Pact.from_bytes(pact.with_certificate(replace(stated(pact), **changes)).to_bytes())


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("name", ["module", "data_name", "netpact_version"])
def test_names_that_could_pass_for_something_else(own: Pact, name: str, kind: str) -> None:
    with pytest.raises(PactError) as caught:
        replace(stated(own), **{name: BAD[kind]})
    assert caught.value.where in (name, "prior")
    content = stated(own).to_json()
    content |= {"data": {**content["data"], "name": BAD[kind]}} if name == "data_name" else {name: BAD[kind]}  # type: ignore[dict-item]
    with pytest.raises(PactError):
        Certificate.from_json(json.dumps(content))


@pytest.mark.parametrize("kind", BAD)
def test_the_same_about_other_networks(kind: str) -> None:
    helper: dict[str, Any] = {
        "sha256": "ab" * 32,
        "recipe": "{}",
        "percent": 50,
        "counter": 0,
        "samples": 5,
        "errors": 0,
        "near_ties": 0,
        "bound": 0.5,
    }
    Helper(name="half", **helper)
    with pytest.raises(PactError, match="helper, name"):
        Helper(name=BAD[kind], **helper)


def test_a_name_can_be_made_of_any_text() -> None:
    for text in BAD.values():
        assert check_name(make_name(str(text)), name="name")
    assert make_name("Zürich räumlich [1]") == "Zürich räumlich [1]"
    assert make_name("a" * 100 + ".npz").endswith("aaa.npz")


def test_names_are_quoted(own: Pact) -> None:
    assert f'If the module "{Net.__module__}:Net" (code sha256 ' in stated(own).sentence()
    for text in (*stated(own).assumptions, *stated(own).declarations):
        assert f" {Net.__module__}:Net" not in text


@pytest.mark.parametrize("kind", ["forward", "setting"])
def test_other_code_under_the_same_name(own: Pact, digits: Data, kind: str) -> None:
    verdict = verify(own, digits, model=other_code(kind))
    assert not verdict
    assert "other code" in str(verdict)


def test_a_forward_put_in_later(own: Pact, digits: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    def forward(self: Net, x: Tensor) -> Tensor:
        return self.head(x.flatten(1))

    monkeypatch.setattr(Net, "forward", forward)
    assert "other code" in str(verify(own, digits, model=Net))


def test_torchs_own_layers_are_told_apart_by_their_settings(digits: Data) -> None:
    def layers(slope: float) -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.LeakyReLU(slope), nn.Linear(12, 10))

    pact = certify(compress(trace(layers(0.01), digits), Quantize(bits=3)), digits, model=layers(0.01))
    assert verify(pact, digits, model=layers(0.01))
    assert "other code" in str(verify(pact, digits, model=layers(0.2)))


def test_the_same_code_under_another_name(own: Pact, digits: Data) -> None:
    """A script is imported under another name than it runs under: the code is the same, and the verdict says so."""
    verdict = verify(forge(own, module="__main__:Net"), digits, model=Net)
    assert verdict
    assert f'the module "{Net.__module__}:Net" is called "__main__:Net" in the file' in verdict.notes
    assert "If the module" in str(verdict)
    assert 'If the module "__main__' not in str(verdict)


def test_a_certificate_without_a_hash_of_the_code(own: Pact, digits: Data) -> None:
    """As an old netpact wrote it, or a forger who leaves it out."""
    old = forge(own, module_sha256="")
    verdict = verify(old, digits, model=Net)
    assert verdict
    assert "its code is not identified" in str(verdict)
    assert "Note: the code of the module is not identified" in str(verdict)
    assert not verify(forge(own, module_sha256="", module="other:Net"), digits, model=Net)


def test_source_that_is_not_there() -> None:
    space: dict[str, Any] = {"nn": nn}
    exec("class Made(nn.Linear):\n    def forward(self, x):\n        return x", space)
    for module, name in (
        ("builtins", "Made"),
        ("torch.nn.modules.linear", "Made"),
        ("torch.nn.modules.linear", "Linear"),
    ):
        space["Made"].__module__, space["Made"].__qualname__ = module, name  # whatever it says of itself
        space["Made"].forward.__module__ = module
        assert hash_source(space["Made"], space["Made"](2, 2)) == ""
    assert len(hash_source(Net, Net())) == 64
    assert hash_source(Net, Net()) == hash_source(Net(), Net())


def test_the_verdict_bears_the_verifiers_names(digits: Data) -> None:
    module = build(parse_model("linear", input_shape=digits.input_shape, classes=10))
    base = base_of(module, name="mine")
    compressed = compress(trace(module, digits), QuantizeDifference(base))
    pact = certify(compressed, digits, base=base)
    forged = forge(pact, data_name="all of ImageNet", base_name="GPT-7")
    verdict = verify(forged, digits, base=base)
    assert verdict
    said = verdict.to_json()
    assert said["data"]["name"] == "digits"  # type: ignore[index]
    assert said["base"]["name"] == "mine"  # type: ignore[index]
    assert "GPT-7" not in str(said["sentence"])
    assert 'the base network "mine" is called "GPT-7" in the file' in verdict.notes


def test_a_helpers_name(digits: Data) -> None:
    recipe = Recipe("linear", TrainOptions(epochs=1), Split(50, 0))
    helper = train_helper(digits, recipe, name="half")
    pact = certify(
        compress(trace(helper_module(helper, recipe, digits), digits), QuantizeDifference(helper)), digits, base=helper
    )
    told = stated(pact).helper
    assert told is not None
    forged = forge(pact, helper=replace(told, name="proven by NIST", near_ties=told.errors))
    for base in (helper, retrain_helper(forged, digits)):
        verdict = verify(forged, digits, base=base)
        assert verdict
        assert 'helper network "proven by NIST" was computed' not in str(verdict)
        assert verdict.to_json()["helper"]["near_ties"] == told.near_ties < told.errors  # type: ignore[index]


def test_unlabelled_inputs(digits: Data) -> None:
    x, y = next(iter(digits.train.batches(2000)))
    data = Data("part", 10, ArraySamples(x[:1000], y[:1000], "part", 10))
    module = build(parse_model("linear", input_shape=digits.input_shape, classes=10))
    pact = certify(compress(trace(module, data), Quantize(bits=4)), data)
    told = certify_original(pact, module, data, x[1000:])
    forged = pact.with_original(replace(told, unlabelled_name="all of ImageNet"))
    verdict = verify_original(forged, module, data, x[1000:])
    assert verdict
    assert not any("ImageNet" in text for text in verdict.to_json()["declarations"])  # type: ignore[attr-defined]
    assert any("ImageNet" in note for note in verdict.notes)


def test_near_ties_are_counted_again(own: Pact, digits: Data) -> None:
    true = stated(own).near_ties
    verdict = verify(forge(own, near_ties=stated(own).errors), digits, model=Net)
    assert verdict.to_json()["near_ties"] == true
    assert any("near ties counted" in note for note in verdict.notes)


def test_a_test_error_that_nobody_checked_is_not_repeated(own: Pact, digits: Data) -> None:
    verdict = verify(forge(own, test_errors=0), digits.train, model=Net)
    assert verdict
    assert verdict.to_json()["test_errors"] is None
    assert any("test error was not checked" in note for note in verdict.notes)


def two_networks(values: str) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, np.ndarray[Any, Any]]]:
    """One with the tensors a and b; one with a single tensor whose name holds the first one, numbers and all."""
    numbers = np.frombuffer(values.encode(), dtype="<f8")
    last = np.array([1.5])
    return {"a": numbers, "b": last}, {f"a {numbers.shape};{values}b": last}


def test_no_two_bases_have_one_hash() -> None:
    one, other = (Base("x", tensors) for tensors in two_networks("sixteen letters!"))
    assert one.sha256 != other.sha256


def test_no_two_networks_have_one_hash() -> None:
    text = "four4444"
    two, one, inner = nn.Module(), nn.Module(), nn.Module()
    numbers = torch.from_numpy(np.frombuffer(text.encode(), dtype="<f4").copy())
    two.register_parameter("a", nn.Parameter(numbers))
    two.register_parameter("b", nn.Parameter(torch.tensor([1.5])))
    # A dot cannot stand in a parameter's name, but stands between a module's and its parameter's.
    inner.register_parameter(f"float32 (2,);{text}b", nn.Parameter(torch.tensor([1.5])))
    one.add_module("a torch", inner)
    assert hash_network(two) != hash_network(one)


def test_common_names_are_hashed_as_they_always_were(tmp_path: Path) -> None:
    import hashlib

    weight = np.arange(6, dtype="<f8").reshape(2, 3)
    expected = hashlib.sha256(b"fc1.weight (2, 3);" + weight.tobytes()).hexdigest()
    assert Base("x", {"fc1.weight": weight}).sha256 == expected


def test_the_files_that_exist_have_allowed_names() -> None:
    root = Path(__file__).parents[2]
    found = [*(root / "records").glob("*.pact"), *(root / "tests" / "format").glob("golden*/*.pact")]
    assert len(found) > 15
    for path in found:
        Pact.read(path)


def test_seal_is_still_what_certify_does(digits: Data) -> None:
    compressed = compress(trace(Net(), digits), Quantize(bits=2))
    assert certify(seal(compressed), digits, model=Net) == certify(compressed, digits, model=Net)
