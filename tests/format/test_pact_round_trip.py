"""From a compressed network to bytes and back to a module: nothing is lost, nothing else is needed."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
import torch
from format.format_examples import (
    CONV,
    LINEAR,
    MLP,
    NETWORKS,
    OwnNet,
    all_tensors,
    codebook,
    compress,
    compress_own,
    exact,
    module_for,
    ternary,
    uniform,
    weights_sha256,
)
from torch import nn

from netpact.coding import ShortFloat
from netpact.coding.format import Compressed, Pact, decode_message, encode_message, measure_message, module_slots, seal
from netpact.coding.format.compressed import PRECISIONS
from netpact.coding.format.versions import OUTPUTS_VERSION
from netpact.coding.forms import CodedTensor, Exact, Uniform
from netpact.core.errors import PactError
from netpact.models import Architecture, OwnModule, build

HEADER = ("decoder version", "arithmetic", "input shape and classes", "architecture")
each_network = pytest.mark.parametrize("name", NETWORKS)


@each_network
def test_the_module_holds_exactly_the_compressed_weights(name: str) -> None:
    compressed = NETWORKS[name]
    pact = Pact.from_bytes(seal(compressed).to_bytes())
    module = pact.to_module(module_for(name))
    tensors = all_tensors(module)
    assert list(tensors) == list(compressed.tensors)
    for slot, coded in compressed.tensors.items():
        np.testing.assert_array_equal(tensors[slot].double().numpy(), coded.weights())
    assert not module.training
    assert not any(parameter.requires_grad for parameter in module.parameters())
    assert {p.dtype for p in module.parameters()} == {getattr(torch, PRECISIONS[compressed.arithmetic])}
    assert pact.architecture == compressed.architecture
    assert pact.arithmetic == compressed.arithmetic


@each_network
def test_decoding_gives_back_forms_and_symbols(name: str) -> None:
    compressed = NETWORKS[name]
    message = encode_message(compressed)
    decoded = decode_message(message, module_for(name))
    assert (decoded.arithmetic, decoded.rewrites) == (compressed.arithmetic, compressed.rewrites)
    for slot, coded in compressed.tensors.items():
        assert decoded.tensors[slot].form == coded.form
        np.testing.assert_array_equal(decoded.tensors[slot].symbols, coded.symbols)
    assert encode_message(decoded) == message


@each_network
def test_the_ledger_adds_up_to_the_message(name: str) -> None:
    ledger = measure_message(NETWORKS[name])
    assert tuple(field for field, _ in ledger[:4]) == HEADER
    steps = NETWORKS[name].rewrites
    version = seal(NETWORKS[name]).decoder_version
    first = 5 + (isinstance(NETWORKS[name].architecture, OwnModule) and version >= OUTPUTS_VERSION)
    head = first + len(steps) if version > 1 else 4
    assert [field for field, _ in ledger[first:head]] == [f"rewrite, {step}" for step in steps]
    assert len(ledger) == head + 2 * len(NETWORKS[name].tensors)
    ideal = sum(bits for _, bits in ledger)
    assert all(bits >= 0 for _, bits in ledger)
    assert ideal - 16 <= 8 * len(encode_message(NETWORKS[name])) <= 1.002 * ideal + 16


@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28)])
def test_the_header_of_a_linear_network_is_short(shape: tuple[int, ...]) -> None:
    ledger = measure_message(compress(Architecture(LINEAR, (), shape, 10), ternary))
    assert sum(bits for field, bits in ledger if field in HEADER) < 6 * 8


@pytest.mark.parametrize(
    ("shape", "classes"),
    [((1, 28, 28), 10), ((3, 32, 32), 10), ((1, 8, 8), 10), ((3, 32, 32), 100), ((1, 32, 32), 10), ((1, 28, 28), 11)],
)
def test_every_problem_comes_back(shape: tuple[int, ...], classes: int) -> None:
    pact = seal(compress(Architecture(CONV, (2,), shape, classes), codebook))
    assert pact.architecture == Architecture(CONV, (2,), shape, classes)


class TestSharedForms:
    def test_a_form_met_before_costs_next_to_nothing(self) -> None:
        architecture = Architecture(MLP, (6,) * 8, (6,), 2)
        costs = [bits for field, bits in measure_message(compress(architecture, codebook)) if field.endswith(": form")]
        first, *later = costs[::2]
        assert first > 30
        assert sum(later) < 20

    def test_tensors_of_one_form_share_what_is_learned(self) -> None:
        tensors = {"a": uniform((40,), 0), "b": uniform((40,), 2)}
        assert tensors["a"].form == tensors["b"].form
        apart = {**tensors, "b": CodedTensor(Uniform(ShortFloat(-4, 8)), tensors["b"].symbols, (40,))}
        together, separate = (measure_message(Compressed(OwnModule((4,), 2), t))[-1][1] for t in (tensors, apart))
        assert together < separate - 5

    def test_forms_are_named_latest_first(self) -> None:
        tensors = {str(place): uniform((1,), salt) for place, salt in enumerate([0, 1, 0, 0])}
        costs = [bits for field, bits in measure_message(Compressed(OwnModule((4,), 2), tensors)) if "form" in field]
        # "Not the latest?" was answered yes, yes: a further yes has (2 + 1/2)/3, a no has (1/2)/3.
        assert costs[2] == pytest.approx(-math.log2(1.5 / 2) + 1)
        assert costs[3] == pytest.approx(-math.log2(0.5 / 3))


class TestOwnModule:
    def test_needs_the_module(self) -> None:
        with pytest.raises(PactError, match="own module") as caught:
            seal(NETWORKS["own"]).to_module()
        assert "to_module(module)" in caught.value.hint

    def test_is_not_changed(self) -> None:
        module = OwnNet().train()
        before = weights_sha256(module)
        loaded = seal(NETWORKS["own"]).to_module(module)
        assert weights_sha256(module) == before
        assert module.training
        assert all(parameter.requires_grad for parameter in module.parameters())
        assert loaded is not module

    def test_the_decoded_module_does_not_depend_on_what_the_module_held(self) -> None:
        other = OwnNet()
        with torch.no_grad():
            for tensor in all_tensors(other).values():
                tensor.fill_(1)
        pact = seal(NETWORKS["own"])
        assert weights_sha256(pact.to_module(OwnNet())) == weights_sha256(pact.to_module(other))

    @pytest.mark.parametrize("other", [OwnNet(width=5), OwnNet(bias=False), nn.Linear(6, 3), nn.Sequential()])
    def test_another_module_is_refused(self, other: nn.Module) -> None:
        with pytest.raises(PactError):
            seal(NETWORKS["own"]).to_module(other)

    def test_a_network_of_ours_takes_no_module(self) -> None:
        with pytest.raises(PactError, match="netpact's own architecture") as caught:
            seal(NETWORKS["linear"]).to_module(nn.Linear(64, 10))
        assert "leave the module out" in caught.value.hint

    def test_too_large_a_module_is_refused(self) -> None:
        with pytest.raises(PactError, match="more than max_parameters = 20"):
            seal(NETWORKS["own"]).to_module(OwnNet(), max_parameters=20)

    def test_shared_weights_are_coded_once_and_stay_shared(self) -> None:
        names = [slot.name for slot in module_slots(OwnNet())]
        assert "middle.weight" in names
        assert not any(name.startswith("middle_again") for name in names)
        loaded: Any = seal(NETWORKS["own"]).to_module(OwnNet())
        assert loaded.middle is loaded.middle_again

    def test_buffers_that_no_state_dict_holds_are_coded(self) -> None:
        assert "shift" not in OwnNet().state_dict()
        loaded: Any = seal(NETWORKS["own"]).to_module(OwnNet())
        np.testing.assert_array_equal(loaded.shift.numpy(), NETWORKS["own"].tensors["shift"].weights())

    @pytest.mark.parametrize(("slot", "value"), [("norm.num_batches_tracked", 2.5), ("norm.num_batches_tracked", 1e30)])
    def test_a_tensor_of_whole_numbers_takes_no_others(self, slot: str, value: float) -> None:
        compressed = compress_own(OwnNet())
        bits = np.array([value], dtype=np.float32).view(np.uint32).astype(np.int64)
        pact = seal(Compressed(compressed.architecture, {**compressed.tensors, slot: CodedTensor(Exact(), bits, ())}))
        with pytest.raises(PactError, match="takes integers") as caught:
            pact.to_module(OwnNet())
        assert caught.value.where == slot

    def test_a_mask_takes_zero_and_one_only(self) -> None:
        compressed = compress_own(OwnNet())
        two = CodedTensor(Uniform(ShortFloat(0, 0)), np.full(4, 2, dtype=np.int64), (4,))
        with pytest.raises(PactError, match="from 0 to 1"):
            seal(Compressed(compressed.architecture, {**compressed.tensors, "mask": two})).to_module(OwnNet())

    def test_a_buffer_of_two_layers_is_refused_where_precision_would_part_it(self) -> None:
        module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        buffer = torch.zeros(3)
        module[0].register_buffer("table", buffer)
        module[1].register_buffer("table", buffer)
        tensors = {slot.name: exact(slot.shape, 0) for slot in module_slots(module)}
        with pytest.raises(PactError, match=r"1\.table"):
            seal(Compressed(OwnModule((2,), 2), tensors, "float64")).to_module(module)
        assert seal(Compressed(OwnModule((2,), 2), tensors)).to_module(copy.deepcopy(module)) is not None


class TestCompressed:
    def test_tensors_in_another_order_are_refused(self) -> None:
        good = NETWORKS["mlp"]
        turned = dict(reversed(list(good.tensors.items())))
        with pytest.raises(PactError, match="in this order"):
            seal(Compressed(good.architecture, turned))

    def test_tensors_of_another_shape_are_refused(self) -> None:
        good = NETWORKS["linear"]
        with pytest.raises(PactError, match=r"fc1\.weight \(10, 64\)"):
            seal(Compressed(good.architecture, {**good.tensors, "fc1.weight": ternary((64, 10), 0)}))

    def test_unknown_arithmetic_is_refused(self) -> None:
        with pytest.raises(PactError, match="float32, float64"):
            Compressed(NETWORKS["linear"].architecture, NETWORKS["linear"].tensors, "bfloat16")

    def test_a_network_without_tensors_is_refused(self) -> None:
        with pytest.raises(PactError, match="without tensors"):
            Compressed(OwnModule((2,), 2), {})

    def test_the_record_does_not_follow_the_dictionary_it_was_made_from(self) -> None:
        tensors = dict(NETWORKS["linear"].tensors)
        compressed = Compressed(NETWORKS["linear"].architecture, tensors)
        tensors.clear()
        assert compressed.tensors


def test_a_limit_is_checked_before_anything_is_decoded() -> None:
    with pytest.raises(PactError, match="650 parameters, more than max_parameters = 649") as caught:
        seal(NETWORKS["linear"]).to_module(max_parameters=649)
    assert "larger max_parameters" in caught.value.hint
    assert seal(NETWORKS["linear"]).to_module(max_parameters=650) is not None


def test_predictions_are_those_of_the_weights() -> None:
    compressed = NETWORKS["mlp"]
    expected = build(Architecture(MLP, (9, 5), (7,), 3)).double()
    state = {name: torch.from_numpy(coded.weights()) for name, coded in compressed.tensors.items()}
    expected.load_state_dict(state)
    x = torch.linspace(0, 1, 14, dtype=torch.float64).reshape(2, 7)
    torch.testing.assert_close(seal(compressed).to_module()(x), expected(x), rtol=0, atol=0)
