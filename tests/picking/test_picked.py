"""From data to a .pick file to a verdict, and every way of lying in the file."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from netpact import Data, Picked, PickRecipe, as_data, load_data, pick, verify_picked
from netpact.certificates import SelectionCertificate, code_bits, selection_bound
from netpact.cli.app import run
from netpact.coding.format.pact import pack_parts
from netpact.core.errors import PactError
from netpact.exploration import search_picks
from netpact.exploration.clock import Clock
from netpact.exploration.pick_bench import Bench
from netpact.picking.classifier import count_wrong
from netpact.picking.file import CONTAINER_VERSION, MAGIC


def stated(picked: Picked) -> SelectionCertificate:
    assert picked.certificate is not None
    return picked.certificate


def test_the_bound_is_that_of_what_was_selected(picked: Picked, digits: Data) -> None:
    told = stated(picked)
    assert told.picked == len(picked.picks) == 75
    assert told.samples == digits.train.count - told.copies
    assert told.code_bits == 37
    assert told.bound == selection_bound(selected=75 + told.errors, samples=told.samples, code_bits=37, delta=0.05)
    assert told.bound < 0.125
    assert told.test_error is not None
    assert told.test_error < told.bound < told.subset_bound
    assert told.hold_out_bound is not None


def test_the_module_decides_as_was_counted(picked: Picked, digits: Data) -> None:
    module = picked.to_module(digits)
    x, y = next(iter(digits.train.batches(digits.train.count)))
    wrong = count_wrong(module(torch.from_numpy(x)).numpy(), y)
    wrong[picked.picks] = False
    assert int(wrong.sum()) == stated(picked).errors
    tested = next(iter(digits.test.batches(1000))) if digits.test is not None else (x, y)
    assert int(count_wrong(module(torch.from_numpy(tested[0])).numpy(), tested[1]).sum()) == stated(picked).test_errors


def test_a_fresh_process_agrees_from_file_and_data_alone(picked: Picked, tmp_path: Path) -> None:
    file = picked.write(tmp_path / "digits.pick")
    done = subprocess.run(
        [sys.executable, "-m", "netpact", "verify", str(file), "--data", "digits", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["agreed"] is True
    assert record["bound"] == stated(picked).bound
    assert record["verified_errors"] == stated(picked).errors
    assert "sample compression: 75 samples picked" in done.stderr


def test_there_and_back(picked: Picked, digits: Data) -> None:
    again = Picked.from_bytes(picked.to_bytes())
    assert again.recipe == picked.recipe
    assert again.picks.tolist() == picked.picks.tolist()
    assert again.certificate == picked.certificate
    assert verify_picked(again, digits)


@pytest.mark.parametrize(
    "change",
    [
        {"errors": 0},
        {"picked": 60},
        {"samples": 1400},
        {"copies": 3},
        {"test_errors": 0},
        {"delta": 0.2},
        {"repeats": True},
        {"classes": 9},
        {"subset_bound": 0.05},
        {"hold_out_bound": 0.03},
        {"message_sha256": "0" * 64},
        {"data_fingerprint": "sha256:" + "0" * 64},
    ],
)
def test_every_lie_is_refused(picked: Picked, digits: Data, change: dict[str, Any]) -> None:
    """Each with the bound that it would give, so that the record itself is consistent."""
    told = replace(stated(picked), **({"bound": 1.0} | change))
    lowest = selection_bound(selected=told.selected, samples=told.samples, code_bits=told.code_bits, delta=told.delta)
    lie = picked.with_certificate(replace(told, bound=lowest))
    if change == {"delta": 0.2}:
        assert verify_picked(lie, digits), "another confidence is another true statement"
    elif change == {"repeats": True}:
        assert verify_picked(lie, digits), "no copies: declaring that values repeat changes nothing"
    else:
        assert not verify_picked(lie, digits)


def test_a_bound_below_the_formula_cannot_be_written_down(picked: Picked) -> None:
    with pytest.raises(PactError, match="smaller than the formula gives"):
        replace(stated(picked), bound=stated(picked).bound - 1e-4)


def test_other_picks_or_another_recipe_are_refused(picked: Picked, digits: Data) -> None:
    swapped = picked.picks.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    assert "other samples" in str(verify_picked(replace(picked, picks=swapped), digits))
    assert not verify_picked(replace(picked, recipe=replace(picked.recipe, width=19)), digits)
    assert not verify_picked(replace(picked, certificate=None), digits)


def test_what_is_stated_of_test_samples_that_are_not_here_is_left_out(picked: Picked, digits: Data) -> None:
    verdict = verify_picked(picked, replace(digits, test=None))
    assert verdict.agreed
    assert "hold-out" not in str(verdict).partition("Note:")[0]
    assert "not checked" in str(verdict)


def test_other_data_are_refused(picked: Picked, digits: Data) -> None:
    verdict = verify_picked(picked, load_data("digits", limit=1000))
    assert "fingerprint" in str(verdict)
    with pytest.raises(PactError, match="not the samples"):
        picked.to_module(load_data("digits", limit=1000))


def test_copies_are_left_out_unless_values_repeat() -> None:
    x, y = next(iter(load_data("digits", limit=200).train.batches(200)))
    twice = as_data((np.concatenate([x, x[:50]]), np.concatenate([y, y[:50]])))
    recipe = PickRecipe(width=19)
    left_out, counted = pick(twice, recipe), pick(twice, recipe, repeats=True)
    assert (stated(left_out).samples, stated(left_out).copies) == (200, 50)
    assert stated(counted).samples == 250
    assert "exact copies were left out" in stated(left_out).sentence()
    assert stated(counted).sentence().startswith("If the distribution itself repeats values")
    assert verify_picked(left_out, twice)
    assert verify_picked(counted, twice)


def test_damaged_files_are_refused_or_honest(picked: Picked, digits: Data) -> None:
    """Past the checksum: parts are changed and packed again."""
    content = json.dumps(stated(picked).to_json()).encode()
    parts = [picked.message, picked.picks.astype(">u4").tobytes(), content]
    draw = random.Random(0)
    opened = 0
    for _ in range(300):
        place = draw.randrange(3)
        changed = bytearray(parts[place])
        for _ in range(draw.choice((1, 1, 3))):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        damaged = [*parts[:place], bytes(changed), *parts[place + 1 :]]
        try:
            found = Picked.from_bytes(pack_parts(MAGIC, CONTAINER_VERSION, damaged))
        except PactError:
            continue
        opened += 1
        if opened <= 12 and found.to_bytes() != picked.to_bytes() and found.certificate is not None:
            same = found.certificate == picked.certificate and found.recipe == picked.recipe
            assert not verify_picked(found, digits) or same or found.certificate.bound >= stated(picked).bound
    assert opened > 5
    for cut in (0, 3, 9, 40, len(picked.to_bytes()) - 1):
        with pytest.raises(PactError):
            Picked.from_bytes(picked.to_bytes()[:cut])


def test_hostile_names_are_shown_as_text(picked: Picked) -> None:
    with pytest.raises(PactError):
        replace(stated(picked), data_name='x"\x1b[31m agreed')


def test_data_that_it_cannot_take() -> None:
    x, y = np.full((20, 6), 3.0, dtype=np.float32), np.arange(20) % 2
    with pytest.raises(PactError, match="outside of 0 to 1"):
        pick(as_data((x, y)))
    with pytest.raises(PactError, match="oriented features need images"):
        pick(as_data((x / 4, y)), PickRecipe(features="oriented"))
    with pytest.raises(PactError, match="as they are"):
        pick(load_data("digits:standardise=0.5/0.5"))


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "found"
    search = ["search", "--kind", "sample-compression", "--data", "digits", "--budget", "6s", "--out", str(out)]
    assert run([*search, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["certificate"]["bound"] < 0.16
    assert len(record["ledger"]) > 3
    file = str(out / "best.pick")
    assert run(["verify", file, "--data", "digits", "--page", str(tmp_path / "page.html")]) == 0
    assert "Proven, verified" in (tmp_path / "page.html").read_text()
    assert run(["info", file]) == 0
    assert "sample compression" in capsys.readouterr().err
    before = Path(file).read_bytes()
    assert run([*search[:-4], "--budget", "0.1s", "--out", str(out)]) == 0
    assert stated(Picked.read(file)).bound <= stated(Picked.from_bytes(before)).bound
    assert run([*search, "--rate", "2"]) == 2
    assert "--rate" in capsys.readouterr().err


def test_what_few_samples_found_is_changed_further_on_all(
    digits: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netpact.exploration.pick_search._FEW", 300)
    found = search_picks(digits, out=tmp_path, rounds=1)
    on_all = [trial for trial in found.ledger if trial.name.endswith("(1,437 samples)")]
    assert any(trial.name.endswith("(300 samples)") for trial in found.ledger)
    assert len(on_all) > 3
    assert len({trial.name for trial in on_all}) == len(on_all), "none is run twice"
    kinds = {trial.name.partition(", width")[0] for trial in on_all}
    assert len({kind.replace(" order hash,", "") for kind in kinds}) == 1, "features stay as they are"
    assert len(kinds) == 2, "both orders are tried"
    best = min(trial.errors for trial in on_all)
    assert best < on_all[0].errors, "a change was worth it"
    assert stated(found.picked).selected <= best * 1.1
    assert verify_picked(found.picked, digits)


def test_a_run_that_would_outlast_the_budget_ends_with_what_it_has(
    digits: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netpact.exploration.pick_bench._LEAST_RUN", -1.0)
    found = search_picks(digits, out=tmp_path, budget_seconds=1e-6)
    assert stated(found.picked).picked == 1
    assert verify_picked(found.picked, digits)
    monkeypatch.undo()
    patient = search_picks(digits, out=tmp_path, budget_seconds=1e-6)
    assert stated(patient.picked).bound < 0.2, "one run is made, whatever the budget"


def make_bench(data: Data, few: int) -> Bench:
    return Bench(data, None, few=few, delta=0.05, clock=Clock(None), ledger=[])


def test_few_samples_are_judged_as_all_would_be(digits: Data) -> None:
    """By the share that they select: the bytes of a recipe weigh as much as they will in the end."""
    bench = make_bench(digits, 300)
    recipe = PickRecipe(width=20, margin=5)
    selected = min(picked + wrong for picked, wrong in bench.history(recipe))
    projected = -(-selected * 1437 // 300)
    bits = code_bits(len(recipe.to_bytes()))
    assert bench.score(recipe) == selection_bound(selected=projected, samples=1437, code_bits=bits, delta=0.05)
    assert bench.ledger[0].errors == selected
    whole = make_bench(digits, 5000)
    selected = min(picked + wrong for picked, wrong in whole.history(recipe))
    assert whole.score(recipe) == selection_bound(selected=selected, samples=1437, code_bits=bits, delta=0.05)


def test_when_a_run_of_a_search_ends(digits: Data) -> None:
    enough = make_bench(digits, 300)._enough(time.monotonic())
    assert not enough(99, 100, 98)
    assert enough(100, 100, 98), "as many are picked as an earlier stop selected"
    assert not enough(500, 900, 150)
    assert enough(501, 900, 150), "nothing better for as many picks again, and 200"
