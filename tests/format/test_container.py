"""The container: damage is refused, the certificate never touches the network, files appear whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from format.format_examples import (
    LINEAR,
    MLP,
    NETWORKS,
    certificate_for,
    compress,
    module_for,
    ternary,
    uniform,
    weights_sha256,
    wrap,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from netpact.certificates import code_bits
from netpact.coding.format import Pact, seal
from netpact.core.errors import PactError
from netpact.models import Architecture

SMALL = seal(compress(Architecture(LINEAR, (), (4,), 3), ternary))
WHOLE = SMALL.with_certificate(certificate_for(SMALL)).to_bytes()


def test_the_bytes_of_a_container() -> None:
    assert SMALL.to_bytes() == wrap(SMALL.message)
    assert Pact.from_bytes(WHOLE) == SMALL.with_certificate(certificate_for(SMALL))
    assert Pact.from_bytes(WHOLE).code_bits == code_bits(len(SMALL.message))


def test_every_flipped_bit_is_refused() -> None:
    for content in (SMALL.to_bytes(), WHOLE):
        step = 1 if content is not WHOLE else 7  # the long one by samples: each of its parts is hit
        for bit in range(0, 8 * len(content), step):
            flipped = bytearray(content)
            flipped[bit // 8] ^= 1 << bit % 8
            with pytest.raises(PactError):
                Pact.from_bytes(bytes(flipped))


@pytest.mark.parametrize("content", [SMALL.to_bytes(), WHOLE], ids=["bare", "with certificate"])
def test_every_cut_is_refused(content: bytes) -> None:
    for length in range(len(content)):
        with pytest.raises(PactError):
            Pact.from_bytes(content[:length])


@pytest.mark.parametrize("more", [b"\0", b"\0" * 8, b"PACT", b"\n"])
def test_what_stands_behind_the_end_is_refused(more: bytes) -> None:
    with pytest.raises(PactError):
        Pact.from_bytes(SMALL.to_bytes() + more)


@pytest.mark.parametrize("more", [b"\0", b"\0\0\0\0", b"\x01", b"\x80", b"\xff" * 9])
@pytest.mark.parametrize("name", NETWORKS)
def test_what_stands_behind_the_message_is_refused(name: str, more: bytes) -> None:
    pact = Pact.from_bytes(wrap(seal(NETWORKS[name]).message + more))
    with pytest.raises(PactError, match="not the message of the network") as caught:
        pact.to_module(module_for(name))
    assert "trailing bytes" in caught.value.hint


@pytest.mark.parametrize("name", ["linear", "mlp", "conv", "own"])
def test_a_cut_message_never_gives_the_same_network(name: str) -> None:
    pact = seal(NETWORKS[name])
    whole = weights_sha256(pact.to_module(module_for(name)))
    for length in range(0, len(pact.message), 1 + len(pact.message) // 40):
        try:
            module = Pact(pact.message[:length]).to_module(module_for(name), max_parameters=20_000)
        except PactError:
            continue
        assert weights_sha256(module) != whole


def test_too_long_a_certificate_is_refused() -> None:
    with pytest.raises(PactError, match="1,048,576"):
        Pact.from_bytes(wrap(SMALL.message, b" " * ((1 << 20) + 1)))


edits = st.fixed_dictionaries(
    {},
    optional={
        "errors": st.integers(0, 100),
        "samples": st.integers(100, 10**6),
        "delta": st.floats(1e-9, 0.5),
        "form": st.sampled_from(["exact", "kl", "hoeffding"]),
        "arithmetic": st.sampled_from(["float32", "float64"]),
        "data_name": st.sampled_from(["digits", "own", "µ", "a 'quoted' name"]),
        "data_fingerprint": st.text("0123456789abcdef", min_size=64, max_size=64).map("sha256:{}".format),
        "classes": st.integers(2, 1000),
        "message_sha256": st.text("0123456789abcdef", min_size=64, max_size=64),
        "decoder_version": st.integers(0, 99),
        "netpact_version": st.sampled_from(["0.1.0", "99"]),
    },
)
EDITED = seal(compress(Architecture(MLP, (3,), (4,), 3), uniform))
EDITED_SHA256 = weights_sha256(EDITED.to_module())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(changes=edits, indent=st.sampled_from([None, 0, 3]), conditional=st.booleans())
def test_no_change_of_the_certificate_changes_the_network(
    changes: dict[str, Any], indent: int | None, conditional: bool
) -> None:
    if conditional:
        changes = {**changes, "prior": "conditional", "module": "my.Net"}
    statement = json.dumps(certificate_for(EDITED, **changes).to_json(), indent=indent).encode()
    pact = Pact.from_bytes(wrap(EDITED.message, statement))
    assert pact.certificate == certificate_for(EDITED, **changes)
    assert weights_sha256(pact.to_module()) == EDITED_SHA256
    assert (pact.arithmetic, pact.architecture) == (EDITED.arithmetic, EDITED.architecture)


class TestWriting:
    def test_there_and_back(self, tmp_path: Path) -> None:
        path = SMALL.write(tmp_path / "new" / "net.pact")
        assert Pact.read(path) == SMALL
        assert [entry.name for entry in path.parent.iterdir()] == ["net.pact"]

    def test_below_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"here")
        with pytest.raises(PactError, match="cannot write") as caught:
            SMALL.write(tmp_path / "file" / "net.pact")
        assert "net.pact" in caught.value.where
        assert (tmp_path / "file").read_bytes() == b"here"

    def test_over_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(PactError, match="folder"):
            SMALL.write(tmp_path)

    @pytest.mark.parametrize("failing", ["replace", "fsync"])
    def test_a_failure_leaves_the_old_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
        path = tmp_path / "net.pact"
        path.write_bytes(b"old")

        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, failing, fail)
        with pytest.raises(PactError, match="No space left on device"):
            SMALL.write(path)
        assert path.read_bytes() == b"old"
        assert [entry.name for entry in tmp_path.iterdir()] == ["net.pact"]

    def test_reading_names_the_file_and_the_place(self, tmp_path: Path) -> None:
        path = tmp_path / "net.pact"
        with pytest.raises(PactError, match="cannot read"):
            Pact.read(path)
        path.write_bytes(b"PACT\x02" + SMALL.to_bytes()[5:])
        with pytest.raises(PactError, match="container version 2") as caught:
            Pact.read(path)
        assert caught.value.where == f"{path}, byte 4"
