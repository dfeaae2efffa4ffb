"""Files appear whole or not at all, whenever the interrupt comes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netpact.core.errors import PactError
from netpact.core.files import check_place, write_atomically


@pytest.mark.parametrize("moment", ["open", "os.fsync", "os.replace"])
def test_an_interrupt_leaves_the_old_file_and_nothing_else(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = write_atomically(tmp_path / "file", b"old")
    real_open = open

    def interrupt(*arguments: object, **named: object) -> None:
        if moment == "open":
            real_open(*arguments, **named).close()  # type: ignore[call-overload]
        raise KeyboardInterrupt

    monkeypatch.setattr(f"netpact.core.files.{moment}", interrupt, raising=False)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(target, b"new")
    monkeypatch.undo()
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        path = write_atomically(tmp_path / "deep" / "file", b"x")
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_folder_is_no_file_name(tmp_path: Path) -> None:
    with pytest.raises(PactError, match="must be a file, not a folder"):
        write_atomically(tmp_path, b"x")


def test_a_place_is_tried_out_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    for place in ("file", "new", "deep/deeper/new"):
        check_place(tmp_path / place)
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


@pytest.mark.parametrize(
    "place", ["", "file/under", "file/deep/under", "x" * 300, "deep/" + "x" * 300, "x" * 300 + "/under"]
)
def test_a_place_where_nothing_can_be_written(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(PactError) as early:
        check_place(tmp_path / place)
    with pytest.raises(PactError) as late:
        write_atomically(tmp_path / place, b"new")
    assert early.value.where == late.value.where == str(tmp_path / place)


def test_a_place_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("netpact.core.files.open", refuse, raising=False)  # root may write everywhere
    with pytest.raises(PactError, match="Permission denied"):
        check_place(tmp_path / "file")
    assert os.listdir(tmp_path) == []
