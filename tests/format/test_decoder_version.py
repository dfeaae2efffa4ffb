"""A decoder that grows gets another version: a certificate names the one that it assumes to be older than its data.

The tables below are what each version can say, frozen. Never change them: what is added belongs to a later version,
with a snapshot of its own beside these.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from format.format_examples import GOLDEN_2, GOLDEN_3, GOLDEN_4, GOLDEN_5, GOLDEN_6, GOLDEN_7, GOLDEN_8, NETWORKS

from netpact.algebra.symmetry import GROUPS
from netpact.coding import Decoder, code_uint
from netpact.coding.format import ARITHMETICS, DECODER_VERSION, message, seal, versions
from netpact.coding.forms import FORMS, VARIANTS
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.layers.rewrites import REWRITES
from netpact.models import Architecture
from netpact.models.families import FAMILIES
from netpact.models.norms import AS_TRAINED, FOLDED
from netpact.pacts.certification import certify

VERSION_1: dict[str, Any] = {
    "forms": {
        0: "zero",
        1: "uniform",
        2: "ternary",
        3: "codebook",
        4: "exact",
        5: "ternary-map",
        6: "projection",
        7: "low-rank",
        8: "relative",
    },
    "families": {
        1: "linear",
        2: "mlp",
        3: "lenet5",
        4: "conv",
        5: "oriented",
        7: "convnet",
        8: "alexnet",
        9: "vgg",
        10: "resnet",
        11: "preresnet",
        12: "wrn",
        13: "densenet",
    },
    "projections": ["hadamard", "signs"],
    "problems": [((1, 28, 28), 10), ((3, 32, 32), 10), ((1, 8, 8), 10), ((3, 32, 32), 100), ((1, 32, 32), 10)],
    "last sizes": {5: [1, 2, 3, 4], 9: [1, 2], 10: [1, 2], 11: [1, 2], 12: [1, 2], 13: [1, 2]},
}

# Since version 2 the header ends with a list of rewrites: by code the name, and each field with its smallest value.
REWRITES_OF_VERSION_2 = {
    0: ("low-rank", {"rank": 1}),
    1: ("fold", {"back": None}),
    2: ("remove-channels", {"outputs": 1, "inputs": 1}),
}
# What came with version 2, frozen as well.
FORMS_OF_VERSION_2 = {9: "scaled", 10: "sparse", 11: "projected", 12: "difference", 13: "factor"}
# And with version 3.
REWRITES_OF_VERSION_3 = {
    3: ("cp", {"rank": 1, "in_rows": 0, "out_rows": 0}),
    4: ("tucker", {"out_rank": 1, "in_rank": 1}),
}
FORMS_OF_VERSION_3 = {14: "sketched", 15: "heavy-tail"}
# And with version 4, since which the arithmetic is a number: the place in this list.
ARITHMETICS_OF_VERSION_4 = ["float32", "float64", "as-run", "whole"]
NEWER = {8: GOLDEN_8, 7: GOLDEN_7, 6: GOLDEN_6, 5: GOLDEN_5, 4: GOLDEN_4, 3: GOLDEN_3, 2: GOLDEN_2}
FORMS_OF_VERSION_4 = {16: "sparse-matrix"}
FORMS_OF_VERSION_5 = {17: "ternary-template"}
FORMS_OF_VERSION_7 = {18: "symmetric"}
GROUPS_OF_VERSION_7 = ["mirror", "p4", "p4m"]
REWRITES_OF_VERSION_4 = {
    5: ("whole", {"levels": 0, "low": None, "high": 0, "gain": 1, "divide": 0, "shift": 0, "reach": 0}),
    6: ("whole-pool", {"multiplier": 1, "shift": 0}),
    7: ("whole-clip", {"low": None, "high": 1}),
}
FAMILIES_OF_VERSION_3 = {14: "cp-vgg", 15: "cp-resnet", 16: "cp-wrn", 17: "bottleneck", 18: "shufflenet"}


def test_all_that_a_message_can_say_has_come_with_a_version() -> None:
    """Whoever adds a form, a family, a view or a problem meets this test: it came with the next version."""
    assert set(versions.FAMILIES_SINCE) == {0, *FAMILIES}
    assert list(versions.PROJECTIONS_SINCE) == list(VARIANTS)
    assert list(versions.ARITHMETICS_SINCE) == list(ARITHMETICS)
    assert len(versions.PROBLEMS_SINCE) == len(versions.COMMON_PROBLEMS)
    assert set(versions.LAST_SIZES_SINCE) == {5, 19, 21, *(family.id for family in FAMILIES.values() if family.normed)}
    newest = [
        *(form.since for form in FORMS.values()),
        *versions.FAMILIES_SINCE.values(),
        *versions.PROJECTIONS_SINCE.values(),
        *versions.ARITHMETICS_SINCE.values(),
    ]
    newest += [rewrite.since for rewrite in REWRITES.values()]
    newest += [*versions.PROBLEMS_SINCE, *(v for table in versions.LAST_SIZES_SINCE.values() for v in table.values())]
    assert max(newest) == DECODER_VERSION, "the newest version is the one that brought the newest thing"


def test_version_1_is_what_it_was() -> None:
    def first(table: Any) -> list[Any]:
        return [key for key, since in table.items() if since == 1]

    assert {tag: form.name for tag, form in FORMS.items() if form.since == 1} == VERSION_1["forms"]
    families = {number: FAMILIES[number].name for number in first(versions.FAMILIES_SINCE) if number}
    assert families == VERSION_1["families"]
    assert first(versions.PROJECTIONS_SINCE) == VERSION_1["projections"]
    problems = zip(versions.COMMON_PROBLEMS, versions.PROBLEMS_SINCE, strict=True)
    assert [problem for problem, since in problems if since == 1] == VERSION_1["problems"]
    sizes = {number: first(table) for number, table in versions.LAST_SIZES_SINCE.items() if first(table)}
    assert sizes == VERSION_1["last sizes"]


def test_version_2_is_what_it_was() -> None:
    found = {code: (kind.name, dict(kind.least)) for code, kind in REWRITES.items() if kind.since == 2}
    assert found == REWRITES_OF_VERSION_2
    assert versions.REWRITES_VERSION == 2
    assert {tag: form.name for tag, form in FORMS.items() if form.since == 2} == FORMS_OF_VERSION_2


def test_version_3_is_what_it_was() -> None:
    found = {code: (kind.name, dict(kind.least)) for code, kind in REWRITES.items() if kind.since == 3}
    assert found == REWRITES_OF_VERSION_3
    assert {tag: form.name for tag, form in FORMS.items() if form.since == 3} == FORMS_OF_VERSION_3
    families = {number: FAMILIES[number].name for number, since in versions.FAMILIES_SINCE.items() if since == 3}
    assert families == FAMILIES_OF_VERSION_3
    assert all(versions.LAST_SIZES_SINCE[number] == {1: 3, 2: 3} for number in families)


def test_version_4_is_what_it_was() -> None:
    assert list(ARITHMETICS) == ARITHMETICS_OF_VERSION_4
    assert [versions.ARITHMETICS_SINCE[name] for name in ARITHMETICS_OF_VERSION_4] == [1, 1, 4, 4]
    assert versions.ARITHMETICS_VERSION == 4
    assert {tag: form.name for tag, form in FORMS.items() if form.since == 4} == FORMS_OF_VERSION_4
    assert 4 not in versions.FAMILIES_SINCE.values()
    found = {code: (kind.name, dict(kind.least)) for code, kind in REWRITES.items() if kind.since == 4}
    assert found == REWRITES_OF_VERSION_4


def test_version_5_is_what_it_was() -> None:
    assert {tag: form.name for tag, form in FORMS.items() if form.since == 5} == FORMS_OF_VERSION_5
    assert not {code for code, kind in REWRITES.items() if kind.since == 5}


def test_version_6_is_what_it_was() -> None:
    assert 6 not in {form.since for form in FORMS.values()} | {kind.since for kind in REWRITES.values()}
    families = {number: FAMILIES[number].name for number, since in versions.FAMILIES_SINCE.items() if since == 6}
    assert families == {19: "contours"}
    assert versions.LAST_SIZES_SINCE[19] == dict.fromkeys((1, 2, 3, 4), 6)


def test_version_7_is_what_it_was() -> None:
    assert {tag: form.name for tag, form in FORMS.items() if form.since == 7} == FORMS_OF_VERSION_7
    assert list(GROUPS) == GROUPS_OF_VERSION_7, "another group needs a version of its own, as projections have"
    families = {number: FAMILIES[number].name for number, since in versions.FAMILIES_SINCE.items() if since == 7}
    assert families == {20: "lnconv"}
    assert not {code for code, kind in REWRITES.items() if kind.since == 7}


def test_version_8_is_what_it_was() -> None:
    assert 8 not in {form.since for form in FORMS.values()} | {kind.since for kind in REWRITES.values()}
    families = {number: FAMILIES[number].name for number, since in versions.FAMILIES_SINCE.items() if since == 8}
    assert families == {21: "sobel"}
    assert versions.LAST_SIZES_SINCE[21] == dict.fromkeys((1, 2, 3, 4, 5, 6), 8)


def test_the_roots_of_sobel_edges_are_those_of_version_8() -> None:
    """Square roots and fourth roots. A third choice would need a version of its own."""
    taken = []
    for roots in range(1, 40):
        with suppress(PactError):
            taken.append(Architecture(21, (8, 5, 4, 4, roots, 1), (1, 28, 28), 10).sizes[4])
    assert taken == [1, 2]


def test_the_windows_of_a_layer_norm_network_are_those_of_version_7() -> None:
    """Of every layer: 1 none, 2 windows of 2 x 2. A third choice would need a version of its own."""
    taken = []
    for pool in range(1, 40):
        with suppress(PactError):
            taken.append(Architecture(20, (3, 1, 4, pool, 3, 1, 4, 1), (3, 64, 64), 10).sizes[3])
    assert taken == [1, 2]


@pytest.mark.parametrize("number", versions.LAST_SIZES_SINCE)
def test_the_last_sizes_that_exist_are_those_in_the_table(number: int) -> None:
    """One that the architecture takes and the table does not know would be a view without a version."""
    known = versions.LAST_SIZES_SINCE[number]
    sizes = FAMILIES[number].default_sizes[:-1]
    taken = []
    for last in range(1, 40):
        try:
            Architecture(number, (*sizes, last), (3, 32, 32), 10)
        except PactError:
            continue
        taken.append(last)
    assert taken == list(known)
    assert (AS_TRAINED, FOLDED) == (1, 2)


@pytest.mark.parametrize("name", NETWORKS)
def test_only_what_came_with_a_version_makes_messages_of_it(name: str) -> None:
    pact = seal(NETWORKS[name])
    expected = next((version for version, names in NEWER.items() if name in names), 1)
    assert pact.decoder_version == expected
    assert read_version(pact.message) == expected


LINEAR = NETWORKS["linear"]


@pytest.mark.parametrize("what", ["form", "family"])
def test_what_is_new_raises_the_version_of_the_messages_that_use_it(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if one thing had come with version 2."""
    old = seal(LINEAR)
    if what == "form":
        monkeypatch.setattr(type(LINEAR.tensors["fc1.weight"].form), "since", 2)
    else:
        monkeypatch.setattr(versions, "FAMILIES_SINCE", {**versions.FAMILIES_SINCE, LINEAR.architecture.id: 2})
    monkeypatch.setattr(message, "DECODER_VERSION", 2)
    new = seal(LINEAR)
    assert new.message != old.message
    assert new.decoder_version == 2
    assert new.decode().tensors.keys() == LINEAR.tensors.keys()
    with pytest.raises(PactError, match=r"decoder version 1, and uses what came with version 2"):
        old.decode()


