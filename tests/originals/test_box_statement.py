"""The statement about the original without further samples: what is in the box, what is counted, what is refused."""

from __future__ import annotations

import copy
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cli.fresh_process import run_fresh
from hypothesis import given, settings
from hypothesis import strategies as st
from originals.conftest import Case
from torch import nn

import netpact
from netpact.certificates import BoxCertificate, check_bound, code_bits, risk_bound
from netpact.cli.app import run
from netpact.coding import ShortFloat
from netpact.datasets import ArraySamples, Data
from netpact.errors import PactError
from netpact.format import Pact
from netpact.models import save_weights
from netpact.originals import box as boxes
from netpact.originals import box_checking, box_stating, certify_box, hash_network, verify_box
from netpact.originals.box import Side, decode_box, encode_box, escapes, make_box
from netpact.originals.box_counting import count_reachable_errors, walk_box
from netpact.promises import margin_needed


@pytest.fixture(scope="session")
def boxed(case: Case) -> Case:
    """The linear network of the other tests, at 6 bits and with a box."""
    network = netpact.trace(case.original, case.data)
    pact = netpact.certify(netpact.seal(netpact.compress(network, netpact.Quantize(bits=6))), case.data)
    return replace(case, pact=pact.with_original(certify_box(pact, case.original, case.data)))


def stated(case: Case) -> BoxCertificate:
    assert isinstance(case.pact.original, BoxCertificate)
    return case.pact.original


def test_a_true_statement_is_agreed_and_pays_for_both_messages(boxed: Case) -> None:
    certificate = stated(boxed)
    verdict = verify_box(Pact.from_bytes(boxed.pact.to_bytes()), boxed.original, boxed.data)
    assert verdict.agreed, verdict.reasons
    assert verdict.counted == certificate.errors > certificate.compressed.errors
    bits = code_bits(len(boxed.pact.message)) + code_bits(len(certificate.box_message))
    assert certificate.code_bits == bits > boxed.pact.code_bits
    expected = risk_bound(errors=certificate.errors, samples=1000, code_bits=bits, delta=0.05)
    assert certificate.bound == expected > certificate.compressed.bound
    assert certificate.compressed == boxed.pact.certificate  # one event: delta is not split
    assert "the original network linear" in certificate.sentence()
    assert boxed.pact.certificate == netpact.certify(Pact(boxed.pact.message), boxed.data).certificate


def forge(case: Case, **changes: Any) -> Pact:
    return Pact.from_bytes(case.pact.with_original(replace(stated(case), **changes)).to_bytes())


def fewer_errors(c: BoxCertificate) -> dict[str, Any]:
    bound = risk_bound(errors=c.compressed.errors, samples=1000, code_bits=c.code_bits, delta=c.delta)
    return {"errors": c.compressed.errors, "bound": bound}


def smaller_box(c: BoxCertificate, module: nn.Module) -> dict[str, Any]:
    """A tighter box, with everything that follows from it told truly: only the original is not in it."""
    (side,) = decode_box(c.box_message, module)
    assert side.weights is not None
    box = (Side(ShortFloat(side.weights.exponent - 1, side.weights.mantissa), side.shift),)
    message = encode_box(box, module)
    bits = c.compressed.code_bits + code_bits(len(message))
    return {"box": message.hex(), "code_bits": bits, "bound": 1.0, "errors": 1000}


LIES: dict[str, tuple[Any, str]] = {
    "bound": (lambda c, m: {"bound": c.bound - 1e-3}, "the bound is"),
    "errors": (lambda c, m: fewer_errors(c), "errors within the box counted, the certificate says"),
    "box": (smaller_box, "the original network is not in the box: fc1: |W - W^| is"),
    "compressed": (
        lambda c, m: {"compressed": replace(c.compressed, bound=c.compressed.bound - 1e-3)},
        "compressed network: the exact bound is",
    ),
    "delta": (
        lambda c, m: {"delta": c.delta / 10, "compressed": replace(c.compressed, delta=c.delta / 10)},
        "the bound is",
    ),
    "original_name": (lambda c, m: {"original_name": "lenet5"}, "the original network's name is linear"),
    "original_sha256": (lambda c, m: {"original_sha256": "0" * 64}, "the original network's sha256 is"),
    "original_arithmetic": (lambda c, m: {"original_arithmetic": "float64"}, "the original network's arithmetic is"),
}


