"""The data sets known by name, and the folders in which their files are looked for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class KnownSet:
    """Facts about a published data set; the class counts tell whether a downloaded copy has the published split."""

    classes: int
    input_shape: tuple[int, ...]
    train_counts: tuple[int, ...]
    test_counts: tuple[int, ...]
    openml: tuple[str, int] | None  # name and version there, rows = channel-first pixels, training set first
    home: str


_MNIST_TRAIN = (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)
_MNIST_TEST = (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009)
_SVHN_TRAIN = (4948, 13861, 10585, 8497, 7458, 6882, 5727, 5595, 5045, 4659)
_SVHN_TEST = (1744, 5099, 4149, 2882, 2523, 2384, 1977, 2019, 1660, 1595)
_CIFAR_HOME = "https://www.cs.toronto.edu/~kriz/cifar.html"

KNOWN: dict[str, KnownSet] = {
    "mnist": KnownSet(10, (1, 28, 28), _MNIST_TRAIN, _MNIST_TEST, ("mnist_784", 1), "https://www.openml.org"),
    "fashion_mnist": KnownSet(
        10,
        (1, 28, 28),
        (6000,) * 10,
        (1000,) * 10,
        ("Fashion-MNIST", 1),
        "https://github.com/zalandoresearch/fashion-mnist",
    ),
    "cifar10": KnownSet(10, (3, 32, 32), (5000,) * 10, (1000,) * 10, ("CIFAR_10", 1), _CIFAR_HOME),
    "cifar100": KnownSet(100, (3, 32, 32), (500,) * 100, (100,) * 100, None, _CIFAR_HOME),
    # OpenML has an SVHN, but says nowhere how its rows are laid out as images.
    "svhn": KnownSet(10, (3, 32, 32), _SVHN_TRAIN, _SVHN_TEST, None, "http://ufldl.stanford.edu/housenumbers"),
}

# The fingerprints of training sets in the order in which they were published (digits: split by counter 0). Whoever
# certifies them has no influence on which sample stands where. Taken from the files that OpenML and scikit-learn give.
PUBLISHED_TRAINING_SETS = {
    "sha256:9d228def3642dcde82c4da709d222d1f00d31d48a71acf9da7bca5e11c9a70ea": "digits",
    "sha256:3e732f1b401496e711a9c11a3a18e5a5ed376324a2753e1d14217952246d5525": "mnist",
    "sha256:a9f634197de77a41491b75a399365b1e6c39155457919e2832ad673e1dfebaa3": "fashion_mnist",
    "sha256:5edf803b6713156f953930c47f6acbcef989203dc51bcb2aa04e005c954086f0": "cifar10",
}


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "netpact"


def data_folders() -> tuple[Path, ...]:
    """Where NAME.npz is looked for, in this order."""
    own = os.environ.get("NETPACT_DATA")
    return (Path(own).expanduser(), cache_folder()) if own else (cache_folder(),)
