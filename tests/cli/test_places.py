"""Options and output places are looked at before any work starts, and no file that took work is replaced silently."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import netpact
from netpact.cli.app import run

# Every place from which a command begins its work; none of them may be reached.
_WORK = (
    "netpact.datasets.load_data",
    "netpact.datasets.own.load_data",
    "netpact.comparisons.demonstration.running.load_data",
    "netpact.exploration.searching.as_data",
    "netpact.experiments.running.open_data",
)
_NETWORK = ["mlp:8", "--data", "digits"]
# Each command that writes, without the place; "=" is filled in by a place.
WRITING = {
    "demo": ["demo", "--out="],
    "train": ["train", *_NETWORK, "--out=w.safetensors"],
    "train, checkpoint": ["train", *_NETWORK, "--out", "w.safetensors", "--checkpoint=run.checkpoint"],
    "compress": ["compress", *_NETWORK, "--weights", "w.safetensors", "--out=x.pact"],
    "measure": ["measure", *_NETWORK, "--page=page.html"],
    "ranks": ["ranks", *_NETWORK, "--page=page.html"],
    "bounds": ["bounds", *_NETWORK, "--page=page.html"],
    "search": ["search", "--data", "digits", "--out="],
    "experiment": ["experiment", "arora-fig1", "--preset", "digits", "--out="],
}
_FIRST, _COUNT = ["--only", "frobenius"], ["--only", "parameters"]
BAD_OPTIONS = [
    ["demo", "--delta", "2"],
    ["demo", "--delta", "nan"],
    ["demo", "--data", "digitz"],
    ["search", "--data", "digits", "--out", "new", "--delta", "0"],
    ["search", "--data", "digits", "--out", "new", "--budget", "soon"],
    ["search", "--data", "digits", "--out", "new", "--rate", "-1"],
    ["search", "--data", "digits", "--out", "new", "--rate", "nan"],
    ["train", *_NETWORK, "--out", "w.safetensors", "--epochs", "0"],
    ["train", *_NETWORK, "--out", "w.safetensors", "--seed", "-1"],
    ["train", *_NETWORK, "--out", "w.safetensors", "--split-counter", "1"],
    ["train", *_NETWORK, "--out", "w.safetensors", "--helper-percent", "50", "--weights", "v.safetensors"],
    ["compress", *_NETWORK, "--weights", "w.safetensors", "--out", "x.pact", "--arithmetic", "float16"],
    ["compress", *_NETWORK, "--weights", "w.safetensors", "--out", "x.pact", "--set", "bits=99"],
    ["measure", *_NETWORK, "--samples", "0"],
    ["measure", *_NETWORK, "--only", "nothing"],
    ["measure", *_NETWORK, "--seed", "-1"],
    ["ranks", *_NETWORK, "--tolerance", "1"],
    ["ranks", *_NETWORK, "--points", "0"],
    ["ranks", *_NETWORK, "--grid", "round"],
    ["bounds", *_NETWORK, "--gamma", "0"],
    ["bounds", *_NETWORK, "--zeta", "1"],
    ["bounds", *_NETWORK, "--only", "nothing"],
    ["experiment", "arora-fig1", "--preset", "slow"],
    ["experiment", "arora-fig1", "--preset", "digits", "--data-dir", "nowhere"],
]


def forbid_work(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in _WORK:  # first: what is imported while a name is replaced would keep the replacement
        importlib.import_module(place.rpartition(".")[0])

    def work(*_: object, **__: object) -> None:
        raise AssertionError("the work has begun")

    for place in _WORK:
        monkeypatch.setattr(place, work)


@pytest.mark.parametrize("command", WRITING)
@pytest.mark.parametrize("hindrance", ["a file where a folder is needed", "a name that is too long"])
def test_a_place_that_cannot_be_written_is_told_before_the_work(
    command: str, hindrance: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    forbid_work(monkeypatch)
    folder = "file" if hindrance.startswith("a file") else "x" * 300
    arguments = [f"{option}={folder}/{name}" for option, _, name in [WRITING[command][-1].partition("=")]]
    assert run([*WRITING[command][:-1], *arguments]) == 2
    assert folder[:40] in capsys.readouterr().err.replace("\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["file"], "nothing is left behind"


@pytest.mark.parametrize("arguments", BAD_OPTIONS, ids=" ".join)
def test_bad_options_are_told_before_the_work(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if "digitz" not in arguments:
        forbid_work(monkeypatch)
    assert run(arguments) == 2
    assert "error: " in capsys.readouterr().err
    assert not list(tmp_path.iterdir()), "nothing is left behind"


@pytest.fixture
def certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with weights, a certified file made from them, and a page of somebody else's."""
    monkeypatch.chdir(tmp_path)
    data = netpact.load_data("digits")
    module = netpact.build(netpact.parse_model("linear", input_shape=data.input_shape, classes=data.classes))
    netpact.save_weights(module, "linear.safetensors")
    pact = netpact.seal(netpact.compress(netpact.trace(module, data), netpact.Quantize(bits=2)))
    netpact.certify(pact, data).write("linear.pact")
    Path("page.html").write_text("<p>thesis</p>")
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["compress", "linear", "--weights", "linear.safetensors", "--data", "digits", "--out", "linear.pact"],
        ["compress", "linear", "--weights", "linear.safetensors", "--data", "digits", "--out", "page.html"],
        ["train", "linear", "--data", "digits", "--epochs", "1", "--out", "linear.safetensors"],
        ["measure", "linear", "--weights", "linear.safetensors", "--data", "digits", *_FIRST, "--page", "page.html"],
        ["bounds", "linear", "--weights", "linear.safetensors", "--data", "digits", *_COUNT, "--page", "page.html"],
    ],
    ids=lambda arguments: f"{arguments[0]} {arguments[-1]}",
)
def test_what_took_work_is_replaced_only_when_asked(
    arguments: list[str], certified: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = certified / arguments[-1]
    before = target.read_bytes()
    with monkeypatch.context() as still:
        forbid_work(still)
        assert run(arguments) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert target.read_bytes() == before
    assert run([*arguments, "--overwrite"]) == 0
    assert target.read_bytes() != before


def test_what_took_no_work_is_replaced(certified: Path) -> None:
    line = ["compress", "linear", "--weights", "linear.safetensors", "--data", "digits", "--out", "new.pact"]
    assert run(line) == run([*line, "--set", "bits=3"]) == 0
    line = ["bounds", "linear", "--weights", "linear.safetensors", "--data", "digits", "--only", "parameters"]
    assert run([*line, "--page", "new.html"]) == run([*line, "--page", "new.html"]) == 0


def test_a_demonstration_leaves_other_peoples_files_alone(certified: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_work(monkeypatch)
    before = (certified / "linear.safetensors").read_bytes()
    assert run(["demo", "--out", "."]) == 2
    assert (certified / "linear.safetensors").read_bytes() == before
    assert not (certified / "run").exists()
