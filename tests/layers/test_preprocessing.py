"""The fixed preprocessing: what torch's bilinear interpolation gives, in other units; and a head on a backbone."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import netpact
from netpact.core.errors import PactError
from netpact.layers import Preprocess


def images(channels: int = 3, rows: int = 8, columns: int = 6) -> torch.Tensor:
    return torch.rand(2, channels, rows, columns, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


@pytest.mark.parametrize("size", [(32, 24), (16, 6), (5, 9), (8, 6), (1, 3), (13, 64)])
def test_it_interpolates_as_torch_does(size: tuple[int, int]) -> None:
    x = images()
    wanted = functional.interpolate(x, size=size, mode="bilinear", align_corners=False)
    assert torch.allclose(Preprocess(size=size)(x), wanted, rtol=0, atol=1e-14)


def slow_row(row: list[float], count: int) -> list[Fraction]:
    """By the definition, in fractions."""
    found = []
    for i in range(count):
        place = max(Fraction((2 * i + 1) * len(row), 2 * count) - Fraction(1, 2), Fraction(0))
        low = place.numerator // place.denominator
        high = min(low + 1, len(row) - 1)
        found.append((1 - (place - low)) * Fraction(row[low]) + (place - low) * Fraction(row[high]))
    return found


@pytest.mark.parametrize("count", [1, 3, 7, 12, 48])
def test_rows_by_the_definition(count: int) -> None:
    x = images(channels=1, rows=1)
    slow = [float(entry) for entry in slow_row(x[0, 0, 0].tolist(), count)]
    assert torch.allclose(
        Preprocess(size=(1, count))(x)[0, 0, 0], torch.tensor(slow, dtype=torch.float64), rtol=0, atol=1e-15
    )


def test_units_and_channels() -> None:
    x = images(channels=1)
    found = Preprocess(mean=(0.5, 0.25, 0.0), std=(0.5, 2.0, 1.0))(x)
    assert torch.equal(found, torch.cat([(x - 0.5) / 0.5, (x - 0.25) / 2, x], dim=1))
    assert Preprocess(size=4)(x.float()).dtype == torch.float32
    with pytest.raises(PactError, match="has 3 means, the images have 2 channels"):
        Preprocess(mean=(0.5,) * 3, std=(1.0,) * 3)(images(channels=2))
    with pytest.raises(PactError, match="takes images"):
        Preprocess(size=4)(torch.zeros(3, 4))


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"size": 0}, "size"),
        ({"size": (4, 4, 4)}, "size"),
        ({"size": 1 << 20}, "size"),
        ({"mean": (0.5, 0.5)}, "std"),
        ({"mean": (float("nan"),)}, "mean"),
        ({"std": (0.0,)}, "std"),
        ({"std": ()}, "std"),
    ],
)
def test_bad_options_die_at_construction(options: dict[str, Any], where: str) -> None:
    with pytest.raises(PactError) as raised:
        Preprocess(**options)
    assert raised.value.where == where


def test_a_head_on_a_backbone() -> None:
    backbone = nn.Conv2d(3, 5, 3)
    whole = netpact.with_head(backbone, features=5, classes=4, size=16, mean=(0.5,) * 3, std=(0.5,) * 3).eval()
    x = images().float()
    maps = backbone(functional.interpolate(x, size=(16, 16), mode="bilinear") * 2 - 1)
    assert torch.allclose(whole(x), whole.head(maps.mean((2, 3))), atol=1e-6)  # type: ignore[operator]
    assert {name.partition(".")[0] for name, _ in whole.named_parameters()} == {"backbone", "head"}
    plain = netpact.with_head(nn.Flatten(), features=144, classes=4)
    assert plain(x).shape == (2, 4)
    with pytest.raises(PactError, match=r"the backbone gives \(2, 144\), expected 5 features"):
        netpact.with_head(nn.Flatten(), features=5, classes=4)(x)
    for features, classes, where in ((0, 4, "features"), (5, 1, "classes")):
        with pytest.raises(PactError) as raised:
            netpact.with_head(backbone, features=features, classes=classes)
        assert raised.value.where == where
    with pytest.raises(PactError):
        netpact.with_head("resnet", features=5, classes=4)  # type: ignore[arg-type]
