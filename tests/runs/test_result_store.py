from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from runs import run_tasks

from netpact.core.errors import PactError
from netpact.runs import MISSING, Inline, JsonValue, ResultStore, Task


def square_task(folder: Path, number: int = 3, key: str = "square", version: str = "1") -> Task:
    return Task(key, run_tasks.square, {"folder": str(folder), "number": number}, version=version)


def test_file_holds_exactly_the_documented_fields(tmp_path: Path) -> None:
    store, task = ResultStore(tmp_path), square_task(tmp_path)
    path = store.put(task, {"x": [1, 2.5, None]}, seconds=1.5)
    assert json.loads(path.read_text()) == {
        "key": "square",
        "digest": task.digest,
        "result": {"x": [1, 2.5, None]},
        "seconds": 1.5,
        "version": "1",
    }
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("result", [None, False, 0, 0.1, -0.0, 1e-310, 2**70, "ä\ud800", [], {"a": [{}]}])
def test_what_is_put_comes_back(tmp_path: Path, result: JsonValue) -> None:
    store, task = ResultStore(tmp_path), square_task(tmp_path)
    assert store.get(task) is MISSING
    store.put(task, result, seconds=0.0)
    assert repr(store.get(task)) == repr(result)


def test_another_argument_key_or_version_does_not_get_the_result(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    store.put(square_task(tmp_path), 9, seconds=0.0)
    assert store.get(square_task(tmp_path, number=4)) is MISSING
    assert store.get(square_task(tmp_path, key="Square")) is MISSING
    assert store.get(square_task(tmp_path, version="2")) is MISSING
    assert store.get(square_task(tmp_path)) == 9


def test_file_copied_to_another_tasks_name_is_ignored(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    for other in (square_task(tmp_path, 4), square_task(tmp_path, key="b"), square_task(tmp_path, version="2")):
        store.path(other).write_bytes(store.put(square_task(tmp_path), 9, seconds=0.0).read_bytes())
        assert store.get(other) is MISSING


def test_keys_that_look_alike_have_files_of_their_own_inside_the_folder(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "store")
    keys = ["a/b", "a_b", "a b", "A/B", "a/../../b", "a:b", "x" * 200, "x" * 199 + "y"]
    paths = [store.path(square_task(tmp_path, key=key)) for key in keys]
    assert len({path.name.lower() for path in paths}) == len(keys)
    for path in paths:
        assert path.resolve().parent == (tmp_path / "store").resolve()
        assert len(path.name) <= 120


def test_corrupt_files_are_computed_again(tmp_path: Path) -> None:
    store, task = ResultStore(tmp_path), square_task(tmp_path)
    good = store.put(task, 9, seconds=0.5).read_bytes()
    record = json.loads(good)
    without = {name: {k: v for k, v in record.items() if k != name} for name in record}
    hostile = [
        b"",
        good[: len(good) // 2],
        b"\xff\xfe" + good,
        b"\x80\x04K\x09.",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"result":' + b"1" * 5000 + b"}",
        *(json.dumps(part).encode() for part in without.values()),
        json.dumps({**record, "digest": "0" * 64}).encode(),
        json.dumps({**record, "seconds": "long"}).encode(),
        json.dumps({**record, "seconds": True}).encode(),
        json.dumps({**record, "result": float("nan")}).encode(),
    ]
    for content in hostile:
        store.path(task).write_bytes(content)
        assert store.get(task) is MISSING, content[:80]
    (outcome,) = Inline().run([task], store)
    assert (outcome.result, outcome.reused, outcome.error) == (9, False, None)
    assert store.get(task) == 9


def test_folder_in_the_place_of_a_file_reads_as_missing(tmp_path: Path) -> None:
    store, task = ResultStore(tmp_path), square_task(tmp_path)
    store.path(task).mkdir()
    assert store.get(task) is MISSING


def test_unwritable_folder_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(PactError, match=r"cannot keep results here: .* \(choose a folder"):
            ResultStore(folder)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_write_permission_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PactError, match="Permission denied"):
        ResultStore(tmp_path)


def test_permission_error_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root passes every permission check, so the refusal of the file system is played here.
    def refuse(*, dir: Path) -> None:  # noqa: A002
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("netpact.runs.store.tempfile.TemporaryFile", refuse)
    with pytest.raises(PactError, match="cannot keep results here: Permission denied"):
        ResultStore(tmp_path)


def test_discarded_results_are_computed_again(tmp_path: Path) -> None:
    store, task = ResultStore(tmp_path), square_task(tmp_path)
    store.discard(task)
    store.put(task, 2.0, seconds=0.1)
    store.discard(task)
    assert store.get(task) is MISSING
