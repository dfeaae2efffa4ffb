"""The helper stream: Philox against its known answers, random access, signs, keys, and Gaussians from the table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from netpact.algebra.stream import GAUSSIAN_UNIT, MAX_SEED, Stream, philox
from netpact.algebra.stream.gaussian_table import gaussian_table
from netpact.core.errors import PactError

# The known-answer tests of Random123: counter, key, output.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
GOLDEN_WORDS = ["1c9ce88f", "7a87f17a", "f4c5bbfe", "669bb4d3"]
GOLDEN_SIGNS = "++-+++-+---++---++-++---"
GOLDEN_GAUSSIANS = [1723019, 369077, 1190814, -616012, 232583]
GOLDEN_KEYS = ["22331f32645ae4e2", "2c224967b38b65f3"]


def reference_philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox4x32-10 in plain whole numbers, written down from the paper's figure."""
    for step in range(10):
        if step:
            key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
        high0, low0 = divmod(0xD2511F53 * counter[0], 2**32)
        high1, low1 = divmod(0xCD9E8D57 * counter[2], 2**32)
        counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0]
    return counter


def reference_word(stream: Stream, index: int) -> int:
    block, place = divmod(index, 4)
    name = int(hashlib.sha256(stream.purpose.encode()).hexdigest()[:8], 16)
    return reference_philox([block % 2**32, block >> 32, stream.layer, 0], [stream.seed, name])[place]


def parse(words: str) -> list[int]:
    return [int(word, 16) for word in words.split()]


@pytest.mark.parametrize(("counter", "key", "output"), KNOWN)
def test_known_answers(counter: str, key: str, output: str) -> None:
    c, k = parse(counter), parse(key)
    assert reference_philox(c, k) == parse(output)
    words = philox.philox_words(c[0] | c[1] << 32, 1, upper=(c[2], c[3]), key=(k[0], k[1]))
    assert words.tolist() == parse(output)


@pytest.mark.parametrize("start", [0, 1, 6, 4 * 2**32 - 3, 2**66 - 8])
def test_words_are_those_of_the_reference(start: int) -> None:
    stream = Stream(0xFFFF0001, "some purpose", 0x80000007)
    assert stream.words(start, 8).tolist() == [reference_word(stream, start + i) for i in range(8)]


def test_golden_values() -> None:
    """What was drawn once is drawn for ever: files depend on it."""
    stream = Stream(7, "projection signs", 3)
    assert [f"{word:08x}" for word in stream.words(0, 4)] == GOLDEN_WORDS
    assert "".join("-+"[int(sign > 0)] for sign in stream.signs(5, 24)) == GOLDEN_SIGNS
    assert stream.gaussians(10, 5).tolist() == GOLDEN_GAUSSIANS
    assert [f"{key:016x}" for key in stream.keys(2, 2)] == GOLDEN_KEYS


def test_octets_signs_and_keys_are_the_bits_of_the_words() -> None:
    stream = Stream(3, "bits")
    number = sum(reference_word(stream, i) << 32 * i for i in range(20))
    assert stream.octets(0, 80).tolist() == [number >> 8 * i & 255 for i in range(80)]
    assert stream.signs(0, 640).tolist() == [1 - 2 * (number >> i & 1) for i in range(640)]
    assert stream.keys(0, 10).tolist() == [number >> 64 * i & 2**64 - 1 for i in range(10)]
    halves = [number >> 16 * i & 65535 for i in range(40)]
    table = gaussian_table().tolist()
    expected = [(-1 if half >> 15 else 1) * table[half % 2048] for half in halves]
    assert stream.gaussians(0, 40).tolist() == expected


Draw = Callable[[Stream, int, int], NDArray[Any]]
KINDS: dict[str, Draw] = {
    "words": Stream.words,
    "octets": Stream.octets,
    "signs": Stream.signs,
    "keys": Stream.keys,
    "gaussians": Stream.gaussians,
}


