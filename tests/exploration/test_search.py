"""search: the ledger, resuming, repeating, the certified file, and no luck with random labels."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netpact
import netpact.exploration.heads
import netpact.network
from netpact.cli.app import run
from netpact.cli.commands.search import parse_budget
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.exploration import PRESETS, SearchResult, Trial, candidate_names, find_preset, search
from netpact.exploration.sign_candidates import is_sign_candidate
from netpact.layers import CPConv2d
from netpact.methods.annealing import bound_of
from netpact.methods.flips import Flips
from netpact.methods.sign_training import train_signs


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 digits: enough to search on, quick to run."""
    train = netpact.load_data("digits").train
    x, y = (np.concatenate(parts)[:300] for parts in zip(*train.batches(), strict=True))
    path = tmp_path_factory.mktemp("data") / "small.npz"
    np.savez(path, x_train=x, y_train=y)
    return path


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpact.exploration.heads.ROUND_STEPS", 60)
    monkeypatch.setattr("netpact.methods.sign_training._FEWEST_STEPS", 150)
    monkeypatch.setattr("netpact.methods.sign_training._FREE_STEPS", 60)


def explore(data: Path, out: Path, *, rounds: int = 2, seed: int = 0) -> tuple[netpact.Pact, list[Trial]]:
    seen: list[Trial] = []
    result = search(
        str(data),
        budget_seconds=1000,
        rounds=rounds,
        seed=seed,
        out=out,
        candidates=["oriented:8-5-4-2-1", "linear"],
        rates=[3.5, 6.0],
        progress=seen.append,
    )
    assert tuple(seen) == result.ledger
    return result.pact, seen


def test_ends_with_the_best_file_its_certificate_and_the_ledger(small: Path, tmp_path: Path) -> None:
    pact, ledger = explore(small, tmp_path)
    assert pact.certificate is not None
    assert netpact.verify(netpact.Pact.read(tmp_path / "best.pact"), str(small)).agreed
    record = json.loads((tmp_path / "ledger.json").read_text())
    assert [trial["name"] for trial in record["ledger"]] == [trial.name for trial in ledger]
    assert len(ledger) == 2 * 2 + 2 + 1, "two candidates at two rates, two finalists, one more round"
    assert pact.certificate.bound == min(trial.score for trial in ledger), "judged by what will be certified"


def test_goes_on_and_repeats(small: Path, tmp_path: Path) -> None:
    first, _ = explore(small, tmp_path / "a", rounds=1)
    longer, ledger = explore(small, tmp_path / "a", rounds=3)
    again, fresh = explore(small, tmp_path / "b", rounds=3)
    assert longer.message == again.message, "interrupted or not, the same file"
    assert [trial.score for trial in ledger] == [trial.score for trial in fresh]
    assert ledger[0].seconds != fresh[0].seconds, "the first was not run again but found in the folder"
    assert first.certificate is not None
    assert longer.certificate is not None
    assert longer.certificate.bound <= first.certificate.bound + 0.02


def test_random_labels_give_no_bound_below_chance(small: Path, tmp_path: Path) -> None:
    """True risk of any classifier is 0.9 here; a searched certificate below that would be a wrong one."""
    content = np.load(small)
    for seed in range(3):
        labels = np.random.default_rng(seed).integers(0, 10, len(content["y_train"]))
        np.savez(tmp_path / f"random{seed}.npz", x_train=content["x_train"], y_train=labels)
        pact, _ = explore(tmp_path / f"random{seed}.npz", tmp_path / f"out{seed}", rounds=1, seed=seed)
        assert pact.certificate is not None
        assert pact.certificate.bound >= 0.9


def test_candidates_fit_the_data() -> None:
    digits = netpact.load_data("digits")
    assert candidate_names(digits)[-1] == "linear"
    for name in candidate_names(digits):
        netpact.parse_model(name, input_shape=digits.input_shape, classes=10)
    vectors = netpact.as_data((np.random.default_rng(0).random((6, 5)).astype(np.float32), np.arange(6) % 2))
    assert candidate_names(vectors) == ["linear"]
    colours = netpact.as_data((np.zeros((6, 3, 16, 20), dtype=np.float32), np.arange(6) % 2))
    assert candidate_names(colours)[:2] == ["contours:8-4-2-3", "contours:8-4-2-1"]
    assert not [name for name in candidate_names(colours) if name.startswith("sobel")], "it averages colours"
    for name in candidate_names(colours):
        netpact.parse_model(name, input_shape=(3, 16, 20), classes=2)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400)])
