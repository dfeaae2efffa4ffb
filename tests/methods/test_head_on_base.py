"""A head of signs on a base's features: the base's layers are nearly free, its last one is not used."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

from netpact.cli.app import run
from netpact.coding.format import Compressed, Pact, seal
from netpact.coding.format.message import measure_message
from netpact.coding.forms import Difference, Relative, Ternary, TernaryMap, Zero
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples, Data, Split, set_aside
from netpact.methods import compress, make_method
from netpact.methods.head_on_base import HeadOnBase
from netpact.models import build, parse_model, save_weights
from netpact.network import Network, trace
from netpact.pacts.certification import certify
from netpact.pacts.priors import Base, base_of, train_helper
from netpact.pacts.verification import verify
from netpact.training import Recipe, TrainOptions, train

MODEL = "convnet:1-3-8-12"
HEAD = "fc1"


@pytest.fixture(autouse=True)
def _short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpact.methods.sign_training._FEWEST_STEPS", 300)
    monkeypatch.setattr("netpact.methods.sign_training._FREE_STEPS", 100)


def fresh(data: Data, model: str = MODEL, seed: int = 0) -> nn.Module:
    return build(parse_model(model, input_shape=data.input_shape, classes=data.classes), seed=Seed(seed))


@pytest.fixture(scope="module")
def others(digits: Data) -> ArraySamples:
    """The first 600 digits with the classes numbered otherwise: another task on other samples."""
    x, y = next(iter(digits.train.batches(600)))
    return ArraySamples(x, (3 * y + 1) % 10, "others", 10)


@pytest.fixture(scope="module")
def sample(digits: Data) -> Data:
    x, y = next(iter(digits.train.batches(digits.train.count)))
    return Data("sample", 10, ArraySamples(x[600:], y[600:], "sample train", 10), digits.test)


@pytest.fixture(scope="module")
def base(digits: Data, others: ArraySamples) -> Base:
    module = train(fresh(digits), others, TrainOptions(epochs=8, learning_rate=0.01)).module
    return base_of(module, name="ground")


@pytest.fixture(scope="module")
def network(sample: Data) -> Network:
    return trace(fresh(sample, seed=4), sample)


def tell(base: Base, network: Network, samples: ArraySamples | Any, *, steps: int = 150) -> Compressed:
    return compress(network, HeadOnBase(base, steps=steps, restarts=1), samples=samples, arithmetic="float64")


def test_all_but_the_head_is_the_base(base: Base, network: Network, sample: Data, others: ArraySamples) -> None:
    small = tell(base, network, sample.train)
    pact = seal(small)
    decoded = pact.to_module(base=base)
    for name, tensor in decoded.named_parameters():
        if not name.startswith(HEAD):
            assert np.array_equal(tensor.numpy(), base.tensors[name]), name
            assert isinstance(small.tensors[name].form, Relative)
    head = small.tensors[f"{HEAD}.weight"]
    assert isinstance(head.form, (Ternary, TernaryMap))
    assert 5 < np.count_nonzero(head.symbols) < head.symbols.size / 2
    assert isinstance(small.tensors[f"{HEAD}.bias"].form, Zero)
    certified = certify(pact, sample, base=base, base_data=others)
    assert certified.certificate is not None
    assert (certified.certificate.prior, certified.certificate.arithmetic) == ("transfer", "float64")
    assert certified.certificate.bound < 0.8  # with the base's own head it would be 1
    assert verify(certified, sample, base=base, base_data=others).agreed


def test_the_base_costs_a_few_bits(base: Base, network: Network, sample: Data) -> None:
    costs = dict(measure_message(tell(base, network, sample.train, steps=1)))
    body = {field: bits for field, bits in costs.items() if field.startswith("conv")}
    assert len(body) == 8
    assert sum(body.values()) < 24
    # One form for all: it is spelled out once, and named again for less than a bit on average.
    assert sum(bits for field, bits in body.items() if not field.startswith("conv1.weight")) < 6


def test_neither_the_base_head_nor_the_network_weights_matter(base: Base, network: Network, sample: Data) -> None:
    message = seal(tell(base, network, sample.train, steps=40)).message
    turned = {name: -array if name.startswith(HEAD) else array for name, array in base.tensors.items()}
    assert seal(tell(Base("turned", turned), network, sample.train, steps=40)).message == message
    again = trace(fresh(sample, seed=9), sample)
    assert seal(tell(base, again, sample.train, steps=40)).message == message
    moved = {name: array if name.startswith(HEAD) else array[::-1] for name, array in base.tensors.items()}
    assert seal(tell(Base("moved", moved), network, sample.train, steps=40)).message != message


def test_with_a_helper_only_the_certified_samples_are_searched_on(digits: Data) -> None:
    split = Split(percent=40, counter=3)
    helper = train_helper(digits, Recipe(MODEL, TrainOptions(epochs=3, learning_rate=0.01), split))
    network, train_part = trace(fresh(digits), digits), digits.train
    small = tell(helper, network, train_part, steps=40)
    assert small.split == split
    assert isinstance(train_part, ArraySamples)
    seen, certified = split.indices(train_part.count)

    def relabelled(places: np.ndarray[Any, Any]) -> ArraySamples:
        labels = train_part.labels.copy()
        labels[places] = (labels[places] + 1) % 10
        return replace(train_part, labels=labels)

    assert seal(tell(helper, network, relabelled(seen), steps=40)).message == seal(small).message
    assert seal(tell(helper, network, relabelled(certified), steps=40)).message != seal(small).message
    stated = certify(seal(small), digits, base=helper).certificate
    assert stated is not None
    assert (stated.prior, stated.samples) == ("data-dependent", set_aside(train_part, split)[1].count)


def test_signs_are_added_to_the_base_head(digits: Data, sample: Data, network: Network) -> None:
    x, y = next(iter(digits.train.batches(600)))
    others = ArraySamples(x, y, "others", 10)
    module = train(fresh(digits), others, TrainOptions(epochs=5, learning_rate=0.01)).module
    same = base_of(module, name="same classes")

    def bound(method: Any) -> tuple[Compressed, float]:
        small = compress(network, method, samples=sample.train, arithmetic="float64")
        certified = certify(Pact.from_bytes(seal(small).to_bytes()), sample, base=same, base_data=others)
        assert verify(certified, sample, base=same, base_data=others).agreed
        assert certified.certificate is not None
        return small, certified.certificate.bound

    small, corrected = bound(HeadOnBase(same, steps=150, restarts=2, keep_head=True))
    head = small.tensors[f"{HEAD}.weight"]
    assert isinstance(head.form, Difference)
    assert isinstance(head.form.inner, TernaryMap)
    step, decoded = head.form.inner.step.value, seal(small).to_module(base=same)
    signs = head.symbols.reshape(head.shape)
    assert 1 <= np.count_nonzero(signs) < 40
    for name, tensor in decoded.named_parameters():
        moved = step * signs if name == f"{HEAD}.weight" else 0.0
        assert np.array_equal(tensor.numpy(), same.tensors[name].astype(np.float64) + moved), name
    unchanged, alone = bound(HeadOnBase(same, steps=1, restarts=1, bit_price=1e5, keep_head=True))
    assert all(isinstance(tensor.form, Relative) for tensor in unchanged.tensors.values())
    assert corrected < alone - 0.01, f"{alone} -> {corrected}"


def test_a_head_that_is_kept_must_be_there(base: Base, network: Network, sample: Data) -> None:
    """For other classes, or another number of them, a new head is needed."""
    tensors = {**base.tensors, f"{HEAD}.weight": base.tensors[f"{HEAD}.weight"][:7]}
    fewer = Base("fewer classes", tensors)
    with pytest.raises(PactError, match=r"it lacks fc1.weight \(10, 48\), and all parameters are taken from it"):
        compress(network, HeadOnBase(fewer, keep_head=True), samples=sample.train)


def test_refusals(base: Base, network: Network, sample: Data) -> None:
    with pytest.raises(PactError, match="head-on-base: this method searches on the training samples"):
        compress(network, HeadOnBase(base))
    linear = trace(fresh(sample, "linear"), sample)
    with pytest.raises(PactError, match=r"a linear layer after at least one other.*ternary-search"):
        compress(linear, HeadOnBase(base), samples=sample.train)
    wider = trace(fresh(sample, "convnet:1-3-9-12"), sample)
    with pytest.raises(PactError, match=r"base ground: it lacks conv1.weight \(9, 1, 3, 3\), conv1.bias"):
        compress(wider, HeadOnBase(base), samples=sample.train)
    own = trace(nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 10)), sample)
    with pytest.raises(PactError, match=r"base ground: it lacks 1.weight \(8, 64\)"):
        compress(own, HeadOnBase(base), samples=sample.train)


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"steps": 0}, "steps"),
        ({"restarts": True}, "restarts"),
        ({"bit_price": -1.0}, "bit_price"),
        ({"seed": -1}, "seed"),
        ({"keep_head": 1}, "keep_head"),
    ],
)
def test_bad_options_die_at_construction(base: Base, options: dict[str, Any], where: str) -> None:
    with pytest.raises(PactError) as raised:
        HeadOnBase(base, **options)
    assert raised.value.where == where


def test_by_name(base: Base) -> None:
    method = make_method("head-on-base", {"steps": "7", "bit_price": "0.5"}, base=base)
    assert repr(method) == "HeadOnBase(base='ground', steps=7, restarts=2, bit_price=0.5, seed=0)"
    kept = make_method("head-on-base", {"keep_head": "true"}, base=base)
    assert repr(kept).endswith("seed=0, keep_head=True)")
    with pytest.raises(PactError, match="head-on-base encodes a network against a base network, and there is none"):
        make_method("head-on-base", {})
    wrong: Any = "ground.safetensors"
    with pytest.raises(PactError, match=r"must be a Base, got str.*open_base"):
        HeadOnBase(wrong)


def test_from_the_command_line(
    sample: Data, others: ArraySamples, base: Base, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, part in (("sample", sample.train), ("others", others)):
        x, y = next(iter(part.batches(part.count)))
        np.savez(tmp_path / f"{name}.npz", x_train=x, y_train=y)
    ground = fresh(sample)
    for name, parameter in ground.named_parameters():
        parameter.data.numpy()[...] = base.tensors[name]
    weights, file = str(save_weights(ground, tmp_path / "ground.safetensors")), str(tmp_path / "net.pact")
    data = ["--data", str(tmp_path / "sample.npz"), "--base", weights, "--base-data", str(tmp_path / "others.npz")]
    chosen = ["--method", "head-on-base", "--set", "steps=150", "--set", "restarts=1", "--arithmetic", "float64"]
    assert run(["compress", MODEL, "--weights", weights, *data, *chosen, "--out", file]) == 0
    assert run(["certify", file, *data]) == 0
    capsys.readouterr()
    assert run(["verify", file, *data, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["agreed"], record["prior"]) == (True, "transfer")
    assert record["bound"] < 0.8
