"""The records: the page says what the index says, and every file whose data are here verifies."""

from __future__ import annotations

import importlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import netpact
from netpact.certificates import Certificate, OriginalCertificate, risk_bound
from netpact.datasets import Data
from netpact.datasets.catalogue import data_folders
from netpact.models import hash_source
from netpact.models.own import as_model
from netpact.pacts.priors import Base
from netpact.reports.records import KEYS, is_for_the_record, read_index, render_records, runs_by_seed

ROOT = Path(__file__).parents[1]
ENTRIES = read_index(ROOT / "records")
PICKS = [entry for entry in ENTRIES if "picked" in entry]
PACTS = [entry for entry in ENTRIES if "picked" not in entry]
EVERY = pytest.mark.parametrize("entry", PACTS, ids=lambda entry: str(entry["file"]))
EVERY_PICK = pytest.mark.parametrize("entry", PICKS, ids=lambda entry: str(entry["file"]))


def read_pact(entry: dict[str, object]) -> netpact.Pact:
    return netpact.Pact.read(ROOT / "records" / str(entry["file"]))


def compressed_part(pact: netpact.Pact) -> Certificate:
    """The certificate that the row's counts come from: with delta / 2 where the bound is the original network's."""
    found = pact.original.compressed if isinstance(pact.original, OriginalCertificate) else pact.certificate
    assert found is not None
    return found


def test_the_page_is_made_from_the_index() -> None:
    assert (ROOT / "docs" / "records.md").read_text() == render_records(ENTRIES)


def test_every_file_is_in_the_index() -> None:
    named = {entry[key] for entry in ENTRIES for key in ("file", "base", "original") if key in entry}
    present = {
        path.name for ending in ("pact", "pick", "safetensors") for path in (ROOT / "records").glob(f"*.{ending}")
    }
    assert present == named


@EVERY
def test_the_index_says_what_the_file_says(entry: dict[str, object]) -> None:
    pact = read_pact(entry)
    part, own = compressed_part(pact), pact.certificate
    assert own is not None
    stated = part.to_json()
    assert all(stated[key] == entry[key] for key in ("errors", "samples", "prior", "message_bytes", "test_error"))
    assert part.data_name == entry["data"]
    if "original" in entry:
        assert isinstance(pact.original, OriginalCertificate)
        assert (pact.original.bound, pact.original.disagreement_bound) == (entry["bound"], entry["disagreement_bound"])
        assert own.test_error is None  # its test images are the unlabelled sample
    else:
        assert pact.original is None
        assert own.bound == entry["bound"]
        assert own.test_error is not None
        assert own.test_error <= own.bound
    helper = part.helper
    assert entry.get("hold_out") == (None if helper is None or "original" in entry else helper.bound)
    assert ("base" in entry or "package" in entry) == (part.prior in ("transfer", "data-dependent"))


@pytest.mark.parametrize(
    "entry", [entry for entry in PACTS if "package" not in entry], ids=lambda entry: str(entry["file"])
)
def test_records_verify(entry: dict[str, object]) -> None:
    pact, data, base = read_pact(entry), load(str(entry["data"])), open_base(entry)
    if "original" not in entry:
        verdict = netpact.verify(pact, data, base=base)
        assert verdict.agreed, verdict.reasons
        return
    # The compressed network's part is checked as a certificate of its own is, so its errors are counted once here.
    part, own = compressed_part(pact), pact.certificate
    assert own is not None
    bound = risk_bound(errors=part.errors, samples=part.samples, code_bits=part.code_bits, delta=own.delta)
    same = ("errors", "near_ties", "samples", "code_bits", "message_sha256", "data_fingerprint")
    assert all(getattr(own, name) == getattr(part, name) for name in same)
    assert own.bound == bound
    weights = netpact.load_model(ROOT / "records" / str(entry["original"]))
    fresh = load(str(entry["unlabelled"])).test
    second = netpact.verify_original(pact, weights, replace(data, test=None), fresh, base=base)
    assert second.agreed, second.reasons


@EVERY_PICK
def test_the_index_says_what_a_selection_says(entry: dict[str, object]) -> None:
    stated = netpact.Picked.read(ROOT / "records" / str(entry["file"])).certificate
    assert stated is not None
    assert stated.data_name == entry["data"]
    told = {**stated.to_json(), "test_error": stated.test_error}
    names = ("bound", "picked", "errors", "samples", "message_bytes", "test_error")
    assert {name: told[name] for name in names} == {name: entry[name] for name in names}
    assert stated.test_error is not None
    assert stated.test_error <= stated.bound


@EVERY_PICK
def test_selections_verify(entry: dict[str, object]) -> None:
    base = ROOT / "records" / str(entry["base"]) if "base" in entry else None
    verdict = netpact.verify_picked(ROOT / "records" / str(entry["file"]), load(str(entry["data"])), base=base)
    assert verdict.agreed, verdict.reasons


