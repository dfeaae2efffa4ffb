"""Searches of networks of signs: GROUP:MODEL, GROUP+mirror:MODEL, signs:MODEL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import netpact
from netpact.coding.forms import Symmetric
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.exploration import SearchResult, search
from netpact.exploration.sign_candidates import is_sign_candidate, parse_sign_candidate
from netpact.exploration.trials import Notebook, Tried
from netpact.network import count_errors

MODEL = "lnconv:3-1-8-2-3-1-16-2"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    train = netpact.load_data("digits").train
    x, y = (np.concatenate(parts)[:1200] for parts in zip(*train.batches(), strict=True))
    path = tmp_path_factory.mktemp("data") / "small.npz"
    np.savez(path, x_train=x, y_train=y)
    return path


def find(data: Path, out: Path, name: str, *, rounds: int = 1, steps: int = 250) -> SearchResult:
    return search(
        str(data), budget_seconds=1, rounds=rounds, out=out, candidates=[name], rates=[1.0], training_steps=steps
    )


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpact.exploration.heads.ROUND_STEPS", 60)
    monkeypatch.setattr("netpact.methods.sign_training._FREE_STEPS", 60)


@pytest.mark.parametrize("prefix", ["p4m", "p4m+mirror", "p4", "mirror+mirror", "signs"])
def test_the_file_has_the_symmetry_of_its_name(small: Path, tmp_path: Path, prefix: str) -> None:
    result = find(small, tmp_path, f"{prefix}:{MODEL}", rounds=2)
    pact = netpact.Pact.read(tmp_path / "best.pact")
    assert pact.message == result.pact.message
    assert netpact.verify(pact, str(small)).agreed
    group, _, head = prefix.partition("+")
    for name, tensor in pact.decode().tensors.items():
        form = tensor.form
        expected = head if name == "fc1.weight" else group.replace("signs", "")
        assert (form.symmetry.group if isinstance(form, Symmetric) else "") == expected
        assert set(np.unique(tensor.weights())) <= {-1, 0, 1}
    images = torch.from_numpy(next(iter(netpact.load_data("digits").train.batches(50)))[0]).double()
    module = pact.to_module()
    with torch.no_grad():
        same = (module(images) - module(images.flip(3))).abs().max() < 1e-9
    assert same == ("mirror" in head)


def test_the_trained_signs_are_where_rounds_may_begin(small: Path, tmp_path: Path) -> None:
    name = f"p4m:{MODEL}"
    result = find(small, tmp_path, name)
    ledger = {trial.name: trial for trial in result.ledger}
    trained = f"{name} rate 1, 250 steps"
    assert {trained, *(f"{trained} signs {price}, 250 steps" for price in (4, 6, 8))} < set(ledger)
    assert sum(name.endswith("round 1") for name in ledger) == 2
    assert result.pact.certificate is not None
    best = min(trial.score for trial in ledger.values())
    # Near ties count as errors in the certificate alone.
    assert best <= result.pact.certificate.bound < best + 0.01


def test_errors_in_the_ledger_are_those_of_the_networks(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are known from the training, or from the features of the free signs; the network itself was not run."""
    seen, trial = list[Tried](), Notebook.trial

    def note(self: Notebook, *arguments: Any, **named: Any) -> Tried | None:
        tried = trial(self, *arguments, **named)
        seen.extend([tried] if tried else [])
        return tried

    monkeypatch.setattr(Notebook, "trial", note)
    find(small, tmp_path, f"p4m+mirror:{MODEL}")
    assert len(seen) == 6
    for tried in seen:
        counted = count_errors(tried.pact.to_module(), netpact.load_data(str(small)).train, arithmetic="float64")
        assert 0 <= counted.errors - tried.trial.errors <= counted.near_ties
        assert 0 < counted.errors < 1000


def test_a_search_repeats_and_goes_on(small: Path, tmp_path: Path) -> None:
    name = f"p4m+mirror:{MODEL}"
    find(small, tmp_path / "a", name, rounds=1, steps=60)
    longer = find(small, tmp_path / "a", name, rounds=2, steps=60)
    again = find(small, tmp_path / "b", name, rounds=2, steps=60)
    assert longer.pact.message == again.pact.message
    assert [trial.score for trial in longer.ledger] == [trial.score for trial in again.ledger]
    assert longer.ledger[0].seconds != again.ledger[0].seconds, "the first was not run again but found in the folder"


def digits() -> Data:
    return netpact.load_data("digits")


def test_names() -> None:
    assert all(map(is_sign_candidate, ("p4m:linear", "p4m+mirror:mlp", "signs:convnet", "mirror:lnconv")))
    assert not any(map(is_sign_candidate, ("linear", "cp:25:convnet", "oriented:8-5-4-2-1", "lnconv")))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("p4m+p4:lnconv:3-1-8-1", "GROUP one of mirror, p4, p4m"),
        ("p4m+:", "must be GROUP:MODEL"),
        ("signs+mirror:lnconv:3-1-8-1", "must be GROUP:MODEL"),
        ("signs", "must be GROUP:MODEL"),
        ("p4m:lnconv:3-1-12-1", "12 outputs.*multiples of 8"),
        ("p4m:lnconv:3-1-8-1-3-1-8", "four sizes"),
        ("p4m:lnconv:4-1-8-1", "side of the kernel"),
        ("signs:convnet:2-3-4-6", "without bias.*conv1.bias"),
        ("signs:nothing", "nothing"),
    ],
)
def test_names_that_mean_nothing_are_refused_at_once(tmp_path: Path, name: str, told: str) -> None:
    with pytest.raises(PactError, match=told):
        search(digits(), budget_seconds=1, rounds=1, out=tmp_path, candidates=[name])
    assert not (tmp_path / "run").exists()


def test_a_network_before_training_is_as_large_as_a_trained_one_can_be() -> None:
    plan = parse_sign_candidate(f"p4m:{MODEL}", digits())
    assert plan.head.shape == (10, 64)
    weights = [tensor.weights() for tensor in plan.untrained().tensors.values()]
    assert all((one == 1).all() for one in weights)


def test_a_budget_that_is_over_takes_the_signs_as_they_are(small: Path, tmp_path: Path) -> None:
    result = search(str(small), budget_seconds=4, out=tmp_path, candidates=[f"p4m:{MODEL}"])
    assert any("stopped" in trial.name for trial in result.ledger)
    assert result.minutes < 0.5
    assert netpact.verify(result.pact, str(small)).agreed