@pytest.mark.parametrize("name", LIES)
def test_every_flattering_lie_is_refused(boxed: Case, name: str) -> None:
    change, reason = LIES[name]
    pact = forge(boxed, **change(stated(boxed), boxed.pact.to_module()))
    verdict = verify_box(pact, boxed.original, boxed.data)
    assert not verdict.agreed
    assert any(reason in given for given in verdict.reasons), verdict.reasons


def test_every_field_is_covered() -> None:
    # code_bits cannot be told apart from the two messages: the record itself refuses that (below).
    assert {f.name for f in fields(BoxCertificate)} - set(LIES) == {"code_bits"}


def test_the_verifier_counts_bits_for_itself(boxed: Case) -> None:
    """The record refuses such a number already; the verifier must not depend on that."""
    forged = copy.copy(stated(boxed))
    object.__setattr__(forged, "code_bits", boxed.pact.code_bits)
    verdict = verify_box(boxed.pact.with_original(forged), boxed.original, boxed.data)
    assert verdict.reasons[0].startswith("the number of bits of message and box is")


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        (lambda c: {"code_bits": c.compressed.code_bits}, "code_bits"),
        (lambda c: {"bound": 0.0}, "bound"),
        (lambda c: {"bound": 1.5}, "bound"),
        (lambda c: {"delta": c.delta / 2}, "compressed"),
        (lambda c: {"errors": 1001}, "errors"),
        (lambda c: {"box": "xyz"}, "box"),
        (lambda c: {"box": "ABCD"}, "box"),
        (lambda c: {"box": "00" * 70_000}, "box"),
        (lambda c: {"box": 3}, "box"),
        (lambda c: {"compressed": 3}, "compressed"),
        (lambda c: {"original_sha256": "xyz"}, "original_sha256"),
        (lambda c: {"original_arithmetic": "bf16"}, "original_arithmetic"),
        (lambda c: {"original_name": ""}, "original_name"),
    ],
)
def test_contradictions_cannot_be_stated(boxed: Case, changes: Any, where: str) -> None:
    with pytest.raises(PactError) as caught:
        replace(stated(boxed), **changes(stated(boxed)))
    assert caught.value.where == where


def test_json_there_and_back_strictly(boxed: Case) -> None:
    record = json.loads(json.dumps(stated(boxed).to_json()))
    assert BoxCertificate.from_json(record) == stated(boxed)
    for damage in ({"extra": 1}, {"kind": "promise"}, {"compressed": 3}):
        with pytest.raises(PactError):
            BoxCertificate.from_json({**record, **damage})


def test_another_original_is_refused(boxed: Case) -> None:
    """By its hash; and, where the hash is forged too, because it is not in the box or computes something else."""
    far = copy.deepcopy(boxed.original)
    with torch.no_grad():
        next(far.parameters()).mul_(1.5)
    assert "sha256" in verify_box(boxed.pact, far, boxed.data).reasons[0]
    pact = forge(boxed, original_sha256=hash_network(far))
    assert "is not in the box: fc1" in verify_box(pact, far, boxed.data).reasons[0]
    other = nn.Sequential(nn.Flatten(), nn.Linear(64, 10), nn.ReLU())
    with pytest.raises(PactError, match="not of one structure"):
        certify_box(boxed.pact, other, boxed.data)
    verdict = verify_box(boxed.pact.with_original(None), boxed.original, boxed.data)
    assert verdict.reasons == ("the file has no statement about the original network",)


def test_a_statement_by_unlabelled_samples_is_another_one(case: Case) -> None:
    verdict = verify_box(case.pact, case.original, case.data)
    assert verdict.reasons == ("the statement about the original network rests on unlabelled samples",)


class Scaled(nn.Module):
    """A constant outside parameters and buffers decides what it computes."""

    def __init__(self, factor: float = 0.0) -> None:
        super().__init__()
        self.fc = nn.Linear(64, 10)
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.fc(x.flatten(1) + self.factor)
        return logits


