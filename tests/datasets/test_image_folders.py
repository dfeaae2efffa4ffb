"""Folders of images: what is read, in which order and how; and every reason to refuse one, with the file's name."""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from netpact.core.errors import PactError
from netpact.datasets import Reading, as_data, describe, load_data
from netpact.datasets.sources import spool
from netpact.datasets.sources.images import decode_image

RANDOM = np.random.default_rng(0)


def save(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Three classes of colour images, two of them in the test part."""
    root = tmp_path / "photos"
    for part, counts in (("train", {"cat": 3, "bird": 2, "dog": 4}), ("test", {"cat": 1, "dog": 2})):
        for name, count in counts.items():
            for place in range(count):
                save(root / part / name / f"{place}.png", RANDOM.integers(0, 256, (5, 6, 3), dtype=np.uint8))
    return root


def pixels_of(root: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """The obvious way: classes sorted by name, files by name."""
    names = sorted(folder.name for folder in (root / "train").iterdir())
    files = [path for name in names for path in sorted((root / part).glob(f"{name}/*"))]
    labels = [names.index(path.parent.name) for path in files]
    return np.stack([np.asarray(Image.open(path)) for path in files]), np.array(labels)


def test_a_folder_is_what_an_equal_npz_file_is(photos: Path, tmp_path: Path) -> None:
    data = load_data(photos)
    assert (data.name, data.classes, data.class_names) == ("photos", 3, ("bird", "cat", "dog"))
    assert (data.train.count, data.input_shape) == (9, (3, 5, 6))
    x, y = pixels_of(photos, "train")
    x_test, y_test = pixels_of(photos, "test")
    assert y.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2]
    np.savez(tmp_path / "same.npz", x_train=x, y_train=y, x_test=x_test, y_test=y_test)
    same = load_data(tmp_path / "same.npz")
    assert data.train.fingerprint() == same.train.fingerprint()
    assert data.test is not None
    assert same.test is not None
    assert data.test.fingerprint() == same.test.fingerprint()
    assert as_data(str(photos)).train.fingerprint() == data.train.fingerprint()


def test_one_level_is_a_training_set(photos: Path) -> None:
    data = load_data(photos / "train")
    assert data.test is None
    assert data.train.fingerprint() == load_data(photos).train.fingerprint()


@pytest.mark.parametrize("name", ["val", "valid", "validation"])
def test_a_validation_folder_is_the_test_part_where_there_is_no_other(photos: Path, name: str) -> None:
    expected = load_data(photos).test
    (photos / "test").rename(photos / name)
    found = load_data(photos).test
    assert expected is not None
    assert found is not None
    assert found.fingerprint() == expected.fingerprint()


def test_hidden_files_are_left_out_and_nested_folders_are_not(photos: Path) -> None:
    before = load_data(photos).train.fingerprint()
    for hidden in (".DS_Store", "Thumbs.db", ".hidden/1.png"):
        path = photos / "train" / "cat" / hidden
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\0")
    (photos / ".cache").mkdir()
    assert load_data(photos).train.fingerprint() == before
    (photos / "train" / "cat" / "2.png").rename(photos / "train" / "cat" / "9.png")  # still the last one
    (photos / "train" / "cat" / "z").mkdir()
    (photos / "train" / "cat" / "9.png").rename(photos / "train" / "cat" / "z" / "1.png")
    assert load_data(photos).train.fingerprint() == before


def test_size_is_the_central_square_by_the_bilinear_filter(photos: Path) -> None:
    data = load_data(f"{photos}:size=4")
    assert (data.name, data.input_shape) == ("photos:size=4", (3, 4, 4))
    first = Image.open(photos / "train" / "bird" / "0.png")  # 6 wide, 5 high: the square is columns 0 to 4
    expected = np.asarray(first.crop((0, 0, 5, 5)).resize((4, 4), Image.Resampling.BILINEAR)).transpose(2, 0, 1)
    assert np.array_equal(data.train.inputs[0], expected)  # type: ignore[attr-defined]
    tall = Image.fromarray(RANDOM.integers(0, 256, (9, 4, 3), dtype=np.uint8))
    square = tall.crop((0, 2, 4, 6)).resize((2, 2), Image.Resampling.BILINEAR)
    assert np.array_equal(decode_image(tall, size=2, grey=False), np.asarray(square).transpose(2, 0, 1))


def test_images_of_one_colour_are_the_same_in_every_size() -> None:
    plain = Image.new("RGB", (37, 50), (10, 200, 255))
    for size in (1, 3, 64):
        assert (decode_image(plain, size=size, grey=False) == np.array([10, 200, 255]).reshape(3, 1, 1)).all()


def test_grey_and_colour(photos: Path) -> None:
    grey = load_data(f"{photos}:colours=grey")
    assert grey.input_shape == (1, 5, 6)
    red, green, blue = (
        channel.astype(np.int64) for channel in np.asarray(Image.open(photos / "train/bird/0.png")).transpose(2, 0, 1)
    )
    luma = (299 * red + 587 * green + 114 * blue) / 1000
    assert np.abs(grey.train.inputs[0, 0] - luma).max() <= 1  # type: ignore[attr-defined]
    for path in photos.glob("*/*/*.png"):
        Image.open(path).convert("L").save(path)
    assert load_data(photos).input_shape == (1, 5, 6)
    assert load_data(photos).train.fingerprint() == grey.train.fingerprint()
    wide = load_data(photos, reading=Reading(colours="rgb"))
    assert wide.input_shape == (3, 5, 6)
    assert (wide.train.inputs[:, 0] == wide.train.inputs[:, 2]).all()  # type: ignore[attr-defined]
    save(photos / "test" / "dog" / "0.png", RANDOM.integers(0, 256, (5, 6, 3), dtype=np.uint8))
    assert load_data(photos).input_shape == (3, 5, 6)  # one image in colour, in any part


def test_transparent_images_are_laid_on_white(tmp_path: Path) -> None:
    pixels = np.zeros((2, 2, 4), dtype=np.uint8)
    pixels[0, 0] = (10, 20, 30, 255)
    for name in "ab":
        save(tmp_path / "icons" / name / "1.png", pixels)
    palette = Image.fromarray(np.array([[0, 1], [1, 1]], dtype=np.uint8), "P")
    palette.putpalette([10, 20, 30, 0, 0, 0])
    palette.save(tmp_path / "icons" / "b" / "2.png", transparency=1)
    found = load_data(tmp_path / "icons").train.inputs  # type: ignore[attr-defined]
    assert found[:, :, 0, 0].tolist() == [[10, 20, 30]] * 3
    assert (found[:, :, 1] == 255).all()


def test_other_formats_than_png(photos: Path) -> None:
    """JPEG, WebP and the rest are decoded; JPEG is not exact, and its decoders differ between libraries."""
    for place, ending in enumerate(("jpg", "JPEG", "bmp", "webp", "tif", "ppm")):
        save(photos / "train" / "cat" / f"{place}x.{ending}", np.full((5, 6, 3), 77, dtype=np.uint8))
    data = load_data(photos)
    assert data.train.count == 15
    plain = data.train.inputs[[3, 5, 7, 8, 9, 10]]  # type: ignore[attr-defined]
    assert np.abs(plain.astype(int) - 77).max() <= 1


def bomb(width: int, height: int) -> bytes:
    """A PNG file of a few bytes that declares so many pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:60])


