"""certify and verify take what obviously stands for a pact, data or a base, and name what is needed otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from netpact.coding.format import Pact
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.models import build, parse_model, save_weights
from netpact.pacts.certification import certify
from netpact.pacts.priors import base_of, open_base
from netpact.pacts.verification import verify


def test_a_refused_verdict_is_false(certified: Pact, pact: Pact, digits: Data) -> None:
    assert verify(certified, digits)
    assert not verify(pact, digits)
    stated = certified.certificate
    assert stated is not None
    assert not verify(certified.with_certificate(replace(stated, bound=stated.bound - 1e-6)), digits)


def test_paths_and_compressed_networks(certified: Pact, pact: Pact, digits: Data, tmp_path: Path) -> None:
    file = pact.write(tmp_path / "net.pact")
    assert certify(file, digits) == certify(str(file), "digits") == certify(pact.decode(), digits) == certified
    certified.write(file)
    assert verify(str(file), "digits").agreed
    assert verify(file, digits).agreed
    assert verify(pact.decode(), digits).reasons == ("the file has no certificate",)


@pytest.mark.parametrize("wrong", [None, 3, [], "data", torch.nn.Linear(2, 2), Pact, b"PACT"])
@pytest.mark.parametrize("verb", [certify, verify])
def test_anything_else_is_named(verb: Any, wrong: object, digits: Data) -> None:
    with pytest.raises(PactError, match=r"a Pact, a path to a .pact file or a compressed network, got"):
        verb(digits if wrong == "data" else wrong, digits)


@pytest.mark.parametrize("verb", [certify, verify])
def test_other_arguments_of_the_wrong_kind(verb: Any, certified: Pact, digits: Data) -> None:
    for arguments, part in (
        ({"base": 3}, "must be a Base or the path of its file, got int"),
        ({"model": 3}, "Module or the function that makes it, got int"),
        ({"model": "net"}, "does not name a function"),
        ({"base_data": 3}, "samples cannot be made from int"),
    ):
        with pytest.raises(PactError, match=part):
            verb(certified, digits, **arguments)
    with pytest.raises(PactError, match="samples cannot be made from Pact"):
        verb(certified, certified)


def test_a_base_by_its_file_and_its_data_by_name(digits: Data, tmp_path: Path) -> None:
    from netpact.methods import QuantizeDifference, compress
    from netpact.network import trace

    module = build(parse_model("linear", input_shape=digits.input_shape, classes=10))
    file = save_weights(module, tmp_path / "base.safetensors")
    compressed = compress(trace(module, digits), QuantizeDifference(open_base(file)))
    other = (np.zeros((4, 8, 8), dtype=np.float32), np.arange(4))
    pact = certify(compressed, digits, base=file, base_data=other)
    assert pact.certificate is not None
    assert pact.certificate.base_sha256 == base_of(module, name="base").sha256
    assert verify(pact, digits, base=str(file), base_data=other)
    with pytest.raises(PactError, match="trained on the data of this certificate"):
        certify(compressed, digits, base=file, base_data="digits")
