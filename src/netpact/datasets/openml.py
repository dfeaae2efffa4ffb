"""Downloading a known data set from OpenML into the cache folder."""

from __future__ import annotations

import io
import os
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError
from netpact.core.files import write_atomically
from netpact.datasets.catalogue import KnownSet


def fetch_rows(name: str, version: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """All rows of pixels and their labels. The only function here that touches the network."""
    from sklearn.datasets import fetch_openml

    # The liac-arff parser needs no pandas; sklearn's own copy on disk would be a second one.
    bunch = fetch_openml(name, version=version, as_frame=False, parser="liac-arff", cache=False)
    return bunch.data, bunch.target


def download(known: KnownSet, *, target: Path) -> None:
    """Write x_train, y_train, x_test, y_test to the target file, after checking that they are the published split."""
    if known.openml is None:
        raise PactError("there is no copy on OpenML that netpact can use", where=target.stem)
    _check_writable(target.parent)
    name, version = known.openml
    where = f"OpenML {name} version {version}"
    try:
        pixels, labels = fetch_rows(name, version)
    except (OSError, ValueError, ImportError, HTTPException) as error:
        raise PactError(f"the download failed: {error}", where=where) from error
    x, y = _published_rows(known, pixels=pixels, labels=labels, where=where)
    train = sum(known.train_counts)
    packed = io.BytesIO()
    np.savez_compressed(packed, x_train=x[:train], y_train=y[:train], x_test=x[train:], y_test=y[train:])
    write_atomically(target, packed.getvalue())


def _check_writable(folder: Path) -> None:
    """A long download should not end at a folder that refuses the file."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PactError(f"cannot make the cache folder: {error.strerror or error}", where=str(folder)) from error
    if not os.access(folder, os.W_OK):
        raise PactError("the cache folder cannot be written to", where=str(folder), hint="set XDG_CACHE_HOME")


def _published_rows(
    known: KnownSet, *, pixels: NDArray[Any], labels: NDArray[Any], where: str
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images (n, h, w) or (n, h, w, 3) and labels, training set first, checked against what is known of the set."""
    train, test = sum(known.train_counts), sum(known.test_counts)
    size = int(np.prod(known.input_shape))
    if pixels.shape != (train + test, size) or labels.shape != (train + test,):
        raise PactError(f"expected {train + test} rows of {size} pixels, got {pixels.shape}", where=where)
    images = pixels.astype(np.uint8)
    if not np.array_equal(images, pixels):
        raise PactError("pixels must be integers from 0 to 255, the download holds others", where=where)
    images = images.reshape(-1, *known.input_shape)
    images = images[:, 0] if known.input_shape[0] == 1 else np.ascontiguousarray(images.transpose(0, 2, 3, 1))
    try:
        numbers = labels.astype(np.uint8)
    except (ValueError, TypeError) as error:
        raise PactError(f"labels are not class numbers: {error}", where=where) from error
    for part, counts in ((slice(None, train), known.train_counts), (slice(train, None), known.test_counts)):
        if tuple(np.bincount(numbers[part], minlength=known.classes).tolist()) != counts:
            raise PactError("the classes do not occur as often as in the published split", where=where)
    return images, numbers
