"""Damaged messages behind a right checksum: each is refused with a PactError, or is a valid small network."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
import torch
from format.format_examples import (
    CONV,
    LINEAR,
    MLP,
    NETWORKS,
    Maker,
    OwnNet,
    all_tensors,
    codebook,
    compress,
    exact,
    low_rank,
    projected,
    projection,
    rare,
    scaled,
    sparse,
    sparse_matrix,
    symmetric,
    ternary,
    ternary_template,
    uniform,
    wrap,
    zero,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from netpact.coding.format import Pact, encode_message
from netpact.coding.format.message import _FormBook
from netpact.core.errors import PactError
from netpact.models import Architecture

MAX_PARAMETERS = 20_000
CASES_PER_SEED = 1000
SEEDS = range(5)
SECONDS_PER_CASE = 5.0
# Some twenty arrays of 8 bytes a parameter live at once; the rest is what a process needs anyway.
PEAK_BYTES = 200 * MAX_PARAMETERS + 1_000_000

NETWORKS_TO_DAMAGE = [
    compress(Architecture(LINEAR, (), (4,), 3), ternary),
    compress(Architecture(LINEAR, (), (1, 8, 8), 10), ternary),
    compress(Architecture(MLP, (5,), (6,), 3), uniform),
    compress(Architecture(MLP, (4, 4), (6,), 3), exact),
    compress(Architecture(MLP, (9,), (5,), 4), zero),
    compress(Architecture(CONV, (2, 3), (1, 6, 6), 3), codebook),
    compress(Architecture(CONV, (2, 3), (1, 6, 6), 3), ternary_template),
    compress(Architecture(CONV, (2, 3), (1, 6, 6), 3), low_rank),
    compress(Architecture(MLP, (8, 6, 5), (6,), 3), projection),
    compress(Architecture(CONV, (2, 3), (1, 6, 6), 3), scaled),
    compress(Architecture(MLP, (8, 6, 5), (6,), 3), sparse),
    compress(Architecture(MLP, (8, 6, 5), (6,), 3), sparse_matrix),
    compress(Architecture(MLP, (8, 6, 5), (6,), 3), projected),
    compress(Architecture(LINEAR, (), (50, 50), 2), rare),  # a plane long enough to be coded by gaps
    NETWORKS["lnconv"],
    NETWORKS["symmetric"],
    NETWORKS["rewritten-conv"],
    NETWORKS["folded-resnet"],
    NETWORKS["factored"],
    NETWORKS["cp-conv"],
    NETWORKS["cp-mlp"],
    NETWORKS["tucker-conv"],
    NETWORKS["whole-conv"],
    NETWORKS["whole-resnet"],
    NETWORKS["own-rewritten"],
    NETWORKS["own-cp"],
    NETWORKS["own"],
]
MESSAGES = [encode_message(network) for network in NETWORKS_TO_DAMAGE]
OWN = MESSAGES[-3:]


def damage(random: np.random.Generator, message: bytes) -> bytes:
    kind = random.integers(7)
    place = int(random.integers(len(message) + 1))
    some = random.bytes(int(random.integers(1, 5)))
    if kind <= 1:
        flipped = bytearray(message)
        for _ in range(random.integers(1, 4)):
            flipped[random.integers(len(message))] ^= 1 << random.integers(8)
        return bytes(flipped)
    if kind == 2:
        return message[:place] + some + message[place:]
    if kind == 3:
        return message[:place] + message[place + len(some) :]
    if kind == 4:
        other = MESSAGES[random.integers(len(MESSAGES))]
        return message[:place] + other[random.integers(len(other) + 1) :]
    if kind == 5:
        return some + message[place:]
    return message[:place] + random.bytes(int(random.integers(12)))


def open_untrusted(message: bytes, module: nn.Module | None) -> bool:
    """True if the message was taken; then the network has been checked. Any error but a PactError comes through."""
    try:
        loaded = Pact.from_bytes(wrap(message)).to_module(module, max_parameters=MAX_PARAMETERS)
    except PactError as error:
        refusal = error
    else:
        check_network(loaded)
        return True
    assert refusal.what
    assert refusal.where
    return False


def check_network(loaded: nn.Module) -> None:
    tensors = all_tensors(loaded)
    assert sum(tensor.numel() for tensor in tensors.values()) <= MAX_PARAMETERS
    assert all(bool(torch.isfinite(tensor).all()) for tensor in tensors.values())


class Depth:
    """How many messages came as far as their tensors."""

    def __init__(self) -> None:
        self.reached = False
        self.messages = 0

    def note(self) -> None:
        self.messages += not self.reached
        self.reached = True


@pytest.fixture
def depth(monkeypatch: pytest.MonkeyPatch) -> Depth:
    counter = Depth()
    code = _FormBook.code

    def counted(*arguments: object) -> object:
        counter.note()
        return code(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(_FormBook, "code", counted)
    return counter


def run_cases(seed: int, count: int, depth: Depth) -> int:
    """How many of the damaged messages were taken."""
    random = np.random.default_rng(seed)
    own = OwnNet()
    taken = 0
    for _ in range(count):
        message = MESSAGES[random.integers(len(MESSAGES))]
        depth.reached = False
        start = time.perf_counter()
        taken += open_untrusted(damage(random, message), own if message in OWN else None)
        assert time.perf_counter() - start < SECONDS_PER_CASE
    return taken


@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_messages_are_refused_or_valid(seed: int, depth: Depth) -> None:
    taken = run_cases(seed, CASES_PER_SEED, depth)
    assert depth.messages >= CASES_PER_SEED // 2
    assert 10 <= taken <= CASES_PER_SEED - 10  # neither side of the alternative goes untested


def peak_bytes(work: Callable[[], object]) -> int:
    Pact(MESSAGES[0]).to_module()  # what is imported on first use does not count
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_damaged_messages_take_little_memory(depth: Depth) -> None:
    assert peak_bytes(lambda: run_cases(100, 150, depth)) < PEAK_BYTES


@pytest.mark.parametrize(
    "maker",
    [
        ternary,
        rare,
        uniform,
        codebook,
        exact,
        low_rank,
        projection,
        scaled,
        sparse,
        sparse_matrix,
        projected,
        ternary_template,
        symmetric("mirror"),
    ],
)
def test_the_largest_allowed_network_takes_little_memory(maker: Maker) -> None:
    message = encode_message(compress(Architecture(LINEAR, (), (3999,), 5), maker))
    assert peak_bytes(lambda: Pact(message).to_module(max_parameters=MAX_PARAMETERS)) < PEAK_BYTES


@settings(max_examples=300, deadline=None, derandomize=True)
@given(message=st.binary(max_size=40))
def test_any_bytes_are_refused_or_valid(message: bytes) -> None:
    open_untrusted(message, None)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(message=st.binary(max_size=40), prefix=st.integers(0, 6), base=st.sampled_from(MESSAGES[:-3]))
def test_any_bytes_behind_a_header_are_refused_or_valid(message: bytes, prefix: int, base: bytes) -> None:
    open_untrusted(base[:prefix] + message, None)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(content=st.binary(max_size=60), magic=st.booleans())
def test_any_file_is_refused(content: bytes, magic: bool) -> None:
    with pytest.raises(PactError):
        Pact.from_bytes((b"PACT\x01" if magic else b"") + content)
