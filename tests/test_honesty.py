"""What could carry knowledge of a benchmark into the decoder's source is listed here, each with a reason.

Looked for: numbers with many digits, tables of numbers, numbers in text, files that are read, data that are loaded,
means and deviations in wide use. A new one makes a test red until somebody has written its reason down; a reason for a
number that is gone makes it red too.

Not looked for, because no test can: whether a reason is true; numbers of few digits; and what a program does, such as
the steps of the fixed stem, which were chosen by trying variants on three benchmarks (docs/records.md says so).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from source_text import (
    SOURCE,
    calls,
    home,
    imports,
    numbers,
    numbers_in_text,
    reached_from,
    room_files,
    short_name,
    significant_digits,
    strings,
    tables,
)

# The rooms that decide what a decoded network is, and how its errors are counted.
ROOMS = ("algebra", "coding", "layers", "models", "network", "deviations")
# A table that is mathematics, number by number: a test computes all of it again.
COMPUTED = {"algebra/stream/gaussian_table.py": "cells of the normal distribution: tests/test_stream.py"}
FILES = [path for path in room_files(*ROOMS) if short_name(path) not in COMPUTED]
each_file = pytest.mark.parametrize("path", FILES, ids=short_name)

# A fraction of three or more significant digits, or a whole number of four or more, can be the result of a fit.
PRECISE_NUMBERS = {
    ("algebra/stream/philox.py", "0xD2511F53"): "a multiplier of Philox, Salmon et al. 2011",
    ("algebra/stream/philox.py", "0xCD9E8D57"): "a multiplier of Philox, Salmon et al. 2011",
    ("algebra/stream/philox.py", "0x9E3779B9"): "a key step of Philox: the golden ratio",
    ("algebra/stream/philox.py", "0xBB67AE85"): "a key step of Philox: the root of 3",
    ("algebra/stream/philox.py", "0xFFFFFFFF"): "2^32 - 1: the lower half of a product",
    ("layers/contours.py", "4095"): "a power of two less one: features of 12 bits add up exactly",
    ("coding/integers.py", "4096"): "power of two: the shortest plane whose zeros are told as gaps",
    ("coding/forms/ternary_map.py", "4096"): "power of two: a limit on the work that a message may ask for",
    ("models/architecture.py", "65_535"): "2^16 - 1: a limit on sizes and classes",
    ("models/architecture.py", "4_096"): "power of two: a limit on the sides of an image",
    ("models/skipping.py", "1_202"): "the deepest network of He et al. 2016: a limit",
    ("network/rounding/pointwise.py", "1.128905"): "mathematics: the largest slope of GELU, rounded up",
    ("network/rounding/pointwise.py", "1.128994"): "mathematics: the largest slope of GELU by tanh, rounded up",
    ("network/rounding/pointwise.py", "1.088499"): "mathematics: the largest slope of mish, rounded up",
    ("network/rounding/pointwise.py", "1.7581"): "mathematics: the largest slope of SELU, rounded up",
    ("network/rounding/pointwise.py", "1.12838"): "mathematics: 2 / sqrt(pi), rounded up",
    ("network/rounding/pointwise.py", "1.09984"): "mathematics: the largest slope of SiLU, rounded up",
    ("network/rounding/tolerance.py", "1021"): "IEEE 754: two below the highest exponent of float64",
    ("network/rounding/tolerance.py", "1022"): "IEEE 754: the least exponent of float64",
    ("network/rounding/tolerance.py", "1023"): "IEEE 754: the bias of float64's exponent",
}
TABLES = {
    (
        "coding/format/versions.py",
        "COMMON_PROBLEMS",
    ): "shapes and class counts of public problems; any other is spelled out",
    ("coding/format/versions.py", "FAMILIES_SINCE"): "ids of families, each with the decoder version that brought it",
    (
        "coding/format/versions.py",
        "LAST_SIZES_SINCE",
    ): "choices coded in the message, each with the version that brought it",
    ("models/chains.py", "VGG_DEPTHS"): "the layers of VGG, Simonyan and Zisserman 2015",
    ("models/chains.py", "_ALEXNET"): "the layers of AlexNet in its form for small images",
    ("models/families.py", "_plan_lenet5"): "the layers of LeNet-5, LeCun et al. 1998",
    (
        "layers/contour_maps.py",
        "list_maps",
    ): "powers of two that bring maps to the same size, chosen on images that are in no certified sample",
    ("network/blocks/inputs.py", "_SIDES"): "image sizes tried to see a network run; no decoder uses them",
    ("network/rounding/tolerance.py", "_PRECISIONS"): "IEEE 754: unit roundoff, smallest and highest numbers",
    ("models/bottlenecks.py", "BLOCKS"): "blocks of each group by depth; the depth is coded in the message",
    ("models/bottlenecks.py", "SHUFFLE_BLOCKS"): "the same, of Ma et al. 2018 for depth 50",
    ("models/families.py", "_ENTRIES"): "ids, and default sizes that are coded in the message like all others",
}
READERS = {
    ("coding/format/pact.py", "read_bytes"): "the .pact file itself",
    ("models/tensors.py", "read_bytes"): "a weight file that the user names",
    ("models/weights.py", "read_bytes"): "a weight file that the user names",
    ("models/weights.py", "load"): "the same file's bytes, weights only",
    ("models/tensors.py", "load"): "the same file's bytes, by safetensors",
    ("models/own.py", "import_module"): "the user's own module, by the name that the user gave",
    ("network/refusals/code_constants.py", "read_text"): "source of installed packages, to refuse what is not in it",
    ("network/refusals/hidden_state.py", "load"): "a function that its caller hands in",
}
READING = {
    *("load_data", "open", "read_bytes", "read_text", "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "urlopen"),
    *("urlretrieve", "fetch_openml", "load_digits", "import_module", "fromhex", "b64decode", "b85decode", "decompress"),
}

# Means and standard deviations in wide use, of pixels between 0 and 1 and, where scaled, between 0 and 255.
DATA_STATISTICS = (
    *(0.1307, 0.3081, 33.318, 78.567),  # MNIST
    *(0.2860, 0.2861, 0.3530, 72.940, 90.021),  # Fashion-MNIST
    *(0.4914, 0.4822, 0.4465, 0.2023, 0.1994, 0.2010, 0.2470, 0.2435, 0.2430, 0.2616, 0.2610),  # CIFAR-10
    *(125.307, 125.3, 122.950, 113.865, 113.9, 62.993, 62.089, 62.1, 66.705, 66.7),
    *(0.5071, 0.4867, 0.4865, 0.4408, 0.4409, 0.2675, 0.2673, 0.2565, 0.2564, 0.2761, 0.2762),  # CIFAR-100
    *(0.4377, 0.4438, 0.4728, 0.1980, 0.1970),  # SVHN
    *(0.485, 0.456, 0.406, 0.229, 0.224, 0.225),  # ImageNet
    *(0.3053, 0.3760),  # scikit-learn's digits
)


def test_every_precise_number_has_its_reason() -> None:
    found = {
        (short_name(path), literal)
        for path in FILES
        for literal, value in numbers(path)
        if significant_digits(literal) >= (4 if isinstance(value, int) else 3)
    }
    assert found == set(PRECISE_NUMBERS)


def test_every_table_of_numbers_has_its_reason() -> None:
    found = {(short_name(path), name) for path in FILES for name, _ in tables(path, more_than=8)}
    assert found == set(TABLES)


@each_file
def test_no_long_numbers_or_words_of_code_stand_in_text(path: Path) -> None:
    """Digits to be parsed, hexadecimal or base-64 words, bytes: none where the decoder could read them."""
    for literal in strings(path):
        text = literal.decode("latin-1") if isinstance(literal, bytes) else literal
        digits = re.findall(r"\d+[.,]?\d{2,}", text)
        assert not digits or max(map(significant_digits, digits)) < 4, literal
        assert isinstance(literal, str) or len(literal) <= 8, literal
        assert not re.search(r"[A-Za-z0-9+/=]{32,}", text), literal


def test_the_package_holds_no_file_but_its_source() -> None:
    others = {
        short_name(path) for path in SOURCE.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyi", ".pyc")
    }
    assert others == {"py.typed"}


def test_these_rooms_read_only_what_the_user_names() -> None:
    found = {(short_name(path), name) for path in FILES for name in calls(path) if name in READING}
    assert found == set(READERS)


@each_file
def test_these_rooms_neither_load_data_nor_know_the_published_sets(path: Path) -> None:
    for module, name in imports(path):
        assert name != "load_data"
        assert module.split(".")[0] not in ("sklearn", "urllib", "requests", "torchvision")
        if module.startswith("netpact"):
            assert home(module, name) not in ("netpact.datasets.catalogue", "netpact.datasets.loading"), name


# Which forms a decoder imports depends on the message.
_FORMS = [f"netpact.coding.forms.{path.stem}" for path in sorted((SOURCE / "coding" / "forms").glob("[a-z]*.py"))]


@pytest.mark.parametrize(
    "entry",
    ["netpact.coding.format.pact", "netpact.coding.format.loading", "netpact.network.error_counting", *_FORMS],
)
def test_decoding_and_counting_import_nothing_that_knows_the_data_sets(entry: str) -> None:
    """By the import graph: the catalogue and what loads data are not reached, however far away."""
    reached = reached_from(entry)
    followed = {
        "netpact.core.errors",
        "netpact.coding.forms.form" if "coding" in entry else "netpact.datasets.samples",
    }
    assert followed <= reached, "the graph is not being followed"
    known = {f"netpact.datasets.{name}" for name in ("catalogue", "loading", "openml", "npz", "own")}
    assert not reached & known


def test_the_graph_finds_what_is_there() -> None:
    assert "netpact.datasets.catalogue" in reached_from("netpact.pacts.verification.checking")


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=short_name)
def test_no_mean_or_deviation_in_wide_use_stands_in_the_source(path: Path) -> None:
    for number in numbers_in_text(path):
        near = [known for known in DATA_STATISTICS if abs(number - known) < (1e-4 if known < 1 else 6e-3)]
        assert not near, f"{number} looks like a statistic of a data set: {near}"
