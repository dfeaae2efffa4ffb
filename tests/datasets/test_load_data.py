from __future__ import annotations

import io
import json
import os
import struct
import urllib.error
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from netpact.core.errors import PactError
from netpact.datasets import NAMES, as_data, describe, load_data, npz, openml
from netpact.datasets.catalogue import KNOWN

X = np.random.default_rng(2).integers(0, 256, (20, 28, 28), dtype=np.uint8)
Y = (np.arange(20) % 10).astype(np.uint8)


def save(path: Path, **arrays: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
    return path


def test_digits() -> None:
    data = load_data("digits")
    assert data.test is not None
    assert (data.train.count, data.test.count, data.classes, data.input_shape) == (1437, 360, 10, (1, 8, 8))
    x, _ = next(data.train.batches(2000))
    assert (x.min(), x.max()) == (0, 1)
    assert set(np.unique(x * 16)) == set(range(17))


def test_limit_is_declared_in_the_name() -> None:
    data, short = load_data("digits"), load_data("digits", limit=100)
    assert (short.name, short.train.count) == ("digits[:100]", 100)
    assert np.array_equal(next(short.train.batches())[0], next(data.train.batches(100))[0])
    assert short.test is not None
    assert data.test is not None
    assert short.test.fingerprint() == data.test.fingerprint()
    assert load_data("digits", limit=1437).train.fingerprint() == data.train.fingerprint()


@pytest.mark.parametrize("limit", [0, -3, 1438, True, 2.5])
def test_bad_limit(limit: int) -> None:
    with pytest.raises(PactError, match="limit: must be an integer from 1 to 1,437"):
        load_data("digits", limit=limit)


@pytest.mark.parametrize("name", ["mnits", "", "data.npy", "MNIST"])
def test_unknown_names_list_the_known_ones(name: str) -> None:
    with pytest.raises(PactError) as caught:
        load_data(name)
    assert all(known in str(caught.value) for known in (*NAMES, ".npz"))


def test_file_of_ones_own(tmp_path: Path) -> None:
    path = save(tmp_path / "mine.npz", x_train=X, y_train=Y, x_test=X[:5], y_test=np.array([0, 1, 2, 3, 12]), extra=Y)
    data = load_data(path)
    assert (data.name, data.classes, data.input_shape, data.source) == ("mine", 13, (1, 28, 28), str(path))
    assert data.train.fingerprint() == as_data((X, Y)).train.fingerprint()
    alone = load_data(str(save(tmp_path / "alone.npz", x_train=X.astype(float), y_train=Y)))
    assert alone.test is None


def test_own_folder_comes_before_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached = save(tmp_path / "cache" / "netpact" / "mnist.npz", x_train=X, y_train=Y)
    assert load_data("mnist").source == str(cached)
    monkeypatch.setenv("NETPACT_DATA", str(tmp_path / "own"))
    assert load_data("mnist").source == str(cached)
    own = save(tmp_path / "own" / "mnist.npz", x_train=X, y_train=Y)
    assert load_data("mnist", limit=7).source == str(own)
    assert load_data("mnist", limit=7).name == "mnist[:7]"


def test_cache_without_xdg_is_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    path = save(tmp_path / ".cache" / "netpact" / "mnist.npz", x_train=X, y_train=Y)
    assert load_data("mnist").source == str(path)


def test_a_known_name_has_its_known_shape_and_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETPACT_DATA", str(tmp_path))
    save(tmp_path / "cifar10.npz", x_train=X, y_train=Y)
    with pytest.raises(PactError, match=r"images of shape \(1, 28, 28\), cifar10 has \(3, 32, 32\)"):
        load_data("cifar10")
    save(tmp_path / "mnist.npz", x_train=X, y_train=Y + 1)
    with pytest.raises(PactError, match="sample 9: labels must be from 0 to 9, got 10"):
        load_data("mnist")
    colour = np.zeros((20, 32, 32, 3), np.uint8)
    save(tmp_path / "cifar100.npz", x_train=colour, y_train=Y)
    assert (load_data("cifar100").input_shape, load_data("cifar100").classes) == ((3, 32, 32), 100)


def offline(name: str, version: int) -> tuple[np.ndarray, np.ndarray]:
    raise urllib.error.URLError("no route to host")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "digits"])