@pytest.mark.parametrize(
    "entry", [entry for entry in ENTRIES if "package" in entry], ids=lambda entry: str(entry["file"])
)
def test_a_base_from_a_package(entry: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """The base is not here, and to verify takes long: all but the count of errors is checked."""
    monkeypatch.syspath_prepend(ROOT / "records")
    pact, make = read_pact(entry), as_model(entry["model"])
    stated = compressed_part(pact)
    assert callable(make)
    assert stated.module == entry["model"]
    assert stated.module_sha256 == hash_source(make, make())
    assert stated.message_sha256 == pact.message_sha256
    assert stated.bound == netpact.risk_bound(
        errors=stated.errors, samples=stated.samples, code_bits=pact.code_bits, delta=stated.delta
    )
    forms = {name: tensor.form.name for name, tensor in pact.decode(make()).tensors.items()}
    assert {name for name, form in forms.items() if form != "relative"} == {"head.weight", "head.bias"}
    assert stated.base_name in str(entry["package"])


BASED = [entry for entry in PACTS if "base" in entry]


@pytest.mark.parametrize("entry", BASED, ids=lambda entry: str(entry["file"]))
def test_a_base_from_other_data_says_which(entry: dict[str, object]) -> None:
    base = open_base(entry)
    assert base is not None
    stated = compressed_part(read_pact(entry))
    assert base.data_fingerprint
    assert (base.data_fingerprint == stated.data_fingerprint) == (stated.prior == "data-dependent")
    if stated.prior == "transfer":
        assert base.data_fingerprint == stated.base_data_fingerprint


def test_the_fonts_are_named_by_version() -> None:
    lines = (ROOT / "records" / "pen_fonts.txt").read_text().splitlines()
    assert lines == sorted(set(lines))
    assert all(re.fullmatch(r"@fontsource/[a-z-]+@\d+\.\d+\.\d+", line) for line in lines)


def test_generated_digits_are_placed_as_mnist_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longer side of the inked box has 20 pixels, and the centre of mass is the middle of 28 x 28."""
    monkeypatch.syspath_prepend(ROOT / "records")
    pen_digits = importlib.import_module("pen_digits")
    ink = torch.zeros(2, 64, 64)
    ink[0, 5:45, 20:30] = 1.0  # 40 x 10, far from the middle
    ink[1, 30:36, 2:62] = 1.0  # 6 x 60
    placed = pen_digits.place(ink)
    assert (placed.dtype, placed.shape) == (torch.uint8, (2, 28, 28))
    for image, height, width in zip(placed.double(), (20, 2), (5, 20), strict=True):
        for axis, side in ((0, height), (1, width)):
            profile = image.sum(1 - axis)
            assert float(profile.sum() / profile.max()) == pytest.approx(side, abs=0.6)
            assert float((profile * torch.arange(28)).sum() / profile.sum()) == pytest.approx(13.5, abs=0.3)


def load(name: str) -> Data:
    stored = name.partition(":")[0]
    if stored != "digits" and not any((folder / f"{stored}.npz").is_file() for folder in data_folders()):
        pytest.skip(f"needs {stored}.npz")
    return netpact.load_data(name)


def open_base(entry: dict[str, object]) -> Base | None:
    return netpact.open_base(ROOT / "records" / str(entry["base"])) if "base" in entry else None


def test_the_two_tables(tmp_path: Path) -> None:
    plain = {
        **dict.fromkeys(KEYS, ""),
        "setting": "one",
        "bound": 0.0421,
        "errors": 1,
        "samples": 40,
        "test_error": 0.5,
    }
    other = {**plain, "setting": "two", "test_error": None, "base": "b.pact", "hold_out": 0.01105}
    assert not is_for_the_record(plain)
    assert "For the record" not in render_records([plain])
    page = render_records([other, plain])
    above, below = page.split("## For the record")
    assert "| one | **4.21 %** |" in above
    assert "| two |" not in above
    assert "same searches" not in page
    strange = {**plain, "setting": "three", "untuned": "mnist"}
    assert "on other data" in render_records([plain, strange]).split("| three |")[0]
    repeated, earlier = {**plain, "runs": [0.05, 0.0421, 0.06]}, {**plain, "setting": "four", "former": "2026-01-01"}
    page = render_records([repeated, earlier])
    assert "| one | 5.00 % | 4.21 % | 1, 2, 3 | 5.00 %, 4.21 %, 6.00 % |" in page.split("## Other seeds")[1]
    assert "| one | 5.00 % | 4.21 % | 0, 4, 5 | 5.0" in render_records([{**repeated, "seeds": [0, 4, 5]}])
    assert "| three | 5.00 % |" in render_records([{**strange, "runs": [0.05]}]).split("## Former records")[0]
    with pytest.raises(netpact.PactError, match="one seed for each"):
        render_records([{**repeated, "seeds": [0, 4, 4]}])
    assert "| four | **4.21 %** |" not in page.split("## Former records")[0]
    assert page.split("## Former records")[1].split("| four |")[1].splitlines()[0].endswith("| 2026-01-01 |")
    assert "| two | **4.21 %** | none known | 1.11 % | - |" in below
    assert "| - |  | `` | `b.pact` |" in below
    for index in ([{**plain, "rating": 5}], [{key: plain[key] for key in KEYS[:-1]}]):
        (tmp_path / "index.json").write_text(json.dumps(index))
        with pytest.raises(netpact.PactError, match="the keys are not those of this record"):
            read_index(tmp_path)
    (tmp_path / "index.json").write_text(json.dumps([plain, other]))
    assert read_index(tmp_path) == [plain, other]


def test_the_file_is_of_the_best_seed() -> None:
    for entry in ENTRIES:
        if "runs" in entry:
            runs = runs_by_seed(entry)
            assert entry["bound"] == min(runs.values()) == runs[int(str(entry["seed"]))]