def test_budgets_are_read(text: str, seconds: float) -> None:
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "m", "-5m", "0s", "5 m", "1d"])
def test_bad_budgets_are_refused(text: str) -> None:
    with pytest.raises(PactError, match="must be a time above 0"):
        parse_budget(text)


def test_networks_with_more_to_learn_are_trained_under_the_price(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netpact.exploration.learned._EPOCHS", 2)
    monkeypatch.setattr("netpact.exploration.learned._FREE_EPOCHS", 1)
    told: list[tuple[str, int, int]] = []
    results = [
        search(
            str(small),
            budget_seconds=1,
            rounds=1,
            out=tmp_path / folder,
            candidates=["mlp:4"],
            rates=[1.0, 8.0],
            working=lambda name, done, total: told.append((name, done, total)),
        )
        for folder in ("a", "b")
    ]
    assert results[0].pact.message == results[1].pact.message, "the same file every time"
    assert results[0].pact.arithmetic == "float64"
    ledger = {trial.name: trial for trial in results[0].ledger}
    assert ledger["mlp:4 rate 1"].bits > ledger["mlp:4 rate 8"].bits, "a higher price makes a shorter message"
    assert {f"mlp:4 rate {rate} signs {price}" for rate in (1, 8) for price in (4, 6, 8)} < set(ledger)
    assert {name for name, _, _ in told} == set(ledger)
    assert results[0].pact.certificate is not None
    assert results[0].pact.certificate.bound == min(trial.score for trial in ledger.values())
    assert netpact.verify(netpact.Pact.read(tmp_path / "a" / "best.pact"), str(small)).agreed


def test_cp_candidates_are_trained_from_scratch_and_decomposed(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netpact.exploration.learned._EPOCHS", 2)
    monkeypatch.setattr("netpact.exploration.learned._FREE_EPOCHS", 1)
    name = "cp:60:convnet:2-3-4-6"
    results = [
        search(str(small), budget_seconds=1, rounds=1, out=tmp_path / folder, candidates=[name], rates=[1.0])
        for folder in ("a", "b")
    ]
    assert results[0].pact.message == results[1].pact.message, "the same file every time"
    ledger = {trial.name: trial for trial in results[0].ledger}
    assert {f"{name} rate 1", f"{name} decomposed rate 1", f"{name} decomposed rate 1 signs 8"} < set(ledger)
    assert ledger[f"{name} rate 1"].errors != ledger[f"{name} decomposed rate 1"].errors
    pact = netpact.Pact.read(tmp_path / "a" / "best.pact")
    assert pact.architecture == netpact.parse_model("convnet:2-3-4-6", input_shape=(1, 8, 8), classes=10)
    layer = pact.to_module().get_submodule("conv2")
    assert isinstance(layer, CPConv2d)
    assert layer.rank == int(0.6 * 4 * 6 * 9 / (4 + 6 + 9)) == 6
    assert netpact.verify(pact, str(small)).agreed
    assert pact.code_bits == min(ledger.values(), key=lambda trial: trial.score).bits, "the form is paid for"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("cp:0:convnet", "share from 1 to 100"),
        ("cp:half:convnet", "share from 1 to 100"),
        ("cp:50", "must be cp:SHARE:MODEL"),
        ("cp:50:linear", "no convolution of several channels"),
        ("cp:50:nonsense", "nonsense"),
    ],
)
def test_bad_cp_candidates_die_before_the_work(name: str, told: str, small: Path, tmp_path: Path) -> None:
    with pytest.raises(PactError, match=told):
        search(str(small), budget_seconds=1, out=tmp_path, candidates=[name])


