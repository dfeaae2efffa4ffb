"""The stream of decisions: there and back, within its promised length, readable without the library that wrote it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import constriction
import numpy as np
import pytest
from coding.reference_range_decoder import ReferenceDecoder
from hypothesis import given, settings
from hypothesis import strategies as st

from netpact.coding import HALF, Bits, Coder, Context, Decoder, Encoder, Meter
from netpact.coding.coder import Model
from netpact.coding.encoder import bernoulli
from netpact.core.errors import PactError

TOTAL = 1 << 24
Plane = tuple[Bits, Callable[[], Model]]


class Fixed:
    """One probability for ever."""

    def __init__(self, share: int) -> None:
        self._share = share

    def probability(self) -> int:
        return self._share

    def block(self) -> int:
        return 7

    def update(self, *, ones: int, total: int) -> None:
        pass


def plane(probability: float, count: int, seed: int = 0) -> Bits:
    return np.random.default_rng(seed).random(count) < probability


def run(coder: Coder, planes: list[Plane], *, known: bool) -> list[Bits]:
    return [coder.bits(values if known else None, len(values), model()) for values, model in planes]


def write(planes: list[Plane]) -> bytes:
    encoder = Encoder()
    run(encoder, planes, known=True)
    return encoder.to_bytes()


def same(first: list[Bits], planes: list[Plane]) -> bool:
    return all(np.array_equal(found, values) for found, (values, _) in zip(first, planes, strict=True))


models = st.one_of(
    st.just(Context), st.just(lambda: HALF), st.integers(1, TOTAL - 1).map(lambda share: lambda: Fixed(share))
)
planes_of_any_kind = st.lists(
    st.tuples(st.lists(st.booleans(), max_size=90).map(lambda bits: np.array(bits, dtype=np.bool_)), models), max_size=5
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(planes=planes_of_any_kind)
def test_decisions_come_back_from_both_decoders(planes: list[Plane]) -> None:
    message = write(planes)
    assert same(run(Decoder(message), planes, known=False), planes)
    assert same(run(ReferenceDecoder(message), planes, known=False), planes)


@pytest.mark.parametrize("probability", [0, 1e-3, 0.1, 0.5, 0.9, 1])
@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 63, 64, 65, 1000, 20_000])
def test_planes_of_all_lengths_come_back_from_both_decoders(probability: float, count: int) -> None:
    planes: list[Plane] = [(plane(probability, count), Context), (plane(0.5, 9), lambda: HALF)]
    message = write(planes)
    assert same(run(Decoder(message), planes, known=False), planes)
    assert same(run(ReferenceDecoder(message), planes, known=False), planes)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(message=st.binary(max_size=24), seed=st.integers(0, 5))
def test_both_decoders_agree_on_bytes_that_no_encoder_wrote(message: bytes, seed: int) -> None:
    shares = np.random.default_rng(seed).integers(1, TOTAL, 60)

    def read(decoder: Coder) -> list[bool | str]:
        decisions: list[bool | str] = []
        for share in shares:
            try:
                decisions.append(bool(decoder.bits(None, 1, Fixed(int(share)))[0]))
            except PactError:
                return [*decisions, "refused"]
        return decisions

    assert read(Decoder(message)) == read(ReferenceDecoder(message))


@pytest.mark.parametrize("probability", [0.5, 0.1, 0.02])
def test_a_million_decisions_take_their_ideal_length(probability: float) -> None:
    within_promise([(plane(probability, 1_000_000), Context)])


@pytest.mark.parametrize("probability", [0, 0.004, 0.03, 0.3, 0.5, 0.97, 1])
@pytest.mark.parametrize("count", [1, 10, 100, 3_000, 30_000])
def test_planes_take_their_ideal_length(probability: float, count: int) -> None:
    within_promise([(plane(probability, count, seed), Context) for seed in range(3)])


def test_a_drifting_plane_takes_its_ideal_length() -> None:
    drift = np.random.default_rng(1).random(100_000) < np.linspace(0, 0.5, 100_000)
    within_promise([(drift, Context), (drift[::-1], Context), (np.tile([True, False], 5000), Context)])


def test_even_odds_cost_one_bit_each() -> None:
    meter = Meter()
    meter.bits(plane(0.5, 12_345), 12_345, HALF)
    assert meter.total == 12_345


def within_promise(planes: list[Plane]) -> None:
    meter = Meter()
    run(meter, planes, known=True)
    assert 8 * len(write(planes)) <= 1.002 * meter.total + 16


def exact_interval(planes: list[Plane]) -> tuple[Fraction, Fraction]:
    """The interval of [0, 1) that stands for these decisions, in unbounded arithmetic."""
    low, span, scale = 0, (1 << 64) - 1, 64
    for values, make in planes:
        model = make()
        position = 0
        while position < len(values):
            block = values[position : position + model.block()]
            share = model.probability()
            for one in block:
                unit = span >> 24
                low += (TOTAL - share) * unit if one else 0
                span = (share if one else TOTAL - share) * unit
                if span < 1 << 32:
                    low, span, scale = low << 32, span << 32, scale + 32
            model.update(ones=int(np.count_nonzero(block)), total=len(block))
            position += len(block)
    return Fraction(low, 1 << scale), Fraction(low + span, 1 << scale)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(planes=planes_of_any_kind)
def test_no_shorter_message_says_the_same(planes: list[Plane]) -> None:
    message = write(planes)
    low, high = exact_interval(planes)
    assert low <= Fraction(int.from_bytes(message, "big"), 1 << 8 * len(message)) < high
    if message:
        shorter = 1 << 8 * (len(message) - 1)
        first_multiple = Fraction(-(-low * shorter // 1), shorter)
        assert first_multiple >= high
        assert message[-1] != 0


@pytest.mark.parametrize("probability", [0.02, 0.5, 0.98])
@pytest.mark.parametrize("count", [1, 9, 64, 500])
def test_no_prefix_of_a_message_decodes_to_the_same(probability: float, count: int) -> None:
    planes: list[Plane] = [(plane(probability, count), Context)]
    message = write(planes)
    for length in range(len(message)):
        try:
            found = run(Decoder(message[:length]), planes, known=False)
        except PactError:
            continue
        assert not same(found, planes)


def test_a_message_of_zeros_need_not_be_written() -> None:
    planes: list[Plane] = [(np.zeros(5000, dtype=np.bool_), lambda: HALF)]
    assert write(planes) == b""
    assert same(run(Decoder(write(planes)), planes, known=False), planes)


class TestContext:
    @settings(max_examples=300, deadline=None, derandomize=True)
    @given(total=st.integers(0, 10**15), data=st.data())
    def test_probability_is_the_rounded_estimate_in_integers(self, total: int, data: st.DataObject) -> None:
        context = Context()
        context.update(ones=data.draw(st.integers(0, total)), total=total)
        share = context.probability()
        assert type(share) is int
        assert 1 <= share <= TOTAL - 1
        estimate = Fraction(2 * context.ones + 1, 2 * context.total + 2) * TOTAL
        assert share == min(max(int(estimate), 1), TOTAL - 1)

    @pytest.mark.parametrize(
        ("ones", "total", "share"), [(0, 0, TOTAL // 2), (0, 1, TOTAL // 4), (3, 3, TOTAL * 7 // 8)]
    )
    def test_first_probabilities(self, ones: int, total: int, share: int) -> None:
        context = Context()
        context.update(ones=ones, total=total)
        assert context.probability() == share

    def test_ends_are_never_certain(self) -> None:
        never, always = Context(), Context()
        never.update(ones=0, total=10**18)
        always.update(ones=10**18, total=10**18)
        assert never.probability() == 1
        assert always.probability() == TOTAL - 1

    @pytest.mark.parametrize(("total", "block"), [(0, 1), (31, 1), (32, 2), (64, 3), (3200, 101)])
    def test_a_block_is_a_thirty_second_of_what_was_seen(self, total: int, block: int) -> None:
        context = Context()
        context.update(ones=0, total=total)
        assert context.block() == block


def test_the_library_keeps_every_probability_exactly() -> None:
    """After one decision the coder's span is share * (2^40 - 1): read the share there."""
    drawn = np.random.default_rng(0).integers(1, TOTAL, 4000)
    for share in [1, 2, 3, TOTAL // 2 - 1, TOTAL // 2, TOTAL // 2 + 1, TOTAL - 2, TOTAL - 1, *map(int, drawn)]:
        unit = ((1 << 64) - 1) >> 24
        for one, part in ((True, share), (False, TOTAL - share)):
            encoder = constriction.stream.queue.RangeEncoder()
            encoder.encode(np.array([one], dtype=np.int32), bernoulli(share))
            assert encoder.pos()[1][1] == part * unit


def test_coders_refuse_what_they_cannot_do() -> None:
    for coder in (Encoder(), Meter()):
        with pytest.raises(ValueError, match="exactly the values"):
            coder.bits(None, 3, HALF)
        with pytest.raises(ValueError, match="exactly the values"):
            coder.bits(np.zeros(2, dtype=np.bool_), 3, HALF)
    with pytest.raises(ValueError, match="reads values"):
        Decoder(b"").bits(np.zeros(1, dtype=np.bool_), 1, HALF)


def test_bytes_outside_every_interval_are_refused() -> None:
    with pytest.raises(PactError, match="no message"):
        Decoder(b"\xff" * 16).bits(None, 100, HALF)