def test_absent_data_say_where_to_put_them(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openml, "fetch_rows", offline)
    monkeypatch.setenv("NETPACT_DATA", str(tmp_path / "own"))
    with pytest.raises(PactError) as caught:
        load_data(name)
    message = str(caught.value)
    assert str(tmp_path / "own" / f"{name}.npz") in message
    assert str(tmp_path / "cache" / "netpact" / f"{name}.npz") in message
    assert "NETPACT_DATA" in message
    assert "OpenML" in message
    assert ("(n, 28, 28)" if "mnist" in name else "(n, 32, 32, 3)") in message
    assert ("no route to host" in message) == (KNOWN[name].openml is not None)


def tiny(monkeypatch: pytest.MonkeyPatch, name: str, labels: list[str] | None = None) -> np.ndarray:
    """Let OpenML be a fake with two training images and one test image of each class; its pixels are returned."""
    known = replace(KNOWN[name], train_counts=(2,) * 10, test_counts=(1,) * 10)
    monkeypatch.setitem(KNOWN, name, known)
    rows = np.random.default_rng(3).integers(0, 256, (30, int(np.prod(known.input_shape)))).astype(float)
    target = np.array([str(i % 10) for i in range(30)] if labels is None else labels, dtype=object)
    calls: list[str] = []

    def fetch(asked: str, version: int) -> tuple[np.ndarray, np.ndarray]:
        assert (asked, version) == known.openml
        assert not calls, "the second time comes from the cache"
        calls.append(asked)
        return rows, target

    monkeypatch.setattr(openml, "fetch_rows", fetch)
    return rows


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "cifar10"])
def test_download_is_split_and_cached(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tiny(monkeypatch, name)
    for _ in range(2):
        data = load_data(name)
        assert data.test is not None
        assert (data.train.count, data.test.count) == (20, 10)
        x, y = next(data.train.batches())
        assert np.array_equal(x.reshape(20, -1), (rows[:20] / 255).astype(np.float32))
        assert y.tolist() == [i % 10 for i in range(20)]
    with np.load(tmp_path / "cache" / "netpact" / f"{name}.npz") as stored:
        assert stored["x_train"].shape == ((20, 32, 32, 3) if name == "cifar10" else (20, 28, 28))
        assert {stored[key].dtype for key in stored} == {np.dtype(np.uint8)}
    assert [path.name for path in (tmp_path / "cache" / "netpact").iterdir()] == [f"{name}.npz"]


def test_a_download_that_is_not_the_published_split_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny(monkeypatch, "mnist", labels=[str(i // 3) for i in range(30)])
    with pytest.raises(PactError, match="do not occur as often as in the published split"):
        load_data("mnist")
    tiny(monkeypatch, "mnist", labels=["cat"] * 30)
    with pytest.raises(PactError, match="labels are not class numbers"):
        load_data("mnist")
    tiny(monkeypatch, "mnist")[3, 5] = 0.5
    with pytest.raises(PactError, match="pixels must be integers"):
        load_data("mnist")
    tiny(monkeypatch, "mnist")
    monkeypatch.setattr(openml, "fetch_rows", lambda name, version: (np.ones((7, 784)), np.ones(7)))
    with pytest.raises(PactError, match="expected 30 rows of 784 pixels"):
        load_data("mnist")
    assert not list((tmp_path / "cache" / "netpact").iterdir())


def test_a_cache_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny(monkeypatch, "mnist")
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(PactError, match="cannot make the cache folder"):
        load_data("mnist")


def member(name: str, content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}.npy", content)
        archive.writestr("y_train.npy", array_bytes(Y))
    return packed.getvalue()


def array_bytes(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def header(text: str, data: bytes = b"") -> bytes:
    line = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(line)) + line + data


def described(shape: str, descr: str = "'|u1'") -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}"


def bare(name: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, array_bytes(X))
        archive.writestr("y_train.npy", array_bytes(Y))
    return packed.getvalue()


GOOD = member("x_train", array_bytes(X))
HOSTILE = {
    "empty": b"",
    "text": b"not a zip file",
    "pickle": b"\x80\x04\x95cos\nsystem\n",
    "cut": GOOD[: len(GOOD) // 2],
    "flipped": GOOD[:200] + bytes([GOOD[200] ^ 255]) + GOOD[201:],
    "objects": member("x_train", array_bytes(np.array([[object]] * 20))),
    "no magic": member("x_train", b"abc"),
    "version": member("x_train", array_bytes(X).replace(b"NUMPY\x01", b"NUMPY\x09")),
    "huge": member("x_train", header(described("(10**6,)".replace("10**6", str(10**15))))),
    "overflow": member("x_train", header(described(f"({2**62}, 8)"))),
    "negative": member("x_train", header(described("(-20, 3)"), bytes(60))),
    "code": member("x_train", header("__import__('os').abort()")),
    "deep": member("x_train", header("(" * 4000 + ")" * 4000)),
    "unclosed": member("x_train", header("{'descr': (")),
    "indented": member("x_train", header("if x:\n    y\n  z")),
    "unhashable": member("x_train", header("{[]: 1}")),
    "twice negative": member("x_train", header(described("(-20, -3)"), bytes(60))),
    "another suffix": GOOD.replace(b"x_train.npy", b"x_train.abc"),
    "no suffix": bare("x_train"),
    "short": member("x_train", header(described("(20, 4)"), bytes(79))),
    "long": member("x_train", header(described("(20, 4)"), bytes(81))),
    "no dtype": member("x_train", header(described("(20, 4)", "'|q9'"), bytes(80))),
    "records": member("x_train", array_bytes(np.zeros((20, 2), dtype=[("a", "f4")]))),
    "words": member("x_train", array_bytes(np.full((20, 2), "word"))),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "hostile.npz"
    path.write_bytes(HOSTILE[kind])
    with pytest.raises(PactError):
        load_data(path)


class Payload:
    """Unpickling this makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.folder),)


def test_no_pickle_is_ever_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Object arrays are refused by their header, and the reader would not unpickle them either."""
    payload = np.array([[Payload(tmp_path / "ran")]] * 20, dtype=object)
    (tmp_path / "pickle.npz").write_bytes(member("x_train", array_bytes(payload)))
    with pytest.raises(PactError, match="an array of type object; only plain numbers are read"):
        load_data(tmp_path / "pickle.npz")
    monkeypatch.setattr(npz, "_check_sizes", lambda *arguments: None)
    with pytest.raises(PactError, match=r"cannot be read as an .npz file of plain arrays"):
        load_data(tmp_path / "pickle.npz")
    assert not (tmp_path / "ran").exists()


def test_a_file_too_large_for_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*arguments: object, allow_pickle: bool) -> None:
        raise MemoryError("Unable to allocate 12.0 GiB")

    path = save(tmp_path / "large.npz", x_train=X, y_train=Y)
    monkeypatch.setattr(np, "load", exhausted)
    with pytest.raises(PactError, match="Unable to allocate"):
        load_data(path)


def test_hostile_files_start_from_a_good_one(tmp_path: Path) -> None:
    (tmp_path / "good.npz").write_bytes(GOOD)
    assert load_data(tmp_path / "good.npz").train.count == 20


def test_every_flipped_byte_is_refused_or_harmless(tmp_path: Path) -> None:
    """Small pieces of damage all over the file never end in anything but a PactError or the same data."""
    clean = member("x_train", array_bytes(X[:, :2, :2]))
    path = tmp_path / "flipped.npz"
    path.write_bytes(clean)
    expected = load_data(path).train.fingerprint()
    refused = 0
    for place in range(len(clean)):
        path.write_bytes(clean[:place] + bytes([clean[place] ^ 0x55]) + clean[place + 1 :])
        try:
            assert load_data(path).train.fingerprint() == expected
        except PactError:
            refused += 1
    assert refused > len(clean) / 2


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path / "bomb.npz", x_train=np.zeros((20, 500_000), np.uint8), y_train=Y)
    assert load_data(path).train.count == 20
    monkeypatch.setattr(npz, "FREE_BYTES", 2**20)
    monkeypatch.setattr(np, "load", None)
    with pytest.raises(PactError, match=r"would unpack to 10000\d\d\d, more than 100 times"):
        load_data(path)
    monkeypatch.setattr(npz, "MAX_BYTES", 2**20)
    with pytest.raises(PactError, match=r"at most 1048576 are read.*DataLoader"):
        load_data(path)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({}, "holds nothing"),
        ({"x": X, "y": Y}, "must hold x_train, y_train, may hold x_test, y_test; holds x, y"),
        ({"x_train": X, "y_train": Y, "x_test": X}, "x_test and y_test come together"),
        ({"x_train": X, "y_train": Y[:3]}, "20 inputs and 3 labels"),
        ({"x_train": X[:0], "y_train": Y[:0]}, "no samples"),
        ({"x_train": X, "y_train": Y, "x_test": X[:0], "y_test": Y[:0]}, "no samples"),
        ({"x_train": X, "y_train": Y * 0}, "only one class"),
        ({"x_train": X, "y_train": Y, "x_test": X[:, 1:], "y_test": Y}, r"test: inputs have shape \(1, 27, 28\)"),
        ({"x_train": np.uint8(1), "y_train": Y}, "1 inputs and 20 labels"),
    ],
)
def test_files_with_the_wrong_arrays(arrays: dict[str, np.ndarray], words: str, tmp_path: Path) -> None:
    with pytest.raises(PactError, match=words):
        load_data(save(tmp_path / "wrong.npz", **arrays))


def test_an_array_twice(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "twice.npz", "w") as archive:
        archive.writestr("x_train.npy", array_bytes(X))
        archive.writestr("y_train.npy", array_bytes(Y))
        archive.writestr("y_train", array_bytes(Y[::-1]))
    with pytest.raises(PactError, match="occurs twice"):
        load_data(tmp_path / "twice.npz")


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(PactError, match="no such file"):
        load_data(tmp_path / "absent.npz")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(PactError, match=r"folder\.npz"):
        load_data(tmp_path / "folder.npz")


def test_describe_counts_duplicates() -> None:
    x = np.array([[0, 1], [2, 3], [-0.0, 1], [4, 5], [2, 3], [2, 3]], dtype=np.float32)
    y = np.array([0, 1, 2, 0, 1, 2])
    data = as_data((x, y), test=(x[[1, 3]], y[[1, 3]]), classes=4, name="mine")
    summary = describe(data)
    assert (
        json.loads(json.dumps(summary))
        == summary
        == {
            "name": "mine",
            "source": "memory",
            "input_shape": [2],
            "classes": 4,
            "class_names": [],
            "standardised": None,
            "train": {
                "name": "mine train",
                "count": 6,
                "class_counts": [2, 2, 2, 0],
                "range": [0.0, 5.0],
                "fingerprint": data.train.fingerprint(),
                "duplicates": 3,
            },
            "test": {
                "name": "mine test",
                "count": 2,
                "class_counts": [1, 1, 0, 0],
                "range": [2.0, 5.0],
                "fingerprint": data.test.fingerprint() if data.test else "",
                "duplicates": 0,
            },
            "train_inputs_in_test": 4,
        }
    )
    alone = describe(as_data((x, y)))
    assert alone["test"] is None
    assert alone["train_inputs_in_test"] is None
    assert np.signbit(x[2, 0]), "describing must not change the data"


def test_describe_digits_agrees_with_a_slow_count() -> None:
    data = load_data("digits")
    assert data.test is not None
    train, test = ([row.tobytes() for row in next(part.batches(2000))[0]] for part in (data.train, data.test))
    summary = describe(data)
    part = summary["train"]
    assert isinstance(part, dict)
    assert part["duplicates"] == len(train) - len(set(train))
    assert summary["train_inputs_in_test"] == sum(row in set(test) for row in train)
