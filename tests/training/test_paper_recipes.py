"""Decay schedules, augmentation, and the recipes of the papers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from netpact.cli.app import run
from netpact.cli.commands.train import _PAPERS
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples
from netpact.models.tensors import state_of
from netpact.training import (
    PAPER_RECIPES,
    Augmentation,
    Decay,
    Epoch,
    TrainOptions,
    parse_augmentation,
    parse_schedule,
    train,
)
from netpact.training.options import parse_options

HALVED, FIFTHS = Decay(factor=0.5, every=30), Decay(factor=0.2, at=(60, 120, 160))
OPTIONS = TrainOptions(epochs=5, batch_size=16, optimizer="sgd", schedule=Decay(factor=0.5, every=2))


def images(count: int = 40, *, side: int = 6) -> ArraySamples:
    inputs = np.random.default_rng(1).random((count, 2, side, side)).astype(np.float32)
    return ArraySamples(inputs, np.arange(count) % 3, "images", 3)


def network() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(72, 3))


@pytest.mark.parametrize("steps", [1, 3, 7, 391])
def test_rates_fall_exactly_between_epochs(steps: int) -> None:
    cases: tuple[tuple[Decay, int, Sequence[int]], ...] = (
        (HALVED, 299, range(30, 299, 30)),
        (FIFTHS, 200, (60, 120, 160)),
        (Decay(factor=0.5, at=(1,)), 49, (1,)),  # in floating point, 1 / 49 * 49 is below 1
    )
    for schedule, total, borders in cases:
        options = TrainOptions(epochs=total, learning_rate=1.0, schedule=schedule)
        expected = 1.0
        for border in borders:
            assert options.learning_rate_at(border * steps - 1, steps_per_epoch=steps) == pytest.approx(expected)
            expected *= schedule.factor
            assert options.learning_rate_at(border * steps, steps_per_epoch=steps) == pytest.approx(expected)


@pytest.mark.parametrize("augmentation", [None, Augmentation(), Augmentation(crop=2, flip=False)])
@pytest.mark.parametrize("schedule", ["cosine", HALVED, FIFTHS])
def test_options_there_and_back(schedule: str | Decay, augmentation: Augmentation | None) -> None:
    options = TrainOptions(schedule=schedule, augmentation=augmentation)
    record = json.loads(json.dumps(options.to_json()))
    assert parse_options(record, where="x") == options
    assert ("augmentation" in record) == (augmentation is not None), "old files have no such field"
    assert parse_schedule(str(schedule)) == schedule
    assert parse_augmentation(str(augmentation).lower()) == augmentation


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"augmentation": None}, "x, augmentation"),
        ({"augmentation": {"crop": 4}}, "x, augmentation"),
        ({"augmentation": {"crop": -1, "flip": True}}, "augmentation, crop"),
        ({"schedule": {"factor": 0.5}}, "x, schedule"),
        ({"schedule": {"factor": 0.5, "at": 3}}, "x, schedule"),
        ({"schedule": {"factor": 0.5, "at": [3], "every": 2}}, "x, schedule"),
        ({"schedule": {"factor": 2, "every": 3}}, "schedule, factor"),
        ({"schedule": {"factor": 0.5, "at": [3, 2]}}, "schedule, at"),
        ({"schedule": {"factor": 0.5, "every": 0}}, "schedule, every"),
    ],
)
def test_bad_records_are_refused(change: dict[str, object], where: str) -> None:
    with pytest.raises(PactError) as caught:
        parse_options({**TrainOptions().to_json(), **change}, where="x")
    assert caught.value.where == where


@pytest.mark.parametrize("text", ["", "crop-", "+flip", "crop-4flip", "crop-04", "flip+crop-4"])
def test_other_words_for_augmentation(text: str) -> None:
    with pytest.raises(PactError, match="crop-4"):
        parse_augmentation(text)


@pytest.mark.parametrize("text", ["", "linear", "0.5-every", "0.5-every-3-4", "2-every-3", "0.5-at-4-3"])
def test_other_words_for_schedules(text: str) -> None:
    with pytest.raises(PactError, match="schedule"):
        parse_schedule(text)


@pytest.mark.parametrize("augmentation", [Augmentation(crop=2), Augmentation(crop=3, flip=False), Augmentation(crop=0)])
def test_each_image_is_a_shifted_piece_of_itself(augmentation: Augmentation) -> None:
    x = torch.from_numpy(images(300).inputs.copy())
    crop, seen = augmentation.crop, set()
    padded = torch.nn.functional.pad(x, [crop] * 4)
    for index, image in enumerate(augmentation.vary(x, torch.Generator().manual_seed(3))):
        for down in range(2 * crop + 1):
            for right in range(2 * crop + 1):
                piece = padded[index, :, down : down + 6, right : right + 6]
                seen |= {(index, down, right, side) for side in (0, 1) if image.equal(piece.flip(2) if side else piece)}
    assert len({index for index, *_ in seen}) == 300
    ways = {way for _, *way_ in seen for way in [tuple(way_)]}
    assert len(ways) == (2 * crop + 1) ** 2 * (2 if augmentation.flip else 1)


def test_augmentation_is_for_images() -> None:
    vectors = ArraySamples(np.zeros((6, 4), dtype=np.float32), np.arange(6) % 3, "vectors", 3)
    with pytest.raises(PactError, match=r"vectors: augmentation needs images"):
        train(nn.Linear(4, 3), vectors, replace(OPTIONS, augmentation=Augmentation()))
    with pytest.raises(PactError, match="a crop of 6 could show nothing of an image of 6x6"):
        train(network(), images(), replace(OPTIONS, augmentation=Augmentation(crop=6)))


def test_augmentation_changes_training_and_a_resumed_run_ends_with_the_same_bits(tmp_path: Path) -> None:
    options, start = replace(OPTIONS, augmentation=Augmentation(crop=2)), network()
    whole = train(start, images(), options)

    def stop(epoch: Epoch) -> None:
        if epoch.epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(start, images(), options, checkpoint=tmp_path / "run.ckpt", progress=stop)
    resumed = train(start, images(), options, checkpoint=tmp_path / "run.ckpt")
    weights = [state_of(trained.module)["1.weight"] for trained in (whole, resumed, train(start, images(), OPTIONS))]
    assert weights[0].equal(weights[1])
    assert not weights[0].equal(weights[2])
    assert [e.loss for e in whole.history] == [e.loss for e in resumed.history]
    with pytest.raises(PactError, match="different options"):
        train(start, images(), OPTIONS, checkpoint=tmp_path / "run.ckpt")


def test_every_epoch_shifts_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[torch.Tensor] = []
    vary = Augmentation.vary

    def watch(self: Augmentation, inputs: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        batches.append(vary(self, inputs, generator))
        return batches[-1]

    monkeypatch.setattr(Augmentation, "vary", watch)
    equal = ArraySamples(np.repeat(images(1).inputs, 40, axis=0), np.arange(40) % 3, "equal", 3)
    train(network(), equal, TrainOptions(epochs=2, batch_size=20, augmentation=Augmentation(crop=2)))
    assert len(batches) == 4
    assert not any(batches[first].equal(batches[second]) for first in range(4) for second in range(first))


def test_recipes_say_what_the_papers_say() -> None:
    assert ", ".join(PAPER_RECIPES) == _PAPERS
    facts = {
        name: (r.options.learning_rate, r.options.epochs, r.options.batch_size) for name, r in PAPER_RECIPES.items()
    }
    assert facts["arora-vgg"] == (0.05, 299, 128)
    assert facts["li-vgg"] == (0.05, 300, 128)
    assert facts["li-wrn"] == (0.05, 200, 128)
    assert facts["rethinking-resnet"] == (0.1, 300, 128)
    assert facts["guha-mlp"] == (0.02, 300, 256)
    assert facts["guha-mlp-cifar10"] == (0.02, 300, 4)
    assert (PAPER_RECIPES["li-wrn"].options.schedule, PAPER_RECIPES["arora-vgg"].options.schedule) == (FIFTHS, HALVED)


def test_the_command_takes_a_recipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "train",
        "linear",
        "--data",
        "digits",
        "--out",
        str(tmp_path / "w.safetensors"),
        "--epochs",
        "1",
        "--overwrite",
        "--json",
    ]
    assert run([*command, "--recipe", "rethinking-resnet", "--batch-size", "500"]) == 0
    options = json.loads(capsys.readouterr().out)["options"]
    expected = replace(PAPER_RECIPES["rethinking-resnet"].options, epochs=1, batch_size=500).to_json()
    assert {**options, "seed": None} == {**expected, "seed": None}
    assert run([*command, "--recipe", "li-vgg", "--schedule", "0.2-at-3", "--augmentation", "flip"]) == 0
    options = json.loads(capsys.readouterr().out)["options"]
    assert (options["schedule"], options["augmentation"]["crop"]) == ({"factor": 0.2, "at": [3]}, 0)
    assert run([*command, "--recipe", "li"]) == 2
    assert "arora-vgg" in json.loads(capsys.readouterr().out)["error"]