@pytest.mark.parametrize("draw", KINDS.values(), ids=KINDS)
def test_any_part_can_be_had_alone(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(11, "parts", 2)
    whole = draw(stream, 0, 300)
    for start in (0, 1, 2, 3, 5, 31, 33, 64, 299, 300):
        for count in (0, 1, 2, 7, 40):
            part = draw(stream, start, count)
            assert len(part) == count
            assert part.dtype == whole.dtype
            assert np.array_equal(part[: 300 - start], whole[start : start + count])
    monkeypatch.setattr(philox, "_AT_A_TIME", 3)
    assert np.array_equal(draw(stream, 0, 300), whole)


def test_seed_purpose_and_layer_give_other_streams() -> None:
    streams = [Stream(0, "a"), Stream(1, "a"), Stream(0, "b"), Stream(0, "a", 1), Stream(MAX_SEED, "a", MAX_SEED)]
    drawn = np.stack([stream.signs(0, 10_000).astype(np.float64) for stream in streams])
    # Two unrelated rows of signs have a product of about +-100; 500 is five of its deviations.
    assert np.abs(drawn @ drawn.T - 10_000 * np.eye(5)).max() < 500


def test_signs_are_even_in_every_place_of_a_word() -> None:
    signs = Stream(5, "balance").signs(0, 32 * 20_000).reshape(-1, 32).astype(np.int64)
    assert signs.dtype == np.int64
    assert set(np.unique(signs)) == {-1, 1}
    # 32 places of deviation sqrt(20,000): beyond five deviations with probability below 2e-5.
    assert np.abs(signs.sum(axis=0)).max() < 5 * np.sqrt(20_000)
    assert abs(float((signs[:, :-1] * signs[:, 1:]).sum())) < 5 * np.sqrt(31 * 20_000)


def test_the_table_holds_the_normal_distribution() -> None:
    """Every entry computed again: the root of the mean square of its cell of probability 1/4096."""
    with mpmath.workdps(40):
        edges = [mpmath.sqrt(2) * mpmath.erfinv(mpmath.mpf(i) / 2048) for i in range(2048)]
        moments = [x * mpmath.npdf(x) for x in edges] + [mpmath.mpf(0)]
        squares = [1 + 4096 * (moments[i] - moments[i + 1]) for i in range(2048)]
        expected = [int(mpmath.nint(mpmath.sqrt(square) * 2**20)) for square in squares]
    assert gaussian_table().tolist() == expected
    values = gaussian_table() * GAUSSIAN_UNIT
    assert np.mean(values**2) == pytest.approx(1, abs=1e-9)
    cells = stats.norm.cdf(values) * 4096 - 2048
    assert np.all((np.arange(2048) <= cells) & (cells <= np.arange(1, 2049)))


def test_gaussians_are_normal_within_the_tables_resolution() -> None:
    count = 1 << 18
    values = Stream(1, "normal").gaussians(0, count) * GAUSSIAN_UNIT
    assert abs(values.mean()) < 5 / np.sqrt(count)
    assert abs(np.mean(values**2) - 1) < 5 * np.sqrt(2 / count)
    assert abs(np.mean(values**3)) < 5 * np.sqrt(15 / count)
    assert abs(np.mean(values[1:] * values[:-1])) < 5 / np.sqrt(count)
    # The largest distance of distribution functions: that of the table, and 2.2/sqrt(n) of chance (p below 1e-4).
    assert stats.kstest(values, "norm").statistic < 1 / 4096 + 2.2 / np.sqrt(count)
    # All 4,096 values alike.
    counts = np.bincount(np.searchsorted(np.unique(values), values), minlength=4096)
    assert len(counts) == 4096
    assert stats.chisquare(counts).pvalue > 1e-4


def test_the_table_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        gaussian_table()[0] = 1


@pytest.mark.parametrize("bad", [-1, 2**32, 1.0, True, "1"])
def test_bad_names_are_refused(bad: Any) -> None:
    with pytest.raises(PactError, match=r"^seed: must be an integer from 0 to 4,294,967,295, got"):
        Stream(bad, "a")
    with pytest.raises(PactError, match=r"^layer: must be an integer"):
        Stream(0, "a", bad)
    for purpose in ("", 3):
        with pytest.raises(PactError, match="purpose: must be a text that is not empty"):
            Stream(0, purpose)  # type: ignore[arg-type]


@pytest.mark.parametrize(("start", "count"), [(-1, 1), (0, -4), (2**66 - 3, 8)])
def test_no_words_beyond_the_ends(start: int, count: int) -> None:
    with pytest.raises(PactError, match=r"a stream has words 0 to 2\^66 - 1"):
        Stream(0, "a").words(start, count)
