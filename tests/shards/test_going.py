"""Shards on the workers of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from shards import promises

from netpact.runs import Processes


@pytest.mark.parametrize("promise", promises.PROMISES, ids=lambda promise: promise.__name__)
def test_workers_of_this_machine(promise: object, tmp_path: Path) -> None:
    promise(Processes(2), tmp_path)  # type: ignore[operator]


def test_measured_by_workers(tmp_path: Path) -> None:
    promises.measures_are_the_same(Processes(2, threads=1), tmp_path)


def test_a_killed_driver(tmp_path: Path) -> None:
    promises.the_driver_is_killed(Processes(2), tmp_path)
