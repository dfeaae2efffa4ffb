"""Files of all versions, kept for ever: they decode to the same weights, and the same networks give the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from coding.reference_range_decoder import ReferenceDecoder
from format.format_examples import (
    GOLDEN,
    GOLDEN_1,
    GOLDEN_2,
    GOLDEN_3,
    GOLDEN_4,
    GOLDEN_5,
    GOLDEN_6,
    GOLDEN_7,
    GOLDEN_8,
    NETWORKS,
    formula_input,
    module_for,
    weights_sha256,
)

from netpact.coding.format import DECODER_VERSION, Pact, seal
from netpact.coding.format.layout import Slot
from netpact.coding.format.message import _code, _silent
from netpact.models import OwnModule, parameter_grids

FOLDER = Path(__file__).with_name("golden")
EXPECTED = json.loads((FOLDER / "golden.json").read_text())
each_file = pytest.mark.parametrize("name", GOLDEN)


def test_the_table_lists_every_file() -> None:
    assert {path.stem for path in FOLDER.glob("*.pact")} == set(GOLDEN) == set(EXPECTED)
    assert DECODER_VERSION == 8, "keep these files and add those of the new version"
    by_version = (GOLDEN_1, GOLDEN_2, GOLDEN_3, GOLDEN_4, GOLDEN_5, GOLDEN_6, GOLDEN_7, GOLDEN_8)
    for version, names in enumerate(by_version, start=1):
        assert {Pact.read(FOLDER / f"{name}.pact").decoder_version for name in names} == {version}


@each_file
def test_files_decode_to_the_same_weights_and_predictions(name: str) -> None:
    module = Pact.read(FOLDER / f"{name}.pact").to_module(module_for(name))
    assert weights_sha256(module) == EXPECTED[name]["weights_sha256"]
    logits = module.double()(formula_input(NETWORKS[name].architecture.input_shape))
    torch.testing.assert_close(
        logits, torch.tensor(EXPECTED[name]["logits"], dtype=torch.float64), rtol=1e-10, atol=1e-10
    )


@each_file
def test_the_same_networks_are_written_as_the_same_bytes(name: str) -> None:
    assert seal(NETWORKS[name]).to_bytes() == (FOLDER / f"{name}.pact").read_bytes()


@each_file
def test_the_reference_decoder_reads_them_too(name: str) -> None:
    """So the files do not depend on the library that the coder is built on."""
    known = NETWORKS[name]
    own = isinstance(known.architecture, OwnModule) or known.rewrites
    grids = {} if own else parameter_grids(known.architecture)  # type: ignore[arg-type]
    slots = tuple(Slot(slot, tensor.shape, grids.get(slot, tensor.shape)) for slot, tensor in known.tensors.items())
    message = Pact.read(FOLDER / f"{name}.pact").message
    found = _code(ReferenceDecoder(message), None, lambda _: slots, _silent)
    assert (found.architecture, found.arithmetic) == (known.architecture, known.arithmetic)
    assert found.rewrites == known.rewrites
    for slot, tensor in known.tensors.items():
        assert found.tensors[slot].form == tensor.form
        assert found.tensors[slot].symbols.tolist() == tensor.symbols.tolist()
