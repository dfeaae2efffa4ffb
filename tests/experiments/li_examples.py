"""Studies of tensors made up by hand, so that what the rules should say is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netpact.papers.li.bound_history import BoundPoint
from netpact.papers.li.layer_properties import LayerProperties
from netpact.papers.li.presets import CORRUPTED, CP_VGG, CP_WRN, RANDOM, TRAINED, VGG, WRN
from netpact.papers.li.pruning import Pruned
from netpact.papers.li.spectrum import LayerSpectrum
from netpact.papers.li.study import TensorStudy

LAYERS = 4
FLAT, SPIKY, BETWEEN = (1.0, 0.9, 0.8, 0.7), (1.0, 0.1, 0.01, 0.001), (1.0, 0.5, 0.1, 0.1)


def layers(amplitudes: Sequence[float], *, largest: float = 1.0, error: float = 0.0) -> tuple[LayerSpectrum, ...]:
    found = tuple(largest * one for one in amplitudes)
    return tuple(LayerSpectrum(f"conv{place}", 100, found, error) for place in range(LAYERS))


# Threshold, parameters, test accuracy: within half a point down to a fifth of the parameters.
PRUNED = tuple(
    Pruned(threshold, parameters, accuracy, (1, 1), 2 * parameters, 1.0, accuracy)
    for threshold, parameters, accuracy in (
        (0.0, 1000, 0.9),
        (1e-4, 800, 0.9),
        (1e-3, 500, 0.899),
        (1e-2, 200, 0.896),
        (1e-1, 100, 0.5),
    )
)


def properties(**changed: float) -> tuple[LayerProperties, ...]:
    numbers: dict[str, Any] = {
        "components": 8,
        "kept": 2,
        "kept_validly": 8,
        "tensorization": 4.0,
        "noise": 1.0,
        "whole": 5.0,
        "cushion": 0.2,
    }
    return tuple(LayerProperties(f"conv{place}", **{**numbers, **changed}) for place in range(LAYERS))


def history(
    *, valid: Sequence[int] = (900, 800, 700, 600), printed: Sequence[int] = (400, 300, 200, 100)
) -> tuple[BoundPoint, ...]:
    """The training error is below 5 % from the third look on, and the test error falls to the end."""
    errors = ((0.4, 0.5), (0.1, 0.3), (0.04, 0.2), (0.0, 0.1))
    return tuple(
        BoundPoint(3 * place + 1, train, test, 1.0, valid[place], printed[place], 50)
        for place, (train, test) in enumerate(errors)
    )


_USUAL: dict[str, dict[str, Any]] = {
    VGG: {"layers": layers(FLAT, error=9e-4), "test_accuracy": 0.89},
    CP_VGG: {"layers": layers(SPIKY), "pruned": PRUNED, "test_accuracy": 0.9},
    TRAINED: {
        "layers": layers(SPIKY),
        "properties": properties(),
        "history": history(),
        "arora": 5.0,
        "test_accuracy": 0.9,
    },
    CORRUPTED: {
        "layers": layers(BETWEEN, largest=0.1),
        "properties": properties(kept=4, tensorization=3.0, noise=1.5, cushion=0.1),
        "test_accuracy": 0.5,
    },
    RANDOM: {
        "layers": layers(FLAT),
        "properties": properties(kept=8, tensorization=2.0, noise=3.0, cushion=0.1),
        "test_accuracy": 0.1,
        "train_accuracy": 0.1,
        "least": 0.0,
    },
    WRN: {"layers": layers(FLAT, error=9e-4), "test_accuracy": 0.89},
    CP_WRN: {"layers": layers(SPIKY), "test_accuracy": 0.9},
}


def study(kind: str, *, seed: int = 0, **changed: Any) -> TensorStudy:
    """The paper's findings hold in it."""
    usual: dict[str, Any] = {
        "study": kind,
        "seed": seed,
        "model": kind,
        "parameters": 1000,
        "data": "made up",
        "fingerprint": "sha256:0",
        "samples": 50,
        "train_accuracy": 1.0,
        "least": 0.9,
    }
    return TensorStudy(**{**usual, **_USUAL[kind], **changed})


def seeds(names: Sequence[str], count: int = 3) -> list[dict[str, TensorStudy]]:
    return [{name: study(name, seed=seed) for name in names} for seed in range(count)]
