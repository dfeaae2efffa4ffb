from __future__ import annotations

import io

import pytest
from reports.report_examples import HOSTILE, ORIGINAL, ROWS, compressed
from rich.console import Console

from netpact.core.errors import PactError
from netpact.core.percent import percent_up
from netpact.reports import Row, table


def render(rows: list[Row], *, colour: bool = False, title: str = "Digits", width: int = 80) -> str:
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=colour, color_system="standard" if colour else None, legacy_windows=False
    )
    console.print(table(rows, title=title))
    return out.getvalue()


def line_of(text: str, name: str) -> str:
    return next(line for line in text.splitlines() if name in line)


def test_realistic_rows_fit_80_columns_uncut() -> None:
    text = render(ROWS)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" not in text
    for row in ROWS:
        line = line_of(text, f" {row.name} ")
        assert f"{row.message_bytes:,}" in line
        assert f"{row.parameters:,}" in line
    for heading in ("network", "parameters", "bytes", "train", "test", "certified", "bound"):
        assert heading in text


def test_long_names_and_huge_numbers_wrap_only_the_name() -> None:
    name = "low rank 8 with Huffman coded residual and rate-aware fine-tuning"
    row = compressed(name, parameters=1_234_567_890, message_bytes=4_938_271_560, bound=1.0)
    text = render([row])
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" not in text
    assert "1,234,567,890" in text
    assert "4,938,271,560" in text
    assert "100.0 %" in text
    assert "vacuous" in text
    assert all(word in text for word in ("Huffman", "residual", "rate-aware"))


@pytest.mark.parametrize("width", [60, 50])
def test_a_narrow_screen_shows_the_bound_uncut(width: int) -> None:
    lines = render(ROWS, width=width).splitlines()
    assert all(len(line) <= width for line in lines)
    for row in ROWS:
        if row.proven is not None:
            line = line_of("\n".join(lines), f" {row.name[:6]}")
            assert percent_up(row.proven) in line[:26]
    assert lines[2].split()[0] == "certified"


def test_bounds_round_up_and_errors_to_the_nearest() -> None:
    line = line_of(render([compressed("x", bound=0.41201, train_error=0.0804, test_error=0.1006)]), "x")
    assert "96.1 % vacuous" in render([compressed("x", bound=0.96001)])
    assert line.split() == ["x", "41.3", "%", "10.1", "%", "8.0", "%", "2,300", "6,986"]


def test_what_is_missing_is_said() -> None:
    assert line_of(render([ORIGINAL]), "mlp ").split()[1] == "none"
    assert line_of(render([compressed("x", test_error=None)]), "x ").split()[3] == "none"
    assert line_of(render([compressed("x", agreed=False)]), "x ").split()[1] == "refused"


def test_a_bound_no_better_than_guessing_is_marked() -> None:
    text = render(ROWS)
    assert line_of(text, "ternary ").split()[1:4] == ["96.0", "%", "vacuous"]
    assert "vacuous" not in line_of(text, "linear ternary search")


def test_only_the_best_row_is_bold() -> None:
    body = render(ROWS, colour=True).split("─ ")[-1].splitlines()
    assert [("linear ternary search" in line) for line in body if "\x1b[1m" in line] == [True]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_drive_neither_rich_nor_the_terminal(name: str) -> None:
    text = render([compressed(name)], title=name)
    assert "\x1b" not in text
    assert "\x07" not in text
    text.encode("utf-8")


def test_square_brackets_are_kept() -> None:
    assert "[red]x[/red]" in render([compressed("[red]x[/red]")])


def test_no_rows_is_refused() -> None:
    with pytest.raises(PactError, match="at least one row"):
        table([], title="x")
