"""The report in a real browser: no errors, nothing overflows, sorting, definitions, figures as files, contrast."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.chromium import open_browser, show
from reports.report_examples import HOSTILE, ORIGINAL, PROVENANCE, compressed

from netpact.comparisons import LeftOut, recommend
from netpact.comparisons.page import show_advice, show_left_out
from netpact.reports import render_page
from netpact.reports.bound_page import bound_parts
from netpact.reports.bound_rows import BoundRow
from netpact.reports.charts.distributions import Spread, draw_distributions
from netpact.reports.frame import Panel, Section

METHODS = ("quantize", "truncated-svd", "cp", "tucker", "random-projection", "magnitude-prune")
# Every text that is seen, with the colour of what it stands on: its own or that of the first ancestor that has one.
CONTRASTS = r"""
const light = c => { const v = c.match(/[\d.]+/g).slice(0, 3).map(n => n / 255)
  .map(n => n <= .03928 ? n / 12.92 : ((n + .055) / 1.055) ** 2.4); return .2126*v[0] + .7152*v[1] + .0722*v[2]; };
const clear = c => c === 'transparent' || /, 0\)$/.test(c);
const ground = e => { for (; e; e = e.parentElement) {
  if (e.tagName === 'svg') { return getComputedStyle(e.querySelector('.ground')).fill; }
  const c = getComputedStyle(e).backgroundColor; if (!clear(c)) return c; } return 'rgb(255, 255, 255)'; };
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
for (let n = walk.nextNode(); n; n = walk.nextNode()) {
  const e = n.parentElement;
  if (!n.textContent.trim() || !e.getClientRects().length || ['SCRIPT', 'STYLE'].includes(e.tagName)) continue;
  if (['title', 'desc'].includes(e.tagName)) continue;
  const s = getComputedStyle(e), ink = light(e.closest('svg') ? s.fill : s.color), paper = light(ground(e));
  found.push([(Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05), n.textContent.trim().slice(0, 40)]);
}
return found;
"""


def big_page() -> str:
    """A network of 16 layers, six quantities of each, and six methods at four sizes."""
    rows = [ORIGINAL]
    for place, method in enumerate(METHODS):
        for step in range(4):
            facts = {"samples": 1437, "delta": 0.05, "train_error": 29 / 1437, "code_bits": 400 + 900 * step}
            known = {"fidelity": 0.9, "deviation": 2.5 + step, "deviation_samples": 100, "flops": 10**6}
            speed = {"samples_per_second": 1000.0 * (place + 1), "estimates": {"arora-4.1": 3.2, "li-e.6": 1.4}}
            changes = {"method": method, "message_bytes": 60 + 110 * step + place, "bound": 0.4 + 0.1 * step}
            rows.append(compressed(f"{method} {step}", **facts, **known, **speed, **changes))
    rows.append(compressed(HOSTILE[1], method="x" * 200, as_run=True))
    measured = {"bound": None, "agreed": None, "expected_bound": 0.97, "counted": 2000}
    rows.append(compressed("expected", **measured))
    generator = np.random.default_rng(0)
    layers = [Spread(f"block{place}.conv", generator.lognormal(size=2_000), 0.01) for place in range(16)]

    def panel(name: str) -> Panel:
        return Panel(
            name,
            "Larger is better.",
            lambda width: draw_distributions(layers, name=name, title=name, axis_title=name, width=width),
        )

    facts_of_bounds = {"assumptions": ("i.i.d.",), "ignored": ("logs",), "samples": 1437, "theorem": "Theorem"}
    bounds = [BoundRow(name=f"bound {n}", kind="estimate", value=2.0, log10=n, **facts_of_bounds) for n in range(1, 20)]  # type: ignore[arg-type]
    sections = [
        Section("measured", "Measured", tuple(panel(name) for name in ("mu", "c", "rho", "beta", "gamma", "zeta"))),
        Section("bounds", "Bounds", bound_parts(bounds, samples=1437)),
    ]
    advice = recommend(rows, tolerance=0.01)
    lead = Section("advice", "Recommended", (show_advice(advice),))
    sections.append(show_left_out([LeftOut("vector-compress", "a long reason " * 20), LeftOut(HOSTILE[0], HOSTILE[1])]))
    return render_page(rows, sentence="S", provenance=PROVENANCE, title="A large report", sections=sections, lead=lead)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(big_page())
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with open_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def test_sixteen_layers_and_six_methods_take_less_than_three_megabytes(page: Path) -> None:
    assert page.stat().st_size < 3_000_000


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1440])
def test_nothing_overflows_nothing_is_logged_and_all_text_has_contrast(
    browser: Any, page: Path, width: int, dark: bool
) -> None:
    show(browser, page, width=width, dark=dark)
    browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert [entry for entry in browser.get_log("browser") if entry["level"] != "INFO"] == []
    found = browser.execute_script(CONTRASTS)
    assert len(found) > 300
    assert [one for one in found if one[0] < 4.5] == []


def test_the_policy_stops_what_a_page_must_not_do(browser: Any, page: Path) -> None:
    show(browser, page)
    tried = "const i = new Image(); i.onload = () => done('loaded'); i.onerror = () => done('stopped');"
    browser.set_script_timeout(10)
    script = f"const done = arguments[0]; {tried} i.src = 'file:///nowhere.png'"
    assert browser.execute_async_script(script) == "stopped"
    assert any("Content Security Policy" in entry["message"] for entry in browser.get_log("browser"))


def test_the_head_of_a_long_table_stays_while_it_scrolls(browser: Any, page: Path) -> None:
    show(browser, page)
    table = browser.find_element("css selector", ".scroll.tall")
    place = "return arguments[0].querySelector('thead').getBoundingClientRect().top"
    browser.execute_script("arguments[0].scrollIntoView()", table)
    before = browser.execute_script(place, table)
    browser.execute_script("arguments[0].scrollTop = 400", table)
    assert browser.execute_script("return arguments[0].scrollTop", table) == 400
    assert abs(browser.execute_script(place, table) - before) < 2


def test_a_click_sorts_and_a_second_one_turns_around(browser: Any, page: Path) -> None:
    show(browser, page)
    heads = browser.find_elements("css selector", "table.comparison thead tr:last-child th")
    place = [head.text.split()[0] for head in heads].index("bytes")
    column = (
        f"return [...document.querySelectorAll('table.comparison tbody tr')].map(r => r.cells[{place}].textContent)"
    )
    for side in ("ascending", "descending"):
        heads[place].find_element("css selector", "button").click()
        numbers = [int(text.replace(",", "")) for text in browser.execute_script(column)]
        assert numbers == sorted(numbers, reverse=side == "descending")
        assert heads[place].get_attribute("aria-sort") == side
    assert [head.get_attribute("aria-sort") for head in heads].count("none") == len(heads) - 1


@pytest.mark.parametrize("way", ["mouse", "keyboard", "touch"])
def test_definitions_are_shown(browser: Any, page: Path, way: str) -> None:
    show(browser, page, width=360 if way == "touch" else 1440, touch=way == "touch")
    term = browser.find_element("css selector", "a.term[href='#def-certificate']")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", term)
    time.sleep(0.2)  # scrolling hides a definition
    box = browser.execute_script("const b = arguments[0].getBoundingClientRect(); return [b.x + 4, b.y + 4]", term)
    spot = {"x": box[0], "y": box[1]}
    if way == "mouse":
        browser.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", **spot})
    elif way == "keyboard":
        browser.execute_script("arguments[0].focus()", term)
    else:
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [spot]})
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    time.sleep(0.2)
    tip = browser.find_element("id", "tip")
    assert "Langford 2005; Arora et al. 2018, Theorem 2.1" in tip.text
    left, right = browser.execute_script(
        "const b = arguments[0].getBoundingClientRect(); return [b.left, b.right]", tip
    )
    assert left >= 0
    assert right <= (360 if way == "touch" else 1440)
    assert "#def" not in browser.current_url
    browser.execute_script("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    assert not tip.is_displayed()


def test_figures_are_saved_in_four_formats(browser: Any, page: Path, tmp_path: Path) -> None:
    show(browser, page)
    allowed = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", allowed)
    for button in browser.find_elements("css selector", "#parts .tools button"):
        browser.execute_script("arguments[0].click()", button)
        time.sleep(0.2)
    wanted = {f"bound-parts.{ending}" for ending in ("svg", "png", "csv", "json")}
    for _ in range(50):
        if {path.name for path in tmp_path.iterdir()} == wanted:
            break
        time.sleep(0.1)
    assert {path.name for path in tmp_path.iterdir()} == wanted
    rows = json.loads((tmp_path / "bound-parts.json").read_text())
    assert rows[0]["bound"] == 0.4
    assert rows[0]["train_error"] == 29 / 1437, "not rounded"
    assert (tmp_path / "bound-parts.csv").read_text().startswith("network,train_error,delta,bits,bound\n")
    assert (tmp_path / "bound-parts.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "bound-parts.svg").read_text().startswith("<svg")


def test_the_reader_chooses_light_or_dark_and_paper_is_light(browser: Any, page: Path) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    show(browser, page)
    assert browser.execute_script(ground) == "rgb(255, 255, 255)"
    browser.find_element("css selector", "button.theme").click()
    assert browser.execute_script(ground) == "rgb(15, 20, 25)"
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.execute_script(ground) == "rgb(255, 255, 255)"