def test_a_message_does_not_say_a_higher_version_than_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two spellings of one network would be two messages."""
    monkeypatch.setattr(message, "DECODER_VERSION", 2)
    monkeypatch.setattr(message, "_version", lambda compressed: 2)
    higher = seal(LINEAR)
    monkeypatch.undo()
    monkeypatch.setattr(message, "DECODER_VERSION", 2)
    with pytest.raises(PactError, match="not the message of the network"):
        higher.decode()


def test_a_version_that_is_not_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = DECODER_VERSION + 1
    monkeypatch.setattr(message, "_version", lambda compressed: unknown)
    monkeypatch.setattr(message, "DECODER_VERSION", unknown)
    newer = seal(LINEAR)
    monkeypatch.undo()
    with pytest.raises(PactError, match=f"written for decoder version {unknown}, this is version {DECODER_VERSION}"):
        newer.decode()


def test_a_certificate_names_the_version_of_its_message(digits: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the newest one: a later release changes nothing about what an old file assumes."""
    monkeypatch.setattr(message, "DECODER_VERSION", 2)
    certificate = certify(seal(LINEAR), digits).certificate
    assert certificate is not None
    assert certificate.decoder_version == 1
    assert any("Decoder version 1 " in sentence for sentence in certificate.assumptions)


def read_version(coded: bytes) -> int:
    return 1 + code_uint(Decoder(coded), None)
