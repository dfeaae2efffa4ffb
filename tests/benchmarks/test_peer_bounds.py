"""The rival bounds of benchmarks/peers against sourced values and slow, independent computations."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest
from mpmath import mp, mpf

from netpact.core.errors import PactError

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "benchmarks" / "peers"


def load(name: str) -> ModuleType:
    """A module of the benchmark by its path: the folder is no package and is not on the path."""
    key = f"peers_{name}"
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, PEERS / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[key] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[key]


bounds = load("bounds")


# Dziugaite and Roy 2017 (arXiv 1703.11008), Table 1: columns of networks trained on true labels of binary MNIST, with
# 55,000 samples. Their bound also pays for a Monte Carlo estimate and a grid of priors: below 0.002 together.
@pytest.mark.parametrize(
    ("gibbs_error", "divergence", "published"),
    [(0.028, 5144, 0.161), (0.027, 5791, 0.170), (0.028, 6534, 0.186)],
)
def test_pac_bayes_gives_the_published_bounds(gibbs_error: float, divergence: float, published: float) -> None:
    ours = bounds.pac_bayes_kl_bound(gibbs_error=gibbs_error, divergence=divergence, samples=55_000, delta=0.025)
    assert ours == pytest.approx(published, abs=0.002)


@pytest.mark.parametrize("gibbs_error", [0.0, 0.01, 0.3, 0.97])
@pytest.mark.parametrize("divergence", [0.0, 3.5, 900.0, 40_000.0])
def test_pac_bayes_agrees_with_many_digits(gibbs_error: float, divergence: float) -> None:
    samples, delta = 10_000, 0.05
    with mp.workdps(60):
        rate = mpf(math.ceil(gibbs_error * samples)) / samples
        budget = (mpf(divergence) + mp.log(2 * mp.sqrt(samples) / mpf(delta))) / samples
        low, high = rate, mpf(1)
        for _ in range(150):
            middle = (low + high) / 2
            wrong = rate * mp.log(rate / middle) if rate else mpf(0)
            if wrong + (1 - rate) * mp.log((1 - rate) / (1 - middle)) > budget:
                high = middle
            else:
                low = middle
        ours = bounds.pac_bayes_kl_bound(gibbs_error=gibbs_error, divergence=divergence, samples=samples, delta=delta)
        assert high <= mpf(ours) <= high + mpf("1e-9")


@pytest.mark.parametrize(
    "call",
    [
        lambda: bounds.pac_bayes_kl_bound(gibbs_error=1.1, divergence=1.0, samples=10, delta=0.05),
        lambda: bounds.pac_bayes_kl_bound(gibbs_error=0.1, divergence=-1.0, samples=10, delta=0.05),
    ],
)
def test_nonsense_is_refused(call) -> None:
    with pytest.raises(PactError):
        call()


@pytest.mark.parametrize("data", ["mnist", "digits"])
def test_the_page_shows_what_was_measured(data: str) -> None:
    """docs/peers.md holds the tables of the stored run, and nothing was changed by hand on either side."""
    rows = load("rows")
    stored = json.loads((PEERS / "results" / f"{data}.json").read_text())
    tables = {
        f"{data} files": rows.file_table([rows.FileRow(**row) for row in stored["files"]]),
        f"{data} bounds": rows.bound_table([rows.BoundRow(**row) for row in stored["bounds"]]),
    }
    page = (ROOT / "docs" / "peers.md").read_text()
    assert rows.fill_page(page, tables) == page
    assert all(table in page for table in tables.values())