def test_an_original_with_other_code_is_found_out(case: Case) -> None:
    original = Scaled()
    original.load_state_dict({f"fc.{k[4:]}": v for k, v in case.original.state_dict().items()})
    pact = netpact.seal(netpact.compress(netpact.trace(original, case.data), netpact.Quantize(bits=6)))
    assert certify_box(pact, original, case.data, model=Scaled).compressed.prior == "conditional"
    original.factor = 0.25
    with pytest.raises(PactError, match="computes something else than the one in the file would"):
        certify_box(pact, original, case.data, model=Scaled)


# --- the box itself ---------------------------------------------------------------------------------------------------


def small_net(seed: int = 0) -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        norm = nn.BatchNorm2d(3)
        for tensor in (*norm.parameters(), norm.running_var):
            assert tensor is not None
            nn.init.uniform_(tensor, 0.5, 2.0)
        last = nn.Linear(12, 3)
        return nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), norm, nn.ReLU(), nn.AvgPool2d(4), nn.Flatten(), last).eval()


def near(net: nn.Module, amount: float, generator: torch.Generator) -> Any:
    other = copy.deepcopy(net)
    with torch.no_grad():
        for tensor in [*other.parameters(), *other.buffers()]:
            if tensor.is_floating_point():
                tensor.add_(amount * torch.rand(tensor.shape, generator=generator))
    return other


numbers = st.one_of(st.none(), st.builds(ShortFloat, st.integers(-64, 63), st.integers(0, 15)))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(sides=st.lists(st.builds(Side, numbers, numbers), min_size=3, max_size=3))
def test_boxes_come_back(sides: list[Side]) -> None:
    net = small_net()
    assert decode_box(encode_box(tuple(sides), net), net) == tuple(sides)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(message=st.binary(max_size=20))
def test_hostile_boxes_are_refused_or_canonical(message: bytes) -> None:
    net = small_net()
    try:
        box = decode_box(message, net)
    except PactError:
        return
    assert encode_box(box, net) == message


@pytest.mark.parametrize("damage", [b"\0", b"\x01", b"\xff" * 8])
def test_trailing_bytes_are_refused(boxed: Case, damage: bytes) -> None:
    module = boxed.pact.to_module()
    with pytest.raises(PactError, match="not the message of the box"):
        decode_box(stated(boxed).box_message + damage, module)
    message = stated(boxed).box_message + damage
    bits = boxed.pact.code_bits + code_bits(len(message))
    with pytest.raises(PactError, match="box"):
        verify_box(forge(boxed, box=message.hex(), code_bits=bits), boxed.original, boxed.data)


def test_a_layer_without_biases_has_no_shift() -> None:
    net = nn.Sequential(nn.Linear(3, 2, bias=False))
    assert encode_box((Side(None, None),), net) != encode_box((Side(ShortFloat(0, 0), None),), net)
    with pytest.raises(PactError, match="no shift"):
        encode_box((Side(None, ShortFloat(0, 0)),), net)
    with pytest.raises(PactError, match="1 layers, but the box has 0 sides"):
        encode_box((), net)


@pytest.mark.parametrize("amount", [0.0, 1e-30, 1e-9, 1e-3, 0.9, 1e6])
def test_the_original_is_in_its_box_and_the_box_is_small(amount: float) -> None:
    net = small_net()
    other = near(net.double(), amount, torch.Generator().manual_seed(1)).double()
    box = make_box(net, other)
    assert not list(escapes(box, net, other))
    for side, name in zip(box, ("0", "1", "5"), strict=True):
        found = boxes.measure_distance(net.get_submodule(name), other.get_submodule(name))
        for given_, least in ((side.distance.weights, found.weights), (side.distance.shift, found.shift)):
            assert least <= given_ <= max(least * 1.07, 2.0**-64)
    with pytest.raises(PactError, match="too far from the compressed network"):
        make_box(net, near(net, 1e30, torch.Generator().manual_seed(1)))


# --- the count --------------------------------------------------------------------------------------------------------


