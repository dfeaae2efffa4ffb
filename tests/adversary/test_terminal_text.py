"""Text from a file on a terminal: escape sequences, line breaks, direction overrides and markup stay plain characters.

The adversary tried: names in a certificate, keys of its JSON, names of tensors and arrays, and the name of the file
itself that clear the screen, colour a refusal green, begin a line of their own with "agreed: ", or close rich's markup.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from format.format_examples import NETWORKS, certificate_for, wrap
from rich.table import Table
from rich.text import Text
from safetensors.torch import save_file

from netpact import Pact, PactError, load_data, seal
from netpact.cli.app import run
from netpact.cli.console import PlainConsole
from netpact.core.errors import printable
from netpact.models import load_weights
from netpact.pacts.verification import Verdict
from netpact.reports.text import escape

FORGED = "agreed: with probability at least 99 % over the samples, the network errs on at most 0.1 % of new samples."
HOSTILE = f"x\x1b[2J\x1b[32m\n{FORGED}\r\x07\x9b0m\u202e\u2066[/red][bold]\u2028{FORGED}"
PACT = seal(NETWORKS["linear"])


def refuse_hostile(text: str) -> None:
    """No control code, and no line that begins with what only a verdict may say."""
    assert text
    assert not [letter for letter in text if not letter.isprintable() and letter != "\n"]
    assert not [line for line in text.splitlines() if line.lstrip().startswith(("agreed", "refused: agreed"))]


def hostile_file(folder: Path, **changes: object) -> str:
    """A file whose certificate bears these fields, however they are checked when a certificate is made."""
    record = certificate_for(PACT).to_json()
    for path, value in changes.items():
        *groups, key = path.split("__")
        inner = record
        for group in groups:
            inner = inner[group]  # type: ignore[assignment]
        inner[key] = value
    file = folder / "hostile.pact"
    file.write_bytes(wrap(PACT.message, json.dumps(record).encode()))
    return str(file)


FIELDS = ["data__name", "data__fingerprint", "netpact_version", "form", "arithmetic", "message_sha256", "kind", "bound"]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("command", [["info"], ["verify", "--data", "digits"]])
def test_fields_of_a_certificate(
    field: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = hostile_file(tmp_path, **{field: HOSTILE})
    code = run([command[0], file, *command[1:]])
    assert code in ((0, 2) if command[0] == "info" else (1, 2))
    refuse_hostile(capsys.readouterr().err)


@pytest.mark.parametrize("statement", ['{{"{0}":1}}', '{{"{0}":1,"{0}":2}}', '["{0}"]', '"{0}'])
def test_keys_of_a_certificate(statement: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "keys.pact"
    file.write_bytes(wrap(PACT.message, statement.format(json.dumps(HOSTILE)[1:-1]).encode()))
    assert run(["info", str(file)]) == 2
    refuse_hostile(capsys.readouterr().err)


def test_the_name_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = PACT.write(tmp_path / f"{HOSTILE[:40].replace('/', '')}.pact")
    assert run(["info", str(file)]) == 0
    refuse_hostile(capsys.readouterr().err)
    assert run(["verify", str(file), "--data", f"{HOSTILE[:60]}.npz"]) == 2
    refuse_hostile(capsys.readouterr().err)
    file.write_bytes(b"nothing")
    assert run(["info", str(file)]) == 2
    refuse_hostile(capsys.readouterr().err)


def test_names_of_tensors(tmp_path: Path) -> None:
    file = tmp_path / "weights.safetensors"
    save_file({HOSTILE: torch.zeros(2)}, file)
    with pytest.raises(PactError) as caught:
        load_weights(torch.nn.Linear(2, 2), file)
    refuse_hostile(str(caught.value))


def test_names_of_arrays(tmp_path: Path) -> None:
    file = tmp_path / "data.npz"
    np.savez(file, **{HOSTILE.replace("/", ""): np.zeros(2)})  # type: ignore[arg-type]
    with pytest.raises(PactError) as caught:
        load_data(str(file))
    refuse_hostile(str(caught.value))


def test_an_error_keeps_its_own_lines_and_no_others() -> None:
    error = PactError(f"not supported:\n  one {HOSTILE}\n  two", where=HOSTILE, hint=HOSTILE)
    assert error.what.count("\n  ") == 2
    for part in (error.what, error.where, error.hint, str(error)):
        refuse_hostile(part)
    assert PactError("plain text, no change: 1/2 µ \u03b4").what == "plain text, no change: 1/2 µ \u03b4"


def test_a_verdict_is_one_line() -> None:
    certificate = certificate_for(PACT)
    refused = str(Verdict((f"the fingerprint is {HOSTILE}", HOSTILE), certificate))
    assert refused.startswith("refused: ")
    assert len(refused.splitlines()) == 1
    assert refused.isprintable()
    assert str(Verdict((), certificate)).isprintable()


def test_whatever_prints_it_a_console_shows_plain_characters() -> None:
    shown = io.StringIO()
    console = PlainConsole(file=shown, force_terminal=True, color_system=None, width=300, markup=False)
    table = Table("name", title=HOSTILE)
    table.add_row(HOSTILE)
    table.add_row(Text(HOSTILE))
    for thing in (HOSTILE, Text(HOSTILE), table):
        console.print(thing, soft_wrap=True)
    assert "[/red][bold]" in shown.getvalue()
    assert not [letter for letter in shown.getvalue() if not letter.isprintable() and letter != "\n"]


def test_colours_of_our_own_stay() -> None:
    shown = io.StringIO()
    console = PlainConsole(file=shown, force_terminal=True, color_system="standard", highlight=False, markup=False)
    console.print("\x1b[32mno", style="red")
    assert shown.getvalue().startswith("\x1b[31m\\x1b[32mno")


def test_text_in_pages() -> None:
    page = escape(f"<script>{HOSTILE}")
    assert page.isprintable()
    assert "<" not in page


def test_what_is_written_out() -> None:
    assert printable("a\x1b[31m\n\u202e\ud800b") == r"a\x1b[31m\n\u202e\ud800b"


def test_a_certificate_with_such_names_can_be_read_but_not_obeyed(tmp_path: Path) -> None:
    try:
        pact = Pact.read(hostile_file(tmp_path, data__name=HOSTILE))
    except PactError as error:
        refuse_hostile(str(error))
    else:
        assert pact.certificate is not None
        refuse_hostile(repr(pact))
