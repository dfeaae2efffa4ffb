"""Every name that a user can misspell is answered with the one that was meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import pytest
from source_text import SOURCE, short_name

import netpact
from netpact.bounds import EstimateOptions, check_names
from netpact.certificates import risk_bound
from netpact.cli.app import run
from netpact.core.errors import PactError, did_you_mean, one_of
from netpact.experiments import EXPERIMENTS
from netpact.exploration import find_preset
from netpact.methods import make_method
from netpact.training import parse_augmentation, parse_schedule


def named(model: str) -> object:
    return netpact.parse_model(model, input_shape=(1, 8, 8), classes=10)


MISSPELLED: dict[str, tuple[Callable[[], object], str]] = {
    "data set": (lambda: netpact.load_data("mnst"), "mnist"),
    "data set, another case": (lambda: netpact.load_data("Fashion-MNIST"), "fashion_mnist"),
    "variant of a data set": (lambda: netpact.load_data("digits:permuted-pixel"), "permuted-pixels"),
    "model": (lambda: named("desnet"), "densenet"),
    "model with sizes": (lambda: named("mpl:64"), "mlp"),
    "method": (lambda: make_method("quantise", {}), "quantize"),
    "option of a method": (lambda: make_method("quantize", {"bit": "3"}), "bits"),
    "grid": (lambda: netpact.Quantize(grid="tenary"), "ternary"),
    "bound": (lambda: check_names(["arora-4-1"]), "arora-4.1"),
    "form of a bound": (
        lambda: risk_bound(errors=1, samples=9, code_bits=1, delta=0.1, form="hoefding"),
        "hoeff",
    ),
    "way to read convolutions": (lambda: EstimateOptions(convolutions="unroled"), "unrolled"),
    "quantity": (lambda: netpact.MeasureOptions(only=("stable_rnk",)), "stable_rank"),
    "experiment": (lambda: EXPERIMENTS.look_up("arora-tabel1"), "arora-table1"),
    "preset of an experiment": (lambda: EXPERIMENTS["arora-fig1"].preset("qick"), "quick"),
    "preset of a search": (lambda: find_preset("minst"), "mnist"),
    "optimizer": (lambda: netpact.TrainOptions(optimizer="adamm"), "adam"),
    "schedule": (lambda: parse_schedule("cosin"), "cosine"),
    "augmentation": (lambda: parse_augmentation("crop4+flip"), "crop-4+flip"),
}


@pytest.mark.parametrize("kind", MISSPELLED)
def test_a_misspelled_name_is_answered_with_the_right_one(kind: str) -> None:
    call, meant = MISSPELLED[kind]
    with pytest.raises(PactError) as caught:
        call()
    assert f"did you mean {meant}" in caught.value.hint


def test_public_names_of_the_package() -> None:
    with pytest.raises(AttributeError, match="did you mean certify"):
        _ = netpact.certfy  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        _ = netpact.nonsense  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["trian"], "train"),
        (["data", "digits", "--jsn"], "--json"),
        (["train", "mlp", "--data", "digits", "--out", "w.safetensors", "--recipe", "arora-vg"], "arora-vgg"),
        (["train", "mpl:64", "--data", "digits", "--out", "w.safetensors"], "did you mean mlp"),
        (["compress", "mlp", "--data", "digits", "--method", "ternary-serch", "--out", "x.pact"], "ternary-search"),
    ],
)
def test_on_the_command_line(arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert meant in " ".join(capsys.readouterr().err.split())


def test_nothing_is_suggested_where_nothing_is_alike() -> None:
    assert did_you_mean("quantize", ["adam", "sgd"]) == ""
    assert one_of("magic", ["adam", "sgd"], option="optimizer").hint == ""
    assert one_of(7, ["adam", "sgd"], option="optimizer").hint == ""


def test_errors_speak_of_integers() -> None:
    """One word for one thing: names such as WholeNumber stay, texts say integers as the documentation does."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise):
                said = "".join(str(part.value) for part in ast.walk(node) if isinstance(part, ast.Constant))
                assert not re.search(r"whole[ -]numbers?", said), f"{short_name(path)}, line {node.lineno}"