def margins(module: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    logits = module(x)
    rivals = logits.scatter(1, y[:, None], -torch.inf).amax(dim=1)
    return logits.gather(1, y[:, None]).squeeze(1) - rivals


def attack(net: Any, box: boxes.Box, x: torch.Tensor, y: torch.Tensor, steps: int) -> Any:
    """A network at the corner of the box: every layer moved against the margin of the samples, as far as it may."""
    other = copy.deepcopy(net)
    layers: list[tuple[str, Any]] = list(boxes._layers(net).items())
    for _ in range(steps):
        gradients = torch.autograd.grad(margins(other, x, y).sum(), list(other.parameters()))
        named = dict(zip([name for name, _ in other.named_parameters()], gradients, strict=True))
        with torch.no_grad():
            for side, (name, layer) in zip(box, layers, strict=True):
                target = other.get_submodule(name)
                if isinstance(layer, nn.modules.batchnorm._BatchNorm):
                    continue
                change = copy.deepcopy(layer)
                change.weight.copy_(-named[f"{name}.weight"])
                size = boxes.measure_distance(change, zeroed(change)).weights
                target.weight.copy_(layer.weight + change.weight * (side.distance.weights / size))
                slope = named[f"{name}.bias"]
                target.bias.copy_(layer.bias - slope * (side.distance.shift / slope.norm()))
    return other


def zeroed(layer: Any) -> Any:
    zero = copy.deepcopy(layer)
    with torch.no_grad():
        zero.weight.zero_()
    return zero


@pytest.mark.parametrize("kind", ["linear", "mlp", "conv"])
def test_no_network_in_the_box_errs_on_a_sample_that_is_not_counted(kind: str) -> None:
    """At random and at the corners: the logits stay within E(x), and margins above sqrt(2) E(x) stay positive."""
    generator = torch.Generator().manual_seed(3)
    nets = {
        "linear": lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 3)),
        "mlp": lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 3)),
        "conv": small_net,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        net = nets[kind]().double().eval()
    x = torch.rand(24, 1, 8, 8, generator=generator)
    y = net(x.double()).argmax(dim=1)
    data = ArraySamples(x.numpy(), y.numpy(), "x", 3)
    drawn = near(net, 0.004, generator)
    box = make_box(net, drawn)
    ((walked, _),) = walk_box(net, box, data, arithmetic="float64", batch=64, progress=None)
    safe = margins(net, x.double(), y).detach() > margin_needed(walked.bound)
    others = [drawn, *(attack(net, box, x[k : k + 1].double(), y[k : k + 1], steps=2) for k in range(8))]
    assert not list(escapes(box, net, drawn))
    worst = 0.0
    for other in others:
        with torch.no_grad():
            apart = torch.linalg.vector_norm(other(x.double()) - walked.values, dim=1)
            assert bool((apart <= walked.bound).all())
            assert bool((margins(other, x.double(), y)[safe] > 0).all())
            worst = max(worst, float((apart / walked.bound).max()))
            single = copy.deepcopy(other).float()
            if not list(escapes(box, net, single)):
                assert bool((torch.linalg.vector_norm(single(x).double() - walked.values, dim=1) <= walked.bound).all())
    # For one layer the corner is reached: a bound that is 5 % smaller would be wrong.
    assert worst > {"linear": 0.95, "mlp": 0.25, "conv": 0.02}[kind]
    errors = count_reachable_errors(net, box, data, arithmetic="float64")
    assert errors == box_checking._recount(net, box, data, "float64", None) == int((~safe).sum())


def test_near_ties_of_the_file_s_network_are_counted() -> None:
    """With an empty box what is left are the two networks' roundings."""
    net = nn.Linear(3, 3, bias=False)
    with torch.no_grad():
        net.weight.copy_(torch.eye(3))
    x = np.array([[1, 0, 0], [1, 1, 0], [np.nextafter(np.float32(1), np.float32(0)), 0, 1]], dtype=np.float32)
    data = ArraySamples(x, np.array([0, 0, 2]), "ties", 3)
    assert count_reachable_errors(net, (Side(None, None),), data, arithmetic="float32") == 2
    assert box_checking._recount(net, (Side(None, None),), data, "float32", None) == 2


