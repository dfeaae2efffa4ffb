"""netpact bounds as a user meets it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from netpact.cli.app import run

KEYS = {"name", "kind", "value", "log10", "theorem", "assumptions", "ignored"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Weights of a small network, and a certified file of it."""
    where = tmp_path_factory.mktemp("bounds")
    weights, pact = str(where / "mlp.safetensors"), str(where / "small.pact")
    train = ["train", "mlp:12", "--data", "digits", "--epochs", "8", "--learning-rate", "0.01", "--out", weights]
    assert run(train) == 0
    compress = ["compress", "mlp:12", "--weights", weights, "--data", "digits", "--set", "grid=ternary", "--out", pact]
    assert run(compress) == 0
    assert run(["certify", pact, "--data", "digits"]) == 0
    return weights, pact


def command(made: tuple[str, str], *more: str) -> list[str]:
    return ["bounds", "mlp:12", "--weights", made[0], "--data", "digits", *more]


def run_json(capsys: pytest.CaptureFixture[str], arguments: list[str], *, code: int = 0) -> Any:
    capsys.readouterr()
    assert run([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_estimates_stand_beside_the_certificate(
    made: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "bounds.html"
    arguments = command(
        made, "--samples", "20", "--pact", made[1], "--page", str(page), "--figures", str(tmp_path / "drawn")
    )
    records = run_json(capsys, arguments)
    assert all(record.keys() >= KEYS for record in records)
    kinds = {record["name"]: record["kind"] for record in records}
    assert kinds.pop("small") == "certificate"
    assert set(kinds.values()) == {"estimate"}
    assert kinds.keys() >= {
        "neyshabur-2015",
        "arora-4.1",
        "arora-5.1",
        "arora-figure-2",
        "arora-lemma-3",
        "bartlett-2019",
    }
    assert [record["log10"] for record in records] == sorted(record["log10"] for record in records)
    certificate = next(record for record in records if record["kind"] == "certificate")
    from netpact import Pact

    stated = Pact.read(made[1]).certificate
    assert stated is not None
    assert certificate["value"] == stated.bound
    assert 10 ** certificate["log10"] == pytest.approx(
        0.5 * (stated.code_bits * 0.6931471805599453 + 2.995732273553991)
    )
    drawn = sorted(path.name for path in (tmp_path / "drawn").iterdir())
    assert drawn == ["bounds.csv", "bounds.json", "bounds.pdf", "bounds.svg"]
    text = page.read_text()
    assert "◆ certificate</span></td>" in text
    assert "L_gamma" in text


def test_for_people_it_fits_eighty_columns_and_names_what_fails(
    made: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(command(made, "--only", "frobenius", "--only", "vc", "--pact", made[1])) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert max(len(line) for line in captured.err.splitlines()) <= 80
    for part in ("estimate", "certificate", "L_gamma", "no biases: fails", "neyshabur-2015*"):
        assert part in captured.err
    assert "lemma-3" not in captured.err


def test_gamma_is_given_or_a_quantile(made: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    (fixed,) = run_json(capsys, command(made, "--only", "frobenius", "--gamma", "0.5"))
    assert fixed["gamma"] == 0.5
    (best,) = run_json(capsys, command(made, "--only", "frobenius", "--gamma", "0.5", "--gamma", "0.25"))
    assert best["gamma"] == 0.5, "the larger one serves better here"
    assert 10 ** best["log10"] == pytest.approx(10 ** fixed["log10"] + math.log(2)), "two were tried: ln 2 is paid"
    assert any("grid of 2" in assumption for assumption in best["assumptions"])
    low, high = (
        run_json(capsys, command(made, "--only", "frobenius", "--gamma-quantile", share))[0] for share in ("0.3", "0.6")
    )
    assert low["gamma"] < high["gamma"]
    assert low["margin_loss"] == pytest.approx(0.3, abs=0.01)
    (reshaped,) = run_json(capsys, command(made, "--only", "frobenius", "--convolutions", "reshaped", "--gamma", "0.5"))
    assert reshaped["log10"] == pytest.approx(fixed["log10"]), "no convolutions here"


@pytest.mark.parametrize(
    ("more", "part"),
    [
        (["--only", "magic"], "neyshabur-2015"),
        (["--gamma", "1", "--gamma-quantile", "0.1"], "not both"),
        (["--gamma", "-1"], "> 0"),
        (["--gamma-quantile", "1.5"], "quantile"),
        (["--only", "frobenius", "--gamma-quantile", "0"], "above 0"),
        (["--convolutions", "flat"], "unrolled"),
        (["--cushions", "soft"], "with-bias"),
        (["--zeta", "2"], "< 1"),
        (["--pact", "nowhere.pact"], "nowhere.pact"),
        (["--only", "lemma-8"], "linear classifiers"),
        (["--samples", "0"], "samples"),
    ],
)
def test_bad_options_are_told_as_json(
    made: tuple[str, str], more: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = run_json(capsys, command(made, "--only", "vc", *more), code=2)
    assert part in " ".join(problem.values())


def test_a_file_without_certificate_or_for_other_data_is_refused(
    made: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import numpy as np

    from netpact import Pact, load_data

    bare = tmp_path / "bare.pact"
    Pact(Pact.read(made[1]).message).write(bare)
    problem = run_json(capsys, command(made, "--only", "vc", "--pact", str(bare)), code=2)
    assert "no certificate" in problem["error"]
    x, y = (np.concatenate(parts) for parts in zip(*load_data("digits").train.batches(), strict=True))
    np.savez(tmp_path / "less.npz", x_train=x[:700], y_train=y[:700])
    arguments = ["bounds", "mlp:12", "--weights", made[0], "--data", str(tmp_path / "less.npz")]
    problem = run_json(capsys, [*arguments, "--only", "vc", "--pact", made[1]], code=2)
    assert "other data" in problem["error"]


def test_help_lists_the_bounds_and_the_options_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    from netpact.bounds import BOUNDS
    from netpact.bounds.bound import option_records

    assert run(["bounds", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in BOUNDS)
    assert all(f"--{name.replace('_', '-')}" in text for name in option_records())
