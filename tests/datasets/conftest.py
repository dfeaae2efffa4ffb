"""No test here sees the network or the user's data folders, except those that ask for the real MNIST."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

_REAL_FOLDERS = [os.environ.get("NETPACT_DATA"), str(Path.home() / ".cache" / "netpact")]


@pytest.fixture(autouse=True)
def _closed_world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("a test reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.delenv("NETPACT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def mnist_folder(monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in filter(None, _REAL_FOLDERS):
        if (Path(folder) / "mnist.npz").is_file():
            monkeypatch.setenv("NETPACT_DATA", folder)
            return Path(folder)
    pytest.skip("needs mnist.npz in $NETPACT_DATA")
