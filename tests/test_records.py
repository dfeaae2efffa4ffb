"""The records: the page says what the index says, and every file whose data are here verifies."""

from __future__ import annotations

from pathlib import Path

import pytest

import netpact
from netpact.datasets.catalogue import data_folders
from netpact.reports.records import read_index, render_records

ROOT = Path(__file__).parents[1]
ENTRIES = read_index(ROOT / "records")


def test_the_page_is_made_from_the_index() -> None:
    assert (ROOT / "docs" / "records.md").read_text() == render_records(ENTRIES)


def test_every_file_is_in_the_index() -> None:
    assert {path.name for path in (ROOT / "records").glob("*.pact")} == {entry["file"] for entry in ENTRIES}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["file"]))
def test_the_index_says_what_the_file_says(entry: dict[str, object]) -> None:
    pact = netpact.Pact.read(ROOT / "records" / str(entry["file"]))
    assert pact.certificate is not None
    stated = pact.certificate.to_json()
    assert all(
        stated[key] == entry[key] for key in ("bound", "errors", "samples", "prior", "message_bytes", "test_error")
    )
    assert pact.certificate.data_name == entry["data"]
    assert pact.certificate.test_error is not None
    assert pact.certificate.test_error <= pact.certificate.bound


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["file"]))
def test_records_verify(entry: dict[str, object]) -> None:
    name = str(entry["data"])
    if name != "digits" and not any((folder / f"{name}.npz").is_file() for folder in data_folders()):
        pytest.skip(f"needs {name}.npz")
    data = netpact.load_data(name)
    verdict = netpact.verify(netpact.Pact.read(ROOT / "records" / str(entry["file"])), data)
    assert verdict.agreed, verdict.reasons
