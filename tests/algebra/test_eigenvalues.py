"""The bound rests on the factorisation alone: a wrong proposal makes it looser, never wrong."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from netpact.algebra import eigenvalues
from netpact.algebra.eigenvalues import bound_eigenvalues


def gram_matrices(count: int, size: int) -> Tensor:
    generator = torch.Generator().manual_seed(7)
    parts = torch.randn(2, count, size, size, generator=generator, dtype=torch.float64)
    factors = torch.complex(parts[0], parts[1])
    return factors.mH @ factors


def test_all_matrices_of_all_portions_are_covered() -> None:
    matrices = gram_matrices(30, 6)
    values = torch.linalg.eigvalsh(matrices)[:, -1]
    peak = bound_eigenvalues(matrices.clone().split(4), margin=1e-3)
    assert float(values.max()) <= peak.bound <= 1.0011 * float(values.max())
    stretched = torch.linalg.vector_norm(matrices[peak.place] @ peak.vector)
    assert float(stretched) >= float(values.max()) / 1.0011


def test_a_proposal_that_is_too_small_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    matrices = gram_matrices(5, 6)
    true = float(torch.linalg.eigvalsh(matrices).max())
    monkeypatch.setattr(eigenvalues, "_largest_pair", lambda matrix: (0.3 * true, matrix[0]))
    assert true <= bound_eigenvalues([matrices], margin=1e-3).bound <= 1.01 * true


def test_an_iteration_that_does_not_converge_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    matrices = gram_matrices(1, 130)
    true = float(torch.linalg.eigvalsh(matrices).max())

    def give_up(*_args: object, **_options: object) -> None:
        raise eigenvalues.ArpackError(-1)

    monkeypatch.setattr(eigenvalues, "eigsh", give_up)
    assert true <= bound_eigenvalues([matrices], margin=1e-10).bound <= true * (1 + 1e-9)
