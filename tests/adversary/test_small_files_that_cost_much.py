"""Small files that cost much: what a hundred bytes ask for is refused before it is done, and told with its override.

The adversary tried: a certificate of many keys, one of them twice; a projection by 2^36 signs, and many that are each
just below a limit; thousands of forms that all differ, each compared with all before it; a product of two matrices of
full rank; a codebook of 256 equal values over a hundred million weights; weights of 32 bits that cost no bytes; layers
in CP or Tucker form that are larger than what they replace.
"""

from __future__ import annotations

import math
import re
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
import torch
from format.format_examples import LINEAR, MLP, NETWORKS, wrap
from torch import nn

from netpact import Limits
from netpact.coding import HALF, Budget, Decoder, Encoder, ShortFloat, code_uint
from netpact.coding.format import Compressed, Pact, decode_message, encode_message
from netpact.coding.format.message import _code_header, _silent
from netpact.coding.forms import (
    Codebook,
    CodedTensor,
    Difference,
    Form,
    KeptInNoise,
    LowRank,
    Projected,
    Projection,
    Sketched,
    Sparse,
    SparseMatrix,
    Ternary,
    Uniform,
    Zero,
    code_form,
)
from netpact.core.errors import PactError
from netpact.core.json import read_object
from netpact.layers.rewrites import CPLayer, Step, TuckerLayer, apply_steps
from netpact.models import Architecture, parameter_shapes

STEP = ShortFloat(0, 0)
LARGE = Architecture(LINEAR, (), (10, 1000), 9900)  # 99 million weights
DEEP = Architecture(10, (50, 1, 1), (1, 8, 8), 3)
MINUTE = 1 << 36  # steps: no default lets a small file take longer


class Counted(Budget):
    """A budget whose last state is looked at when the work is over."""

    last: Counted | None = None

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        Counted.last = self
        super().charge(work=work, memory=memory, kept=kept)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> type[Counted]:
    monkeypatch.setattr("netpact.coding.format.message.Budget", Counted)
    return Counted


def zeros(architecture: Architecture, form_of: Callable[[int, tuple[int, ...]], Form]) -> Compressed:
    tensors = {}
    for place, (name, shape) in enumerate(parameter_shapes(architecture).items()):
        form = form_of(place, shape)
        tensors[name] = CodedTensor(form, np.zeros(form.symbol_count(shape), dtype=np.int64), shape)
    return Compressed(architecture, tensors)


def beginning(architecture: Architecture, form: Form) -> bytes:
    """A message that ends after the form of its first tensor; zeros follow."""
    encoder = Encoder()
    known = zeros(Architecture(LINEAR, (), (1,), 2), lambda _, __: Zero())
    _code_header(encoder, Compressed(architecture, known.tensors), _silent)
    code_form(encoder, form)
    return encoder.to_bytes()


