"""Arrays in files: the same samples as in memory, and never all of them in memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from netpact.core.errors import PactError
from netpact.datasets import Split, as_data, load_data, npz, set_aside, sort_samples
from netpact.datasets.sources import spool
from netpact.datasets.sources.mapped import is_mapped

RANDOM = np.random.default_rng(0)
Y = np.arange(30) % 3


@pytest.mark.parametrize(
    "x",
    [
        RANDOM.integers(0, 256, (30, 5, 6), dtype=np.uint8),
        RANDOM.integers(0, 256, (30, 5, 6, 3), dtype=np.uint8),
        RANDOM.normal(size=(30, 4)),
        RANDOM.normal(size=(30, 4)).astype(np.float16),
        np.asfortranarray(RANDOM.normal(size=(30, 4)).astype(np.float32)),
        RANDOM.integers(0, 50, (30, 4), dtype=np.int16),
    ],
    ids=["grey", "colour", "float64", "float16", "columns first", "tokens"],
)
def test_the_same_samples_as_in_memory(tmp_path: Path, x: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = as_data((x, Y))
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", Y)
    folder = load_data(tmp_path)
    monkeypatch.setattr(npz, "FREE_BYTES", 10)
    np.savez(tmp_path / "same.npz", x_train=x, y_train=Y)
    sources = (folder, load_data(tmp_path / "same.npz"), as_data((np.load(tmp_path / "x.npy", mmap_mode="r"), Y)))
    for data in sources:
        assert is_mapped(data.train.inputs)  # type: ignore[attr-defined]
        assert data.train.fingerprint() == expected.train.fingerprint()
        assert data.layout == expected.layout
        monkeypatch.setattr(spool, "KEPT_BYTES", 50)
        for part, same in zip(set_aside(data.train, Split(40)), set_aside(expected.train, Split(40)), strict=True):
            assert is_mapped(part.inputs)  # type: ignore[attr-defined]
            assert part.fingerprint() == same.fingerprint()
        assert sort_samples(data).train.fingerprint() == sort_samples(expected).train.fingerprint()


def test_nothing_reads_the_whole_array_into_memory(tmp_path: Path) -> None:
    count, megabyte = 1200, 2**20
    big = np.lib.format.open_memmap(tmp_path / "x_train.npy", mode="w+", dtype=np.float64, shape=(count, 4096))
    big[:, 0] = np.arange(count)
    big.flush()
    np.save(tmp_path / "y_train.npy", np.arange(count) % 2)
    assert big.nbytes > 37 * megabyte
    tracemalloc.start()
    data = load_data(tmp_path)
    first = data.train.fingerprint()
    for x, _ in data.train.batches(64):
        assert x.dtype == np.float32
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert first == data.train.fingerprint()
    assert peak < 36 * megabyte


def test_pairs_with_a_test_part(tmp_path: Path) -> None:
    for part in ("train", "test"):
        np.save(tmp_path / f"x_{part}.npy", RANDOM.normal(size=(30, 4)))
        np.save(tmp_path / f"y_{part}.npy", Y)
    data = load_data(tmp_path)
    assert data.test is not None
    (tmp_path / "y_test.npy").unlink()
    with pytest.raises(PactError, match=r"y_test\.npy: there is no such file"):
        load_data(tmp_path)
    np.save(tmp_path / "x.npy", Y)
    with pytest.raises(PactError, match=r"x\.npy and x_train\.npy: either of them"):
        load_data(tmp_path)


def test_damaged_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = RANDOM.normal(size=(30, 4))
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", Y)
    whole = (tmp_path / "x.npy").read_bytes()
    for content, message in (
        (whole[:-8], "declares 960 bytes, the file holds 952"),
        (whole[:20], "cannot be read"),
        (b"", "cannot be read"),
    ):
        (tmp_path / "x.npy").write_bytes(content)
        with pytest.raises(PactError, match=message):
            load_data(tmp_path)
    np.save(tmp_path / "x.npy", np.array([{}] * 30), allow_pickle=True)
    with pytest.raises(PactError, match="only plain numbers"):
        load_data(tmp_path)
    monkeypatch.setattr(npz, "FREE_BYTES", 10)
    np.savez(tmp_path / "t.npz", x_train=RANDOM.normal(size=(30, 400)), y_train=Y)
    packed = bytearray((tmp_path / "t.npz").read_bytes())
    packed[50_000] ^= 1
    (tmp_path / "t.npz").write_bytes(packed)
    with pytest.raises(PactError, match="the checksum is wrong"):
        load_data(tmp_path / "t.npz")
    nan = x.copy()
    nan[7, 1] = np.nan
    np.save(tmp_path / "x.npy", nan)
    with pytest.raises(PactError, match="sample 7"):
        load_data(tmp_path)