def test_bad_options_die_before_the_work(small: Path, tmp_path: Path) -> None:
    with pytest.raises(PactError, match="no candidates"):
        search(str(small), budget_seconds=1, out=tmp_path, candidates=[])
    with pytest.raises(PactError, match="budget_seconds: must be a finite number > 0"):
        search(str(small), budget_seconds=0, out=tmp_path)
    with pytest.raises(PactError, match="rates: must be a finite number > 0"):
        search(str(small), budget_seconds=1, out=tmp_path, rates=[4.0, 0.0])
    with pytest.raises(PactError, match="training_steps: must be an integer >= 1"):
        search(str(small), budget_seconds=1, out=tmp_path, training_steps=0)
    with pytest.raises(PactError, match="nosuch"):
        search(str(small), budget_seconds=1, out=tmp_path, candidates=["linear", "nosuch"])
    assert not list(tmp_path.iterdir())


def test_the_length_of_the_training_is_part_of_the_trial(small: Path, tmp_path: Path) -> None:
    results = [
        search(
            str(small),
            budget_seconds=1,
            rounds=1,
            out=tmp_path,
            candidates=["linear"],
            rates=[4.0],
            training_steps=steps,
        )
        for steps in (5, 80)
    ]
    first, second = (result.ledger[0] for result in results)
    assert (first.name, second.name) == ("linear signs 4, 5 steps", "linear signs 4, 80 steps")
    assert (first.errors, first.bits) != (second.errors, second.bits)
    assert results[1].command.endswith("--rate 4 --training-steps 80 --rounds 1 --out DIR")


def test_another_delta_is_another_search(small: Path, tmp_path: Path) -> None:
    """Delta decides which trial is the best so far, and so what the next round starts from."""
    counts = []
    for delta in (0.05, 0.2, 0.2):
        search(str(small), budget_seconds=1, rounds=1, out=tmp_path, delta=delta, candidates=["linear"], rates=[4.0])
        counts.append(len(list((tmp_path / "run").iterdir())))
    assert counts == [2, 4, 4]


def test_presets_name_what_can_be_built() -> None:
    shapes = {"digits": (1, 8, 8), "mnist": (1, 28, 28), "fashion_mnist": (1, 28, 28), "cifar10": (3, 32, 32)}
    for preset in PRESETS.values():
        for name in preset.candidates:
            model = name.rpartition(":lnconv:")[2] if is_sign_candidate(name) else ""
            netpact.parse_model(f"lnconv:{model}" if model else name, input_shape=shapes[preset.data], classes=10)
    with pytest.raises(PactError, match="mnist-learned"):
        find_preset("imagenet")


