"""Certificates that cost much to check: a recipe of a billion epochs, a billion samples that are not there.

The adversary tried: helper recipes with absurd epochs, models and batches for --retrain; counts so large that the
second implementation of the bound takes long, beside data that do not have them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from format.format_examples import NETWORKS, certificate_for

from netpact import Limits, Pact, PactError, Recipe, Split, TrainOptions, load_data, retrain_helper, seal, verify
from netpact.certificates import Helper, risk_bound
from netpact.cli.app import run
from netpact.core.json import encode_json

PACT = seal(NETWORKS["linear"])


def told(**options: Any) -> Pact:
    """A certificate that names a helper with this recipe; nothing else of it is looked at before the training."""
    recipe = Recipe(options.pop("model", "linear"), TrainOptions(**options), Split(percent=40, counter=3))
    stated = Helper(
        name="helper",
        sha256="0" * 64,
        recipe=encode_json(recipe.to_json(), where="recipe"),
        percent=40,
        counter=3,
        samples=575,
        errors=0,
        near_ties=0,
        bound=1.0,
    )
    honest = certificate_for(PACT)
    return PACT.with_certificate(replace(honest, prior="data-dependent", helper=stated))


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the training has begun")

    monkeypatch.setattr("netpact.pacts.priors.preparation.train", refuse)


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({"epochs": 10**9}, "max_training"),
        ({"epochs": 10**18, "batch_size": 10**9}, "max_training"),
        ({"epochs": 10**8, "batch_size": 1}, "max_training"),
        ({"model": "mlp:9000-9000", "epochs": 10**4}, "max_training"),
        ({"model": "conv:16000-4", "batch_size": 10**6, "epochs": 1}, "max_memory"),
        ({"model": "mlp:60000-60000"}, "max_parameters"),
    ],
)
def test_recipes_are_refused_before_the_training(options: dict[str, Any], limit: str, no_training: None) -> None:
    with pytest.raises(PactError) as caught:
        retrain_helper(told(**options), "digits")
    assert limit in caught.value.hint


def test_a_recipe_is_trained_where_the_limit_allows_it() -> None:
    pact = told(epochs=2)
    assert retrain_helper(pact, "digits").retrained
    with pytest.raises(PactError, match="multiply-adds, allowed are 1e"):
        retrain_helper(pact, "digits", max_parameters=Limits(max_training=10**6))


def test_the_command_line_has_the_override(tmp_path: object, no_training: None, capsys: Any) -> None:
    file = str(told(epochs=10**9).write(f"{tmp_path}/helper.pact"))
    assert run(["verify", file, "--data", "digits", "--retrain"]) == 2
    assert "--max-training" in capsys.readouterr().err
    with pytest.raises(AssertionError, match="has begun"):
        run(["verify", file, "--data", "digits", "--retrain", "--max-training", str(10**30)])


def test_no_bound_is_computed_from_samples_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    data = load_data("digits")
    counts: dict[str, Any] = {"errors": 5 * 10**8, "samples": 10**9, "code_bits": PACT.code_bits, "delta": 0.05}
    bounds = {form: risk_bound(**counts, form=form) for form in ("exact", "kl", "hoeffding")}
    certificate = replace(
        certificate_for(PACT, errors=5 * 10**8, samples=10**9),
        data_name="digits",
        data_fingerprint=data.train.fingerprint(),
        bound=bounds["exact"],
    )

    def refuse(**_: object) -> None:
        raise AssertionError("a bound was computed")

    monkeypatch.setattr("netpact.pacts.verification.checking.check_bound", refuse)
    verdict = verify(PACT.with_certificate(certificate), data)
    assert not verdict.agreed
    assert "1,000,000,000" in str(verdict)
    assert verdict.own_bound is None
