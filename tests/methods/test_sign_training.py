"""Training of signs by gradient: where it starts again."""

from __future__ import annotations

import pytest
import torch

from netpact.methods.sign_training import _fit_temperature, _Samples


@pytest.mark.parametrize("scale", [0.03, 0.5, 4.0])
def test_the_temperature_is_that_of_the_labels(scale: float) -> None:
    """Labels drawn from the softmax of scaled logits: no other scale fits them better."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(8000, 12, generator=generator) / scale
    signs = torch.randint(-1, 2, (4, 12), generator=generator).float()
    labels = torch.multinomial(torch.softmax(scale * x @ signs.T, dim=1), 1, generator=generator)[:, 0]
    assert _fit_temperature(_Samples(x, labels), signs) == pytest.approx(scale, rel=0.2)