HOSTILE: dict[str, tuple[Architecture, Form, str]] = {
    "sign projection": (Architecture(LINEAR, (), (256, 1024), 16), Projection(STEP, 1 << 14, "signs"), "max_work"),
    "low rank": (LARGE, LowRank(STEP, 2, (9900,)), "max_work"),
    "low rank that fills memory": (LARGE, LowRank(STEP, 2, (2500,)), "max_memory"),
    "codebook": (LARGE, Codebook((None,) * 256), "max_memory"),
    "hadamard": (LARGE, Projection(STEP, 1, "hadamard"), "max_work"),
    "sparse codebook": (LARGE, Sparse(Codebook((None,) * 2)), "max_memory"),
    "sparse matrix": (LARGE, SparseMatrix(Ternary(STEP)), "max_memory"),
    "projected": (Architecture(LINEAR, (), (256, 1024), 16), Projected(Ternary(STEP), 1 << 14, "signs"), "max_work"),
    "nothing projected": (LARGE, Projected(Zero(), 1, "hadamard"), "max_work"),
    "noise around a codebook": (LARGE, KeptInNoise(Sparse(Codebook((None,) * 2)), STEP), "max_memory"),
    "sketch of many rounds": (LARGE, Sketched(STEP, 1, 1, 1, rounds=4096), "max_work"),
    "sketch with a large inverse": (LARGE, Sketched(STEP, 9000, 9, 9, rounds=1), "max_work"),
    "a difference of nothing": (LARGE, Difference(Zero()), "max_memory"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hundred_bytes_are_refused_before_the_work(name: str, counted: type[Counted]) -> None:
    architecture, form, limit = HOSTILE[name]
    message = beginning(architecture, form)
    assert len(message) < 100
    with pytest.raises(PactError) as caught:
        Pact.from_bytes(wrap(message)).to_module()
    assert re.search("takes at least [0-9,]+ (steps|bytes)", caught.value.what)
    assert limit in caught.value.hint
    assert f"--{limit.replace('_', '-')}" in caught.value.hint
    assert "tensor fc1.weight" in caught.value.where
    assert counted.last is not None
    # Nothing was decoded but the header and the form: a few hundred calls of the coder, and no symbols.
    assert counted.last.work < form.effort(parameter_shapes(architecture)["fc1.weight"]).work + 100_000_000


WIDE = Architecture(LINEAR, (), (2, 4096), 8192)  # 67 million weights


def test_factors_that_are_larger_than_the_layer_are_refused_before_the_work() -> None:
    """The numbers of the rewritten network are limited as those of any other; nothing is allocated to count them."""
    encoder = Encoder()
    nothing = {"": CodedTensor(Zero(), np.zeros(0, dtype=np.int64), (1,))}
    steps = (Step(2, CPLayer(64 * 64 * 128, 64, 64)),)
    _code_header(encoder, Compressed(WIDE, nothing, rewrites=steps), _silent)
    message = encoder.to_bytes()
    assert len(message) < 100
    tracemalloc.start()
    try:
        with pytest.raises(PactError, match="201,334,784 parameters, more than max_parameters"):
            Pact.from_bytes(wrap(message)).to_module()
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_no_cp_layer_has_more_than_four_times_the_numbers() -> None:
    """Whatever sides and ranks a message names; a Tucker layer at most three times as many."""
    random = np.random.default_rng(0)
    for _ in range(300):
        outputs, inputs, side = (int(random.integers(1, most)) for most in (40, 40, 6))
        with torch.device("meta"):
            conv, linear = nn.Conv2d(inputs, outputs, side, bias=False), nn.Linear(inputs, outputs, bias=False)
        rows = [int(random.choice([n for n in range(1, w + 1) if w % n == 0])) for w in (inputs, outputs)]
        sides = rows[0], inputs // rows[0], rows[1], outputs // rows[1]
        most = math.prod(sides) // max(sides)
        found = apply_steps(nn.Sequential(linear), [Step(1, CPLayer(most, *rows))])
        assert sum(p.numel() for p in found.parameters()) <= 4 * linear.weight.numel()
        with pytest.raises(PactError, match="the rank must be"):
            apply_steps(nn.Sequential(linear), [Step(1, CPLayer(most + 1, *rows))])
        modes = outputs, inputs, side**2
        most = math.prod(modes) // max(modes)
        found = apply_steps(nn.Sequential(conv), [Step(1, CPLayer(most, 0, 0))])
        assert sum(p.numel() for p in found.parameters()) <= 3 * conv.weight.numel()
        with pytest.raises(PactError, match="the rank must be"):
            apply_steps(nn.Sequential(conv), [Step(1, CPLayer(most + 1, 0, 0))])
        ranks = min(modes[0], modes[1] * modes[2]), min(modes[1], modes[0] * modes[2])
        found = apply_steps(nn.Sequential(conv), [Step(1, TuckerLayer(*ranks))])
        assert sum(p.numel() for p in found.parameters()) <= 3 * max(conv.weight.numel(), *(n * n for n in modes[:2]))


def test_the_sum_over_all_tensors_is_limited_not_each_of_them() -> None:
    architecture = Architecture(MLP, (64,) * 8, (64,), 64)
    form = Projection(STEP, 256, "signs")
    message = encode_message(zeros(architecture, lambda _, shape: form if len(shape) == 2 else Zero()))
    one = form.effort((64, 64)).work
    with pytest.raises(PactError, match="steps of work") as caught:
        decode_message(message, max_parameters=Limits(max_work=5 * one))
    assert "tensor fc1.weight" not in caught.value.where
    assert decode_message(message, max_parameters=Limits(max_work=12 * one)).architecture == architecture


def test_a_file_of_many_forms_is_refused_when_its_comparisons_are_too_many(counted: type[Counted]) -> None:
    """Every form is compared with all that were met before: the square of their number, for two bytes each."""

    def different(place: int, _: tuple[int, ...]) -> Form:
        return (Uniform, Ternary)[place % 2](ShortFloat(place // 32 % 128 - 64, place // 2 % 16))

    message = encode_message(zeros(DEEP, different))
    flags = len(parameter_shapes(DEEP)) ** 2 // 2
    assert len(message) < flags / 40
    with pytest.raises(PactError, match="steps of work"):
        decode_message(message, max_parameters=Limits(max_work=5_000 * flags))
    assert counted.last is not None
    assert counted.last.work < 6_000 * flags
    assert decode_message(message).architecture == DEEP


def test_symbols_that_cost_no_bytes_are_refused_as_they_come() -> None:
    """Equal symbols are nearly free in length, but each takes up to 64 decisions: charged plane by plane."""
    shape = (5, 4000)
    message = encode_message(
        Compressed(
            Architecture(LINEAR, (), (4000,), 5),
            {
                "fc1.weight": CodedTensor(Uniform(STEP), np.full(20_000, 2**32 - 1), shape),
                "fc1.bias": CodedTensor(Zero(), np.zeros(0, dtype=np.int64), (5,)),
            },
        )
    )
    assert len(message) < 300
    with pytest.raises(PactError, match="steps of work"):
        decode_message(message, max_parameters=Limits(max_work=50_000_000))
    with pytest.raises(PactError, match="bytes of memory"):
        decode_message(message, max_parameters=Limits(max_memory=1_000_000))
    assert decode_message(message).tensors["fc1.weight"].symbols[0] == 2**32 - 1


def test_what_no_default_lets_through_stays_below_a_minute() -> None:
    budget = Budget(Limits(), message_bytes=100)
    with pytest.raises(PactError):
        budget.charge(work=MINUTE)
    with pytest.raises(PactError):
        Budget(Limits(), message_bytes=100).charge(memory=(3 << 30) + 100 * 1024)


def test_a_long_message_may_cost_more_than_a_short_one() -> None:
    short, long = Budget(Limits(max_work=1000), message_bytes=0), Budget(Limits(max_work=1000), message_bytes=1000)
    with pytest.raises(PactError, match="at least 1,001 steps of work"):
        short.charge(work=1001)
    long.charge(work=1001)


def test_a_decoder_always_has_a_budget() -> None:
    with pytest.raises(PactError, match="steps of work"):
        Decoder(b"").charge(work=MINUTE)
    assert code_uint(Decoder(b""), None) == 0


def test_every_decision_of_a_plane_is_charged_before_the_first_is_read() -> None:
    budget = Budget(Limits(max_work=1_000_000), message_bytes=0)
    with pytest.raises(PactError, match="at least 5,000,000 steps"):
        Decoder(b"", budget).bits(None, 100_000, HALF)


def test_a_module_of_zeros_is_charged_as_well() -> None:
    """No symbols, and three bytes for the forms; but the module is made."""
    message = encode_message(zeros(Architecture(LINEAR, (), (1, 8, 8), 10), lambda _, __: Zero()))
    with pytest.raises(PactError, match="bytes of memory"):
        decode_message(message, max_parameters=Limits(max_memory=4_000))


@pytest.mark.parametrize("name", NETWORKS)
def test_honest_networks_use_little_of_the_default(name: str, counted: type[Counted]) -> None:
    from format.format_examples import module_for

    decode_message(encode_message(NETWORKS[name]), module_for(name))
    assert counted.last is not None
    assert 0 < counted.last.work < Limits().max_work // 20


class Key(str):
    """A key that counts how often it is compared or hashed."""

    looks = 0

    def __hash__(self) -> int:
        Key.looks += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        Key.looks += 1
        return super().__eq__(other)


def test_many_keys_are_checked_in_one_pass() -> None:
    from netpact.core.json import _unique

    pairs = [(Key(f"{number:x}"), 0) for number in range(3000)]
    Key.looks = 0
    with pytest.raises(ValueError, match="duplicate key: bb7"):
        _unique([*pairs, (Key(f"{2999:x}"), 1)])
    assert Key.looks < 20 * len(pairs)


def test_a_long_error_is_cut() -> None:
    with pytest.raises(PactError) as caught:
        Pact.from_bytes(wrap(b"\x01", b"{" + b",".join(b'"%x":0' % n for n in range(30_000)) + b"}"))
    assert len(str(caught.value)) < 5_000
    assert read_object('{"a":1}', where="record") == {"a": 1}


@pytest.mark.parametrize("field", ["max_parameters", "max_work", "max_memory", "max_training"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, None])
def test_limits_are_checked(field: str, value: object) -> None:
    with pytest.raises(PactError, match=f"{field}: must be an integer >= 1"):
        Limits(**{field: value})  # type: ignore[arg-type]