def test_the_rounding_of_the_file_s_network_counts_beside_the_box() -> None:
    """Margins just below and just above sqrt(2) E(x) plus what rounding can do to the two logits."""
    generator = torch.Generator().manual_seed(5)
    net = nn.Linear(200, 2, bias=False)
    with torch.no_grad():
        net.weight.copy_(torch.randn(2, 200, generator=generator))
    across = (net.weight[0] - net.weight[1]).detach().double()
    start = torch.randn(200, generator=generator).double()
    start -= across * (start @ across) / (across @ across)

    def count(margin: float) -> tuple[int, int]:
        x = (start + across * margin / (across @ across)).float()
        data = ArraySamples(x.numpy()[None], np.array([0]), "one", 2)
        box = (Side(None, None),)
        recounted = box_checking._recount(net, box, data, "float32", None)
        return count_reachable_errors(net, box, data, arithmetic="float32"), recounted

    tie = ArraySamples(start.float().numpy()[None], np.array([0]), "tie", 2)
    ((walked, _),) = walk_box(net, (Side(None, None),), tie, arithmetic="float32", batch=1, progress=None)
    needed, rounding = float(margin_needed(walked.bound)), float(walked.spread.sum())
    assert rounding > 1e-3
    assert count(needed + 0.8 * rounding) == (1, 1)
    assert count(needed + 1.2 * rounding) == (0, 0)


def test_a_wider_box_counts_more(boxed: Case) -> None:
    module = boxed.pact.to_module()
    (side,) = decode_box(stated(boxed).box_message, module)
    assert side.weights is not None
    counts = [
        count_reachable_errors(
            module,
            (Side(ShortFloat(side.weights.exponent + k, 0), side.shift),),
            boxed.data.train,
            arithmetic="float32",
        )
        for k in (-2, 0, 1, 6)
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] == 1000


def test_certify_counts_with_the_coded_box(boxed: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with the exact distances: what is not in the message cannot enter the count."""
    seen = []

    def count(module: nn.Module, box: boxes.Box, *_: Any, **__: Any) -> int:
        seen.append(box)
        return 7

    monkeypatch.setattr(box_stating, "count_reachable_errors", count)
    certificate = certify_box(boxed.pact, boxed.original, boxed.data)
    assert seen == [decode_box(certificate.box_message, boxed.pact.to_module())]


# --- the command line, and a fresh process ----------------------------------------------------------------------------


def test_the_command_line_and_a_fresh_process(tmp_path: Path, boxed: Case, capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(boxed.data.train, ArraySamples)
    np.savez(tmp_path / "d.npz", x_train=boxed.data.train.inputs, y_train=boxed.data.train.labels)
    weights = save_weights(boxed.original, tmp_path / "w.safetensors")
    file = Pact(boxed.pact.message).write(tmp_path / "net.pact")
    data = [str(file), "--data", str(tmp_path / "d.npz")]
    assert run(["certify", *data, "--original", str(weights)]) == 0
    assert "every other network as close to the one in this file" in " ".join(capsys.readouterr().err.split())
    line = ["verify", *data, "--original", str(weights), "--json"]
    record = json.loads(run_fresh(*line).stdout)["original"]
    assert record["agreed"] is True
    assert record["verified_errors"] == record["errors"] == stated(boxed).errors
    other = copy.deepcopy(boxed.original)
    with torch.no_grad():
        next(other.parameters()).add_(0.01)
    assert run(["verify", *data, "--original", str(save_weights(other, tmp_path / "o.safetensors"))]) == 1
    assert "sha256" in capsys.readouterr().err
    assert run(["verify", *data]) == 0
    assert "statement about the original network (give --original)" in " ".join(capsys.readouterr().err.split())
    np.savez(tmp_path / "u.npz", x=boxed.fresh)
    assert run(["verify", *data, "--original", str(weights), "--unlabelled", str(tmp_path / "u.npz")]) == 1
    assert "rests on a box, not on unlabelled samples" in " ".join(capsys.readouterr().err.split())
    assert run(["verify", *data, "--unlabelled", str(tmp_path / "u.npz")]) == 2


def test_the_bound_is_the_one_of_the_second_opinion(boxed: Case) -> None:
    c = stated(boxed)
    opinion = check_bound(
        errors=c.errors, samples=1000, code_bits=c.code_bits, delta=c.delta, form="exact", bound=c.bound
    )
    assert opinion.holds
    assert opinion.own_bound == pytest.approx(c.bound, abs=1e-9)


def test_data_without_a_test_part(boxed: Case) -> None:
    bare = Data("bare", 10, boxed.data.train)
    assert certify_box(boxed.pact, boxed.original, bare).bound == stated(boxed).bound
