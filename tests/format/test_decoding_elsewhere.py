"""Decoding needs the bytes and nothing else: no data, no home, no default of any library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from format.format_examples import GOLDEN, NETWORKS, module_for

import netpact
from netpact.coding.format import ARITHMETICS, Compressed, Pact, is_relative, seal
from netpact.coding.forms import FORMS, Difference, Relative, unnest
from netpact.layers.rewrites import REWRITES
from netpact.models import FAMILIES, Architecture

SCRIPT = Path(__file__).with_name("decode_elsewhere.py")
GOLDEN_FOLDER = Path(__file__).with_name("golden")
RECORDS = Path(__file__).parents[2] / "records"


@dataclass(frozen=True, eq=False)
class Runs:
    """The same files decoded here, where there are no data, and with every default changed."""

    files: tuple[str, ...]
    here: dict[str, Any]
    without_data: dict[str, Any]
    changed: dict[str, Any]
    left_behind: list[Path]


def decoded(path: Path) -> Compressed:
    return Pact.read(path).decode(module_for(path.stem))


def files_to_decode(folder: Path) -> tuple[str, ...]:
    """Golden files, records, and examples with what these lack; a file with a base is nothing without it.

    A record whose module is the user's has a base too, so it is left out before anything is decoded.
    """
    made = [seal(NETWORKS[name]).write(folder / f"{name}.pact") for name in NETWORKS if name not in GOLDEN]
    records = [
        path for path in sorted(RECORDS.glob("*.pact")) if isinstance(Pact.read(path).architecture, Architecture)
    ]
    kept = [*sorted(GOLDEN_FOLDER.glob("*.pact")), *records]
    return tuple(str(path) for path in [*kept, *made] if not is_relative(decoded(path)))


def start(setting: str, files: tuple[str, ...], **environment: str) -> subprocess.Popen[str]:
    source = str(Path(netpact.__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(SCRIPT), setting, *files],
        env={**os.environ, "PYTHONPATH": source, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    record: dict[str, Any] = json.loads(output)
    return record


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    nothing = tmp_path_factory.mktemp("nothing")
    nowhere = {name: str(nothing) for name in ("NETPACT_DATA", "HOME", "XDG_CACHE_HOME")}
    files = files_to_decode(tmp_path_factory.mktemp("files"))
    started = (
        start("one thread", files, OMP_NUM_THREADS="1", PYTHONHASHSEED="0"),
        start("one thread", files, OMP_NUM_THREADS="1", PYTHONHASHSEED="7", **nowhere),
        start("all defaults changed", files, OMP_NUM_THREADS="2", PYTHONHASHSEED="random", **nowhere),
    )
    here, without_data, changed = [finish(process) for process in started]
    return Runs(files, here, without_data, changed, list(nothing.iterdir()))


def test_the_files_are_of_every_kind(runs: Runs) -> None:
    """A form, family or rewrite that is new has to appear among the files, or nothing is said about it."""
    networks = [decoded(Path(file)) for file in runs.files]
    forms = {type(part) for network in networks for tensor in network.tensors.values() for part in unnest(tensor.form)}
    assert forms == set(FORMS.values()) - {Relative, Difference}
    assert {network.architecture.id for network in networks} >= set(FAMILIES)
    assert {type(step.rewrite) for network in networks for step in network.rewrites} == set(REWRITES.values())
    assert {network.arithmetic for network in networks} == set(ARITHMETICS)
    assert any(Path(file).parent == RECORDS for file in runs.files)


def test_without_data_every_weight_and_logit_is_the_same(runs: Runs) -> None:
    assert runs.without_data["data"] == [], "the process was to find no data"
    assert runs.without_data["weights"] == runs.here["weights"]
    assert runs.without_data["logits"] == runs.here["logits"]
    assert runs.left_behind == []


def test_decoding_opens_the_file_and_no_other(runs: Runs) -> None:
    for run in (runs.here, runs.without_data, runs.changed):
        assert tuple(run["opened"]) == runs.files


def test_with_all_defaults_changed_the_weights_are_the_same(runs: Runs) -> None:
    assert runs.changed["weights"] == runs.here["weights"]
    for file, logits in runs.here["logits"].items():
        np.testing.assert_allclose(runs.changed["logits"][file], logits, rtol=1e-10, atol=1e-10, err_msg=file)


def test_golden_files_have_their_weights_in_every_process(runs: Runs) -> None:
    table = json.loads((GOLDEN_FOLDER / "golden.json").read_text())
    for run in (runs.here, runs.without_data, runs.changed):
        for name, entry in table.items():
            assert run["weights"][str(GOLDEN_FOLDER / f"{name}.pact")] == entry["weights_sha256"]
