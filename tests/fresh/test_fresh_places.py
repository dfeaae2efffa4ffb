"""Fresh samples from places that people have: folders of images, tables, .npz files of training samples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from netpact.core.errors import PactError
from netpact.datasets import Data, Samples, Standardise, load_data, standardise
from netpact.pacts.fresh import open_labelled, open_unlabelled

PIXELS = np.random.default_rng(5).integers(0, 256, (6, 4, 4), dtype=np.uint8)
NAMES = ("ant", "bee", "cat")


def write_folder(root: Path, classes: list[str]) -> Path:
    for image, name in zip(PIXELS, classes, strict=True):
        (root / name).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(root / name / f"{len(list((root / name).iterdir()))}.png")
    return root


@pytest.fixture
def certified(tmp_path: Path) -> Data:
    return load_data(write_folder(tmp_path / "certified", ["ant", "ant", "bee", "bee", "cat", "cat"]))


def taken(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    return next(iter(samples.batches(100)))


def test_a_folder_with_fewer_classes_is_numbered_as_the_certified_data(tmp_path: Path, certified: Data) -> None:
    folder = write_folder(tmp_path / "held", ["bee", "cat", "bee", "cat", "bee", "cat"])
    samples = open_labelled(folder, like=certified)
    x, y = taken(samples)
    assert y.tolist() == [1, 1, 1, 2, 2, 2]
    assert samples.classes == 3
    np.testing.assert_array_equal(x[:, 0], PIXELS[[0, 2, 4, 1, 3, 5]] / np.float32(255))
    np.testing.assert_array_equal(taken(open_unlabelled(folder))[0], x)


def test_a_class_that_is_not_known_is_refused(tmp_path: Path, certified: Data) -> None:
    folder = write_folder(tmp_path / "held", ["bee", "cow", "bee", "cow", "bee", "cow"])
    with pytest.raises(PactError, match="a class 'cow' that the certified data do not have"):
        open_labelled(folder, like=certified)


def test_images_without_classes(tmp_path: Path, certified: Data) -> None:
    folder = tmp_path / "loose"
    folder.mkdir()
    for place, image in enumerate(PIXELS):
        Image.fromarray(image).save(folder / f"{place}.png")
    x, _ = taken(open_unlabelled(folder, like=certified))
    np.testing.assert_array_equal(x[:, 0], PIXELS / np.float32(255))
    assert taken(open_unlabelled(f"{folder}:size=2", like=certified))[0].shape == (6, 1, 2, 2)
    with pytest.raises(PactError, match="the certified data by nothing"):
        open_unlabelled(f"{folder}:standardise=0.5/0.5", like=certified)
    with pytest.raises(PactError, match=r"outside of the folders of the classes|at least 2 are needed"):
        open_labelled(folder, like=certified)
    (folder / "more").mkdir()
    with pytest.raises(PactError, match="images beside the folder more"):
        open_unlabelled(folder)


def test_training_samples_of_an_npz_file(tmp_path: Path, certified: Data) -> None:
    labels = np.array([0, 1, 0, 1, 0, 1])
    np.savez(tmp_path / "held.npz", x_train=PIXELS, y_train=labels)
    samples = open_labelled(tmp_path / "held.npz", like=replace(certified, class_names=()))
    assert samples.classes == 3
    assert taken(samples)[1].tolist() == labels.tolist()
    np.testing.assert_array_equal(taken(open_unlabelled(tmp_path / "held.npz"))[0], taken(samples)[0])


def test_a_table(tmp_path: Path) -> None:
    (tmp_path / "all.csv").write_text("a,b,label\n1,2,yes\n3,4,no\n5,6,maybe\n")
    (tmp_path / "held.csv").write_text("a,b,label\n7,8,no\n9,10,yes\n")
    like = load_data(tmp_path / "all.csv")
    x, y = taken(open_labelled(tmp_path / "held.csv", like=like))
    assert x.tolist() == [[7, 8], [9, 10]]
    assert [like.class_names[number] for number in y] == ["no", "yes"]


def test_two_parts_leave_it_open_which_is_fresh(tmp_path: Path, certified: Data) -> None:
    np.savez(tmp_path / "both.npz", x_train=PIXELS, y_train=[0, 1] * 3, x_test=PIXELS, y_test=[0, 1] * 3)
    for read in (lambda: open_labelled(tmp_path / "both.npz", like=certified), lambda: open_unlabelled("digits")):
        with pytest.raises(PactError, match="has a training and a test part: which of them is fresh"):
            read()


def test_places_are_standardised_as_the_certified_data(tmp_path: Path, certified: Data) -> None:
    folder = write_folder(tmp_path / "held", ["ant", "bee", "cat"] * 2)
    scaled = standardise(certified, Standardise(mean=(0.5,), std=(0.25,)))
    plain, _ = taken(open_labelled(folder, like=certified))
    for read in (open_labelled, open_unlabelled):
        found, _ = taken(read(folder, like=scaled))
        np.testing.assert_array_equal(found, (plain - np.float32(0.5)) / np.float32(0.25))
        same, _ = taken(read(f"{folder}:standardise=0.5/0.25", like=scaled))
        np.testing.assert_array_equal(same, found)
        with pytest.raises(PactError, match=r"standardised by 0\.5/0\.5, the certified data by 0\.5/0\.25"):
            read(f"{folder}:standardise=0.5/0.5", like=scaled)
        with pytest.raises(PactError, match="the certified data by nothing"):
            read(f"{folder}:standardise=0.5/0.5", like=certified)
    np.savez(tmp_path / "x.npz", x=plain, y=[0, 1, 2] * 2)  # as the network receives them
    np.testing.assert_array_equal(taken(open_labelled(tmp_path / "x.npz", like=scaled))[0], plain)
