"""One image file as an array: a fixed, declared decoding, the same for every image."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError

if TYPE_CHECKING:
    from pathlib import Path

    from PIL.Image import Image

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".pbm")
MOST_PIXELS = 1 << 26  # of one image as declared; beyond that a small file may unpack to gigabytes
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM")  # no others are tried: some start programs
_GREY = ("1", "L")
_OPAQUE = ("1", "L", "P", "RGB", "CMYK", "YCbCr")
_WITH_ALPHA = ("LA", "PA", "RGBA", "La", "RGBa")


def need_pillow(where: str) -> None:
    try:
        import PIL.Image  # noqa: F401
    except ImportError as error:
        raise PactError(
            "images are decoded by Pillow, which is not installed", where=where, hint="pip install 'netpact[images]'"
        ) from error


@contextmanager
def open_image(path: Path) -> Iterator[Image]:
    """The header is read and checked; whatever goes wrong names the file."""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about large images, which are refused below, and odd metadata
            with Image.open(path, formats=_FORMATS) as image:
                check_image(image, where=str(path))
                yield image
    except UnidentifiedImageError as error:
        raise PactError("this is no image, or a damaged one", where=str(path), hint=_REPAIR) from error
    except Image.DecompressionBombError as error:
        raise PactError(f"too many pixels: {error}", where=str(path), hint=_REPAIR) from error
    except PactError:
        raise
    # What the decoders raise on damaged files is not listed anywhere; SyntaxError and struct.error are among them.
    except Exception as error:
        raise PactError(f"this image cannot be decoded: {error}", where=str(path), hint=_REPAIR) from error


_REPAIR = "repair the file, or move it away before anything is trained"


def check_image(image: Image, *, where: str) -> None:
    width, height = image.size
    if not 0 < width * height <= MOST_PIXELS:
        raise PactError(
            f"{width} x {height} pixels, at most {MOST_PIXELS:,} are decoded", where=where, hint="scale it down"
        )
    if getattr(image, "n_frames", 1) > 1:
        raise PactError(f"{image.n_frames} pictures in one file", where=where, hint="save one of them")  # type: ignore[attr-defined]
    if image.mode not in (*_OPAQUE, *_WITH_ALPHA):
        raise PactError(
            f"pixels of type {image.mode}, not 8 bits for each colour",
            where=where,
            hint="save such images as arrays, x_train.npy and y_train.npy",
        )


def is_grey(image: Image) -> bool:
    return image.mode in _GREY


def decode_image(image: Image, *, size: int | None, grey: bool) -> NDArray[np.uint8]:
    """uint8 (channels, rows, columns).

    1. Transparent images are laid on white. Grey is (299 R + 587 G + 114 B) / 1000, as Pillow rounds it.
    2. With a size: the central square (of an odd rest, the larger part is cut off at the right and at the bottom),
       scaled by Pillow's bilinear filter, which averages over all pixels that it covers when it scales down.

    The orientation that a camera notes in the file is not applied, as in torchvision's ImageFolder.
    """
    from PIL import Image

    mode = "L" if grey else "RGB"
    if image.mode in _WITH_ALPHA or "transparency" in image.info:
        ground = Image.new("RGBA", image.size, (255, 255, 255, 255))
        image = Image.alpha_composite(ground, image.convert("RGBA"))
    if image.mode != mode:
        image = image.convert(mode)
    if size is not None:
        width, height = image.size
        side = min(width, height)
        left, top = (width - side) // 2, (height - side) // 2
        # Cropped first: a box given to resize would let the filter look beyond it.
        square = image.crop((left, top, left + side, top + side))
        image = square.resize((size, size), Image.Resampling.BILINEAR)
    pixels: NDArray[Any] = np.asarray(image, dtype=np.uint8)
    return pixels[np.newaxis] if grey else np.ascontiguousarray(pixels.transpose(2, 0, 1))
