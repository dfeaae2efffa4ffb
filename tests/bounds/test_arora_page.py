"""docs/papers/arora.md: every correction names a test that exists; and one correction that has no other home."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers" / "arora.md"


def test_every_test_that_the_page_names_exists() -> None:
    known = {
        name for path in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text()))
    assert len(named) > 10
    assert named <= known


@pytest.mark.parametrize("size", [2, 5, 20])
def test_single_layer_smoothness_needs_the_root_of_the_stable_rank(size: int) -> None:
    """A = 1, x = (1, -t, ..., -t), eta = (0, 2t, ..., 2t): half of eta wakes units up.

    The text says rho >= mu r / c. Its own inequality ends in c |A|_2 / (mu |A|_F) = c / (mu sqrt r).
    """
    t = 1e-6
    matrix = np.eye(size)
    x = np.full(size, -t)
    x[0] = 1.0
    eta = np.full(size, 2 * t)
    eta[0] = 0.0
    alive = x > 0
    change = matrix @ np.maximum(x + eta, 0) - matrix @ (alive * (x + eta))
    output = matrix @ np.maximum(x, 0)
    norm = np.linalg.norm
    rho = norm(eta) * norm(output) / (norm(change) * norm(x))
    mu = norm(output) / (norm(matrix) * norm(np.maximum(x, 0)))
    c = norm(x) / norm(np.maximum(x, 0))
    rank = norm(matrix) ** 2 / norm(matrix, 2) ** 2
    assert rho >= mu * math.sqrt(rank) / c
    if size > 4:
        assert rho < mu * rank / c, "the printed lower bound is above it"
