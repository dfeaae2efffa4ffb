"""netpact report: what it reads, what it refuses, and that nothing from a file becomes markup or a certificate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reports.report_examples import HOSTILE, ORIGINAL, compressed
from reports.test_report_page import Outline

from netpact.certificates import risk_bound
from netpact.cli.app import run
from netpact.core.errors import PactError
from netpact.overview import gather
from netpact.reports.row_reading import read_row

RECORDS = Path(__file__).parents[2] / "records"


def row(name: str = "x", **changes: object) -> dict[str, Any]:
    bound = risk_bound(errors=20, samples=1000, code_bits=400, delta=0.05)
    facts = {"train_error": 0.02, "bound": bound, "code_bits": 400, "samples": 1000, "delta": 0.05}
    return {**compressed(name, **facts).to_json(), **changes}


def finding(words: str) -> dict[str, object]:
    numbers = {"numbers": [1.0, None], "published": 2.0}
    return {"claim": words, "rule": words, "verdict": words, **numbers}


def tags(page: str) -> list[str]:
    """Without ticks and their numbers, of which a longer name leaves room for fewer."""
    return [tag for tag in Outline(page).tags if tag not in ("line", "text")]


def page_of(tmp_path: Path, content: object) -> str:
    (tmp_path / "a.json").write_text(json.dumps(content))
    return gather([tmp_path / "a.json"]).render()


def test_files_of_other_data_are_compared_apart_and_checked_by_nobody_without_data() -> None:
    found = gather([RECORDS / "digits.pact", RECORDS / "mnist.pact"])
    assert [name for name, _ in found.groups()] == ["digits", "mnist"]
    text = Outline(found.render()).text
    assert text.count("as the file states; not checked here") == 2
    assert "verified for this page" not in text


def test_with_data_the_command_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.html"
    assert run(["report", str(RECORDS / "digits.pact"), "--data", "digits", "--out", str(out), "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)["rows"]
    assert shown["agreed"] is True
    assert "verified for this page" in out.read_text()


def test_a_row_s_word_about_its_own_verification_counts_for_nothing() -> None:
    assert read_row(row(agreed=True, sentence="proven: 0 %"), where="r").agreed is None
    assert read_row(row(agreed=True, sentence="proven: 0 %"), where="r").sentence == ""
    assert read_row(row(agreed=False), where="r").agreed is False
    with pytest.raises(PactError, match="its own numbers give"):
        read_row(row(bound=0.03), where="r")
    assert read_row(row(samples=None), where="r").bound is None, "nobody could recompute it"


def test_a_certificate_in_a_list_of_bounds_is_none_on_the_page(tmp_path: Path) -> None:
    one = {"name": "mine", "kind": "certificate", "log10": 1.0, "value": 0.01, "theorem": "t", "samples": 10}
    assert "stated, not checked" in page_of(tmp_path, [one])


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_of_any_kind_of_file_stays_text(tmp_path: Path, name: str) -> None:
    def pages(words: str) -> list[str]:
        bound = {"kind": "estimate", "log10": 1.0, "value": 2.0, "samples": 10, "assumptions": [words]}
        trial = {"name": words, "bits": 9, "score": 0.5}
        contents: list[object] = [
            [ORIGINAL.to_json(), row(words, method=words, setting=words, file=words, data_name=words)],
            [{**bound, "name": words, "theorem": words, "about": words, "ignored": [words]}],
            {"experiment": words, "note": words, "findings": [finding(words)]},
            {"ledger": [trial], "rounds": 1},
        ]
        return [page_of(tmp_path, content) for content in contents]

    for hostile, harmless in zip(pages(name), pages("harmless"), strict=True):
        assert tags(hostile) == tags(harmless)
        ids = [value for key, value in Outline(hostile).attributes if key == "id"]
        assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    "content", [{}, [], 3, {"rows": []}, [row(parameters="<b>")], {"experiment": "e", "findings": [{}]}]
)
def test_what_is_no_result_is_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(PactError):
        page_of(tmp_path, content)


def test_a_folder_passes_over_what_it_does_not_know(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(PactError, match="nothing that a report shows"):
        gather([tmp_path])
    (tmp_path / "rows.json").write_text(json.dumps([row()]))
    assert [Path(file).name for file in gather([tmp_path]).files] == ["rows.json"]
