"""Studies made up by hand, so that what the rules should say is known."""

from __future__ import annotations

from netpact.monitoring import Observation
from netpact.papers.arora.layer_study import (
    CONTRACTION,
    CUSHION,
    INTERLAYER,
    SMOOTHNESS,
    LayerStudy,
    Sampled,
    StudyLayer,
)
from netpact.papers.arora.presets import ALEXNET, SHUFFLED, VGG

LAYERS = 6
NORMS = {"l1-inf": 18.0, "frobenius": 17.0, "spec-l1-2": 15.0, "spec-fro": 16.0}


def sampled(median: float | None) -> Sampled:
    if median is None:
        return Sampled(None, None, ())
    return Sampled(median / 2, median, (median / 2, median, median * 2))


def layers(
    *, cushion: float = 0.1, contraction: float = 1.5, percents: tuple[float, ...] = (400, 300, 200, 4, 3, 2)
) -> tuple[StudyLayer, ...]:
    """Of the last layer nothing follows, so that it has no interlayer cushion. h = 4, so that clipping is at 1/2."""
    found = []
    for place in range(LAYERS):
        values = {CUSHION: cushion, CONTRACTION: 1.0 if place == 0 else contraction, SMOOTHNESS: 2.0}
        if place < LAYERS - 1:
            values[INTERLAYER] = 1.2
        effective = None if percents[place] == float("inf") else _log10(percents[place])
        found.append(StudyLayer(f"conv{place}", 100, 4, effective, {name: sampled(x) for name, x in values.items()}))
    return tuple(found)


def _log10(number: float) -> float:
    import math

    return math.log10(number)


def observed(epoch: int, power: float | None, *, test_error: float = 0.6) -> Observation:
    """The training error is below 5 % from epoch 11 on."""
    return Observation(
        epoch=epoch,
        weights="",
        train_error=0.5 / epoch,
        test_error=test_error,
        gamma=1.0,
        margins={"0": -1.0},
        bounds={"figure-2": power, "spec-fro": 16.0},
        layers=(),
        seconds=1.0,
    )


def study(
    kind: str = VGG, *, seed: int = 0, accuracy: float = 1.0, ours: float | None = 8.0, **layer: float
) -> LayerStudy:
    """The paper's findings hold in it."""
    usual = {VGG: {"cushion": 0.2}, ALEXNET: {"cushion": 0.2}, SHUFFLED: {"contraction": 2.0}}[kind]
    own = {**usual, **layer}
    return LayerStudy(
        study=kind,
        seed=seed,
        model="vgg:11-8-1",
        parameters=600,
        data="made up",
        fingerprint="sha256:0",
        samples=50,
        train_accuracy=accuracy,
        test_accuracy=0.5,
        least=0.9,
        gamma=1.0,
        layers=layers(**own),  # type: ignore[arg-type]
        random=layers() if kind == VGG else (),
        bounds={"figure-2": 9.0 if kind == SHUFFLED else ours, "vc": 7.0, "parameters": 3.0, **NORMS},
        reshaped={name: power - 3 for name, power in NORMS.items()},
        epochs=(observed(1, 10.0, test_error=0.5), observed(20, 9.0), observed(40, 8.0, test_error=0.55))
        if kind == VGG
        else (),
    )


def seeds(count: int = 3) -> list[dict[str, LayerStudy]]:
    return [{kind: study(kind, seed=seed) for kind in (VGG, ALEXNET, SHUFFLED)} for seed in range(count)]
