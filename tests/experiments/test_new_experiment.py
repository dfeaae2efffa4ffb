"""An experiment from outside the package: one module, and it is listed, run in worker processes, judged and shown."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import netpact
from netpact.cli.app import run
from netpact.experiments import EXPERIMENTS, run_experiment
from netpact.runs import Inline

TOY = """
from dataclasses import dataclass
from netpact.experiments import EXPERIMENTS, Case, Plan, Preset, Question, Setting, Study, train_network
from netpact.reports.page import frame_table

@dataclass(frozen=True, kw_only=True)
class Norms(Study):
    norm: float

def measure_norm(*, setting):
    trained = train_network(Setting.read(setting))
    norm = max(float(weight.detach().norm()) for weight in trained.module.parameters())
    return Norms(**trained.study.facts(), norm=norm).to_json()

EXPERIMENTS.add(Plan(
    name="toy-table9", title="Table 9: norms", paper="Nobody 2026", task=measure_norm, record=Norms, studies=("wide",),
    presets={"digits": Preset(about="one linear map", data=("digits",), tested=50, cases={
        "wide": Case(model="linear", limit=60, epochs=2, least=0.05)})},
    questions=(Question("Norms stay small (Table 9)", "largest norm: < 1000", lambda one: one["wide"].norm, 3.25),),
    show=lambda found: [frame_table("Norms", ("seed", "norm"), [("0", f"{s.norm:.4f}") for s in found.studies])],
))
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "toy_paper.py").write_text(TOY)
    monkeypatch.syspath_prepend(str(tmp_path))
    list(EXPERIMENTS)  # filled before the rows are put aside
    monkeypatch.setattr(EXPERIMENTS, "_rows", dict(EXPERIMENTS))
    importlib.import_module("toy_paper")
    yield tmp_path
    del sys.modules["toy_paper"]


def test_it_is_seen_everywhere_and_equal_in_any_number_of_processes(
    toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["experiment", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)[-1] == {
        "experiment": "toy-table9",
        "title": "Table 9: norms",
        "paper": "Nobody 2026",
        "presets": ["digits"],
    }
    assert "toy-table9" in captured.err
    command = ["experiment", "toy-table9", "--preset", "digits", "--seeds", "2", "--out", str(toy / "out")]
    assert run([*command, "--jobs", "2", "--json"]) == 0
    captured = capsys.readouterr()
    record: Any = json.loads(captured.out)
    assert record["networks"][1]["norm"] > 0
    finding = record["findings"][0]
    assert (finding["verdict"], finding["published"], finding["rule"]) == ("reproduced", 3.25, "largest norm: < 1000")
    for words in ("Norms stay small", "3.25", "reproduced"):
        assert words in captured.err
    page = (toy / "out" / "toy-table9-digits.html").read_text()
    for words in ("Table 9: norms (Nobody 2026)", "3.25", f"{record['networks'][1]['norm']:.4f}", "<h2>Norms</h2>"):
        assert words in page
    assert run([*command, "--preset", "quick"]) == 2
    assert "allowed: digits" in capsys.readouterr().err
    alone = run_experiment("toy-table9", preset="digits", seeds=2, out=toy / "alone", engine=Inline())
    told: Any = alone.to_json()
    assert told["networks"] == record["networks"], "whatever the number of processes"
    assert told["networks"][0]["norm"] != told["networks"][1]["norm"]


def test_an_error_in_one_network_keeps_the_others(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["toy_paper"]
    train = module.train_network

    def fail_in_first(setting: Any) -> object:
        if setting.seed == 0:
            raise RuntimeError("no")
        return train(setting)

    monkeypatch.setattr(module, "train_network", fail_in_first)
    with pytest.raises(netpact.PactError, match="digits-wide-0: RuntimeError: no"):
        run_experiment("toy-table9", preset="digits", seeds=2, out=toy / "out", engine=Inline())
    assert len(list((toy / "out" / "run").glob("*.json"))) == 1


SCRIPT = """
import os, signal
import toy_paper
from netpact.experiments import run_experiment
from netpact.runs import Processes

def interrupt(done):
    os.kill(os.getpid(), signal.SIGINT)

run_experiment("toy-table9", preset="digits", seeds=2, out="out", engine=Processes(1), progress=interrupt)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_plain_script_that_is_interrupted_goes_on(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No `if __name__ == "__main__":` is needed, and Ctrl-C leaves the finished network."""
    (toy / "script.py").write_text(SCRIPT)
    source = str(Path(netpact.__file__).parents[1])
    command = [sys.executable, "script.py"]
    environment = {**os.environ, "PYTHONPATH": source}
    broken = subprocess.run(command, cwd=toy, env=environment, capture_output=True, text=True, timeout=120)
    assert broken.returncode in (-signal.SIGINT, 1, 130)
    assert "KeyboardInterrupt" in broken.stderr
    kept = {path: path.stat().st_mtime_ns for path in (toy / "out" / "run").glob("*.json")}
    assert len(kept) == 1
    monkeypatch.chdir(toy)
    found = run_experiment("toy-table9", preset="digits", seeds=2, out="out", engine=Inline())
    assert len(found.studies) == 2
    assert len(list((toy / "out" / "run").glob("*.json"))) == 2
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items())