def test_command_line(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["search", "--data", str(small), "--budget", "4s", "--candidate", "linear", "--out", str(tmp_path)]
    assert run([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    record = json.loads(captured.out)
    assert record["certificate"]["kind"] == "certificate"
    assert record["rounds"] >= 1
    assert f"--candidate linear --rounds {record['rounds']}" in record["command"], (
        "the command repeats this very search"
    )
    assert "With probability at least 95 %" in captured.err


def test_a_preset_runs_on_other_data(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["search", "--preset", "digits", "--data", str(small), "--out", str(tmp_path), "--json"]
    assert run(arguments) == 0
    record = json.loads(capsys.readouterr().out)
    digits = PRESETS["digits"]
    assert record["rounds"] == digits.rounds
    assert record["command"].startswith(f"netpact search --data {small} --seed {digits.seed} --candidate linear")
    assert len(record["ledger"]) == 2 * len(digits.rates) + 2 + digits.rounds - 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "no data"), (["--preset", "digits", "--rounds", "2"], "a preset fixes rounds")],
)
def test_the_command_line_says_what_is_missing(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["search", *arguments, "--out", str(tmp_path)]) != 0
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("budget", [0.5, 6.0])
def test_the_budget_is_kept_to(budget: float, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that every step moves on: 1/50 s for a step of training or annealing, or for a count."""
    clock = Steps()
    monkeypatch.setattr("netpact.exploration.clock.time.monotonic", clock)
    monkeypatch.setattr("netpact.exploration.trials.count_errors", clock.around(netpact.network.count_errors, 0.02))
    monkeypatch.setattr("netpact.exploration.heads.ROUND_STEPS", 600)
    for place, step in (("train_signs", 0.02), ("retrain_signs", 0.02), ("anneal", 0.4)):  # annealing asks more rarely
        name = f"netpact.exploration.heads.{place}"
        monkeypatch.setattr(name, clock.stepping(getattr(netpact.exploration.heads, place), step))
    result = search(small, budget_seconds=budget, out=tmp_path, candidates=["linear", "oriented:8-5-4-2-1"])
    assert clock.now <= 1.2 * budget + 0.5, "no more than the budget and a step"
    assert clock.now >= 0.5 * budget, "and the budget is used"
    assert netpact.verify(netpact.Pact.read(tmp_path / "best.pact"), str(small)).agreed
    assert result.ledger[-1].name.endswith(", stopped")
    kept = len(list((tmp_path / "run").glob("*.json")))
    assert kept == len([trial for trial in result.ledger if not trial.name.endswith(", stopped")])


class Steps:
    """A clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def around(self, work: Callable[..., Any], seconds: float) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            self.now += seconds
            return work(*arguments, **named)

        return run

    def stepping(self, work: Callable[..., Any], seconds: float) -> Callable[..., Any]:
        """Work whose `stop` is asked between steps: each question moves the clock on."""

        def run(*arguments: Any, stop: Callable[[], bool], **named: Any) -> Any:
            return work(*arguments, stop=self.around(stop, seconds), **named)

        return run


def test_a_learned_candidate_that_takes_too_long_is_told(small: Path, tmp_path: Path) -> None:
    with pytest.raises(PactError, match=r"no network of mlp:4 was trained within the budget.*give more time"):
        search(small, budget_seconds=0.01, out=tmp_path, candidates=["mlp:4"])


def test_a_search_that_goes_on_takes_what_is_stored_without_asking_the_clock(small: Path, tmp_path: Path) -> None:
    _, ledger = explore(small, tmp_path, rounds=2)
    result = search(
        small, budget_seconds=0.2, out=tmp_path, candidates=["oriented:8-5-4-2-1", "linear"], rates=[3.5, 6.0]
    )
    assert {trial.name for trial in ledger} <= {trial.name for trial in result.ledger}


def quick(data: Path, out: Path, *, steps: int = 80, delta: float = 0.05) -> SearchResult:
    return search(
        data, budget_seconds=1, rounds=1, out=out, delta=delta, candidates=["linear"], rates=[4.0], training_steps=steps
    )


def test_a_better_file_is_never_replaced_by_a_worse_one(small: Path, tmp_path: Path) -> None:
    better, _ = explore(small, tmp_path, rounds=2)
    content = (tmp_path / "best.pact").read_bytes()
    worse = quick(small, tmp_path, steps=1)
    assert better.certificate is not None
    assert worse.pact.certificate is not None
    assert worse.pact.certificate.bound > better.certificate.bound
    assert (tmp_path / "best.pact").read_bytes() == content
    assert "best.pact stays" in worse.note
    assert netpact.Pact.read(worse.file).message == worse.pact.message, "what this search found is kept as well"


def test_a_worse_file_is_replaced_and_an_equal_one_left(small: Path, tmp_path: Path) -> None:
    worse = quick(small, tmp_path, steps=1)
    assert worse.note == ""
    assert quick(small, tmp_path, steps=1).note == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best.pact", "ledger.json", "run"]
    better, _ = explore(small, tmp_path, rounds=2)
    assert netpact.Pact.read(tmp_path / "best.pact").message == better.message


@pytest.mark.parametrize("case", ["other data", "other delta", "no certificate", "false certificate", "no pact"])
def test_what_cannot_be_compared_is_set_aside(case: str, small: Path, tmp_path: Path) -> None:
    best = tmp_path / "best.pact"
    data = netpact.load_data("digits" if case == "other data" else small)
    module = netpact.build(netpact.parse_model("linear", input_shape=data.input_shape, classes=data.classes))
    pact = netpact.seal(netpact.compress(netpact.trace(module, data), netpact.Quantize(bits=2)))
    if case == "no pact":
        best.write_bytes(b"thesis")
    elif case == "no certificate":
        pact.write(best)
    else:
        certified = netpact.certify(pact, data, delta=0.2 if case == "other delta" else 0.05)
        assert certified.certificate is not None
        lie = replace(certified.certificate, bound=0.01, errors=0)
        (pact.with_certificate(lie) if case == "false certificate" else certified).write(best)
    before = best.read_bytes()
    result = quick(small, tmp_path)
    [aside] = tmp_path.glob("earlier-*.pact")
    assert aside.read_bytes() == before
    assert aside.name in result.note
    assert result.file == best
    assert netpact.verify(netpact.Pact.read(best), small).agreed


def test_copies_are_judged_as_they_are_certified(small: Path, tmp_path: Path) -> None:
    content = np.load(small)
    x, y = (np.repeat(content[name], 3, axis=0) for name in ("x_train", "y_train"))
    np.savez(tmp_path / "copied.npz", x_train=x, y_train=y)
    result = quick(tmp_path / "copied.npz", tmp_path / "out")
    assert result.pact.certificate is not None
    assert result.pact.certificate.bound == min(trial.score for trial in result.ledger)


def test_several_starts_are_halved_and_named(small: Path, tmp_path: Path) -> None:
    options = {"budget_seconds": 1000, "candidates": ["linear"], "rates": [6.0], "training_steps": 60, "rounds": 3}
    result = search(str(small), out=tmp_path / "a", starts=4, **options)  # type: ignore[arg-type]
    names = [trial.name for trial in result.ledger]
    trained = ["linear signs 6, 60 steps", *(f"linear signs 6, 60 steps, start {n}" for n in (2, 3, 4))]
    assert names[:4] == trained
    assert len({trial.bits for trial in result.ledger[:4]}) > 1, "each start has random numbers of its own"
    assert sorted(names[4:8]) == sorted(f"{name} round 1" for name in trained)
    assert len([name for name in names if name.endswith("round 2")]) == 2
    assert len([name for name in names if name.endswith("round 3")]) == 1
    assert "--starts 4 --rounds 3" in result.command
    again = search(str(small), out=tmp_path / "b", starts=4, **options)  # type: ignore[arg-type]
    assert again.pact.message == result.pact.message


def test_signs_are_the_best_that_the_training_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound of every look is noted: what comes back is the lowest, and the last step is among them."""
    train = netpact.load_data("digits").train
    x, y = (np.concatenate(parts) for parts in zip(*train.batches(), strict=True))
    known = Flips(x.reshape(len(x), -1), y, classes=10)
    seen: list[tuple[float, bytes]] = []

    def look(flips: Flips, signs: Any) -> float:
        seen.append((bound_of(flips, signs), signs.tobytes()))
        return seen[-1][0]

    monkeypatch.setattr("netpact.methods.sign_training.bound_of", look)
    found = train_signs(known, np.zeros((10, 64)), rate=4.0, seed=Seed(0), steps=400)
    assert len(seen) > 20
    assert min(seen)[0] < seen[-1][0], "a case in which the last step is not the best"
    assert bound_of(known, found) == min(seen)[0]


@pytest.mark.parametrize(("name", "exact"), [("oriented:8-5-4-2-1", True), ("linear", False)])
def test_errors_that_follow_from_the_features_are_those_that_are_counted(
    name: str, exact: bool, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Integers of the stem are added without rounding; pixels are fractions, so the network is run."""
    counted: list[int] = []
    run_network = netpact.network.count_errors

    def count(*given: Any, **named: Any) -> Any:
        counted.append(1)
        return run_network(*given, **named)

    monkeypatch.setattr("netpact.exploration.trials.count_errors", count)
    result = search(str(small), budget_seconds=9, out=tmp_path, rounds=1, candidates=[name], rates=[6.0])
    assert bool(counted) is not exact
    for trial in result.ledger:
        assert isinstance(trial.errors, int)
    assert result.pact.certificate is not None
    assert result.pact.certificate.errors == min(result.ledger, key=lambda trial: trial.score).errors
