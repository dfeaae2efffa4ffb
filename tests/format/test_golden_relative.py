"""Files encoded against another one: they decode to the same weights, and give the same bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from format.format_examples import NETWORKS, weights_sha256

from netpact.coding import ShortFloat
from netpact.coding.format import Compressed, Pact, seal
from netpact.coding.forms import CodedTensor, Difference, Form, Relative, Sparse, Uniform
from netpact.coding.forms.sparse import DROPPED
from netpact.datasets import Split
from netpact.pacts.priors import open_base

HERE = Path(__file__).parent
BASE = HERE / "golden" / "linear.pact"
# The split, and the sha256 of the weights that the file decodes to beside its base.
FILES: dict[str, tuple[Split | None, str]] = {
    "transfer": (None, "4e61c5037af6ad022b81080783a11c599cb60c66267d6d89e516535a5f9762e9"),
    "difference": (None, "4e61c5037af6ad022b81080783a11c599cb60c66267d6d89e516535a5f9762e9"),  # of version 2
    "helper": (Split(percent=30, counter=2), "4e61c5037af6ad022b81080783a11c599cb60c66267d6d89e516535a5f9762e9"),
}
each_file = pytest.mark.parametrize("name", FILES)


def relative_network(split: Split | None, nested: bool = False) -> Compressed:
    """A few weights differ, by whole steps of 3/128."""
    like = NETWORKS["linear"]
    step = ShortFloat(-6, 8)
    tensors = {}
    for name, tensor in like.tensors.items():
        places = np.arange(int(np.prod(tensor.shape)))
        symbols = np.where(places % 7 == 3, places % 5 - 2, 0).astype(np.int64)
        form: Form = Difference(Sparse(Uniform(step))) if nested else Relative(step)
        tensors[name] = CodedTensor(form, np.where(symbols == 0, DROPPED, symbols) if nested else symbols, tensor.shape)
    return Compressed(like.architecture, tensors, split=split)


@each_file
def test_files_decode_to_the_same_weights(name: str) -> None:
    split, expected = FILES[name]
    pact = Pact.read(HERE / "golden_relative" / f"{name}.pact")
    assert pact.decode().split == split
    assert weights_sha256(pact.to_module(base=open_base(BASE))) == expected


@each_file
def test_the_same_networks_are_written_as_the_same_bytes(name: str) -> None:
    split, _ = FILES[name]
    assert (
        seal(relative_network(split, name == "difference")).to_bytes()
        == (HERE / "golden_relative" / f"{name}.pact").read_bytes()
    )