def _animate(path: Path) -> None:
    frames = [Image.new("L", (6, 5), shade) for shade in (0, 200)]
    frames[0].save(path, format="GIF", save_all=True, append_images=frames[1:])


def _link(path: Path) -> None:
    outside = path.parents[3] / "outside.png"
    path.rename(outside)
    path.symlink_to(outside)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(b""), "no image, or a damaged one"),
        (lambda path: path.write_bytes(b"GIF89a nonsense"), "cannot be decoded|no image"),
        (_truncate, "cannot be decoded|no image"),
        (lambda path: path.write_bytes(bomb(60_000, 60_000)), "too many pixels"),
        (lambda path: path.write_bytes(bomb(9_000, 9_000)), "9000 x 9000 pixels, at most 67,108,864 are decoded"),
        (lambda path: path.write_bytes(bomb(6, 5)), "cannot be decoded"),
        (lambda path: save(path, np.zeros((9, 6, 3), dtype=np.uint8)), r"6 x 9 pixels.*has 6 x 5.*size=32"),
        (lambda path: save(path, np.zeros((5, 6), dtype=np.uint16)), "pixels of type I;16"),
        (_animate, "2 pictures in one file"),
        (_link, r"a link to .*outside\.png, outside of the folder"),
        (lambda path: (path.unlink(), path.symlink_to(path.parent / "nowhere.png")), "not a file"),
        (lambda path: (path.unlink(), path.mkdir(), (path / "notes.txt").touch()), r"not an image by its name.*\.png"),
    ],
)
def test_what_is_refused_names_the_file(photos: Path, spoil: Callable[[Path], object], message: str) -> None:
    path = photos / "train" / "dog" / "2.png"
    spoil(path)
    with pytest.raises(PactError, match=message) as caught:
        load_data(photos)
    assert caught.value.where.startswith(str(path))


def test_classes_that_cannot_be_used(photos: Path, tmp_path: Path) -> None:
    (photos / "train" / "empty").mkdir()
    with pytest.raises(PactError, match=r"train/empty: a class without images"):
        load_data(photos)
    (photos / "train" / "empty").rmdir()
    save(photos / "test" / "fish" / "1.png", np.zeros((5, 6, 3), dtype=np.uint8))
    with pytest.raises(PactError, match=r"test/fish: a class 'fish' that the training part does not have"):
        load_data(photos)
    save(tmp_path / "one" / "cat" / "1.png", np.zeros((5, 6, 3), dtype=np.uint8))
    with pytest.raises(PactError, match=r"1 folders of classes, at least 2"):
        load_data(tmp_path / "one")
    (tmp_path / "none").mkdir()
    with pytest.raises(PactError, match=r"0 folders of classes.*FOLDER/train/CLASS"):
        load_data(tmp_path / "none")
    save(photos / "train" / "loose.png", np.zeros((5, 6, 3), dtype=np.uint8))
    with pytest.raises(PactError, match=r"loose\.png: an image outside of the folders of the classes"):
        load_data(photos)


def test_options_of_tables_are_refused(photos: Path) -> None:
    with pytest.raises(PactError, match="label means nothing for these data"):
        load_data(f"{photos}:label=species")


def test_without_pillow(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(PactError, match=r"Pillow, which is not installed \(pip install 'netpact\[images\]'\)"):
        load_data(photos)


def test_many_images_go_to_a_file(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = load_data(photos)
    monkeypatch.setattr(spool, "KEPT_BYTES", 100)
    spilled = load_data(photos)
    assert spool.is_mapped(spilled.train.inputs)  # type: ignore[attr-defined]
    assert spilled.train.fingerprint() == whole.train.fingerprint()
    steps: list[tuple[int, int]] = []
    load_data(photos, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(9, 12), (12, 12)]


def test_the_summary_has_names_and_range(photos: Path) -> None:
    summary = describe(load_data(photos))
    assert summary["class_names"] == ["bird", "cat", "dog"]
    part = summary["train"]
    assert isinstance(part, dict)
    x, _ = pixels_of(photos, "train")
    assert part["range"] == [float(x.min() / np.float32(255)), float(x.max() / np.float32(255))]
