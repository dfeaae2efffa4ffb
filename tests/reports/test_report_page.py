from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from reports.report_examples import HOSTILE, ORIGINAL, PROVENANCE, ROWS, compressed

from netpact.core.errors import PactError
from netpact.reports import Row, render_page

SENTENCE = "With probability at least 95 % the network errs on at most 41.0 % of new samples."
VOID = {"meta", "br"}
FIXED = {"table", "plane", "guarantees", "definitions"}


class Outline(HTMLParser):
    """Tags in order, checked to be balanced, and the text outside the style sheets."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def render(rows: Sequence[Row] = ROWS, *, sentence: str = SENTENCE, title: str = "mlp on digits") -> str:
    return render_page(rows, sentence=sentence, provenance=PROVENANCE, title=title)


def test_the_page_is_whole_and_loads_nothing() -> None:
    page = render()
    outline = Outline(page)
    assert page.startswith("<!DOCTYPE html>")
    assert not {"link", "img", "iframe", "object"} & set(outline.tags)
    assert outline.tags.count("script") == outline.tags.count("style") == 1
    assert not {"src", "style", "onload", "onerror", "onclick"} & {name for name, _ in outline.attributes}
    assert all(value is not None and value.startswith("#") for name, value in outline.attributes if name == "href")
    assert "url(" not in page
    assert "@import" not in page
    assert set(re.findall(r"https?://[^\"' ]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "prefers-color-scheme: dark" in page


def test_only_the_page_s_own_style_and_script_may_run_and_nothing_may_be_loaded() -> None:
    page = render()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    assert set(rules) == {"default-src", "style-src", "script-src", "img-src", "base-uri", "form-action"}
    for tag in ("style", "script"):
        text = page.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{digest}'"


def test_ids_are_unique() -> None:
    ids = [value for name, value in Outline(render()).attributes if name == "id"]
    assert set(ids) >= FIXED
    assert len(set(ids)) == len(ids)


def test_every_link_within_the_page_leads_somewhere() -> None:
    outline = Outline(render())
    ids = {value for name, value in outline.attributes if name == "id"}
    links = {value for name, value in outline.attributes if name == "href" and value is not None}
    assert links
    assert {link.removeprefix("#") for link in links} <= ids


def test_every_row_is_in_the_table() -> None:
    table = render().split('<table class="comparison sortable">')[1].split("</table>")[0]
    lines = [line for line in table.splitlines() if '<th scope="row"' in line]
    assert len(lines) == len(ROWS)
    for row, line in zip(ROWS, lines, strict=True):
        assert row.name in line
        assert f'<td data-sort="{row.message_bytes}">{row.message_bytes:,}</td>' in line
        assert line.startswith('<tr class="best">') == (row.name == "linear ternary search")
        assert ("vacuous" in line) == row.vacuous


def test_numbers_line_up() -> None:
    page = render()
    assert re.search(r"th, td {[^}]*text-align: right", page)
    assert re.search(r"table {[^}]*tabular-nums", page)


def test_bounds_round_up_on_the_page() -> None:
    page = render([ORIGINAL, compressed("x", bound=0.41201)])
    assert '<span class="is-certificate">◆ 41.3 %</span>' in page
    assert "41.2 %" not in page


def test_what_is_guaranteed_and_what_is_not() -> None:
    text = Outline(render()).text
    for words in (
        SENTENCE,
        "the network in its file and about new samples from the same distribution",
        "Each row holds separately, with probability at least 95 %",
        "it is no part of the bound",
        "Nothing is claimed about the original network",
        "1,437 samples",
    ):
        assert words in text


def test_the_headline_does_not_say_more_than_is_proven() -> None:
    assert "Proven linear" not in Outline(render([ORIGINAL])).text
    plain = Outline(render()).text
    assert "Proven; verified for this page With probability" in plain
    unchecked = Outline(render([compressed("x", agreed=None)])).text
    assert "Proven, as the file states; not checked here With probability" in unchecked
    weak = Outline(render([compressed("x", bound=0.95)])).text
    assert "Proven, but vacuous" in weak
    for rows in ([ORIGINAL], [ORIGINAL, compressed("x", agreed=False)]):
        nothing = Outline(render(rows)).text
        assert "Nothing is proven here" in nothing
        assert SENTENCE not in nothing


def test_the_command_to_check_names_the_best_file_quoted_for_a_shell() -> None:
    assert "netpact verify 'linear ternary search.pact' --data digits" in Outline(render()).text
    assert "netpact verify FILE --data digits" in Outline(render([compressed("x", file=None)])).text


def test_provenance_is_on_the_page() -> None:
    text = Outline(render()).text.split("no part of the bound")[1]
    for words in ("0.1.0", "sha256:3f9a51", "netpact compare --data digits", "2025-01-02 03:04 UTC", "seed 7"):
        assert words in text


def test_the_outcome_of_checking_is_shown() -> None:
    for agreed, words in ((True, "agreed"), (False, "refused"), (None, "not tried")):
        assert f'<td data-sort="{words}">{words}</td>' in render([compressed("x", agreed=agreed)])


def test_the_bound_stands_next_to_the_name() -> None:
    """What a phone shows without scrolling."""
    head = re.findall(r'<th scope="col">(.*?)</th>', render())
    assert head[:2] == ["network", "bound"]
    assert re.search(r'search.*?</th><td data-sort="0.41"><span class="is-certificate">◆ 41.0 %', render())


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_stays_text_everywhere(name: str) -> None:
    rows = [ORIGINAL, compressed(name, method=f"{name}!", file=name)]
    provenance = replace(PROVENANCE, version=name, data_name=name, data_fingerprint=name, command=name, created=name)
    page = render_page(rows, sentence=name, provenance=provenance, title=name)
    harmless = render_page(
        [ORIGINAL, compressed("x", method="m", file="f")], sentence="s", provenance=PROVENANCE, title="t"
    )
    assert Outline(page).tags == Outline(harmless).tags
    assert page.replace("\n", "").isprintable()
    page.encode("utf-8")


def test_no_rows_is_refused() -> None:
    with pytest.raises(PactError, match="at least one row"):
        render([])
