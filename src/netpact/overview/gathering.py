"""gather: read files and folders; the page that compares what is in them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from netpact.core.errors import PactError
from netpact.core.files import read_bytes
from netpact.core.json import decode_json
from netpact.core.progress import Progress
from netpact.core.version import __version__
from netpact.overview.found import Found
from netpact.overview.pact_files import Beside, read_pact_file
from netpact.overview.results import is_result, read_result
from netpact.overview.training import is_monitor, read_monitor
from netpact.reports.charts.figure import Figure
from netpact.reports.frame import Panel, Section, frame_facts, frame_page, list_sections
from netpact.reports.page import compare_sections, head_rows, tell_guarantees
from netpact.reports.rows import Row, find_best
from netpact.reports.text import escape

_ENDINGS = (".pact", ".json", ".jsonl")
_LARGEST = 64_000_000  # bytes of a file of results
_MOST_FILES = 500
_MOST_BITS = 12  # files whose bits are drawn layer by layer
_PASSED_OVER = "run"  # the folder of a result store


@dataclass(frozen=True)
class Overview:
    """rows: of all files; sections: what else they hold; files: that were read."""

    rows: tuple[Row, ...]
    sections: tuple[Section, ...]
    files: tuple[str, ...]
    command: str = ""

    def groups(self) -> list[tuple[str, list[Row]]]:
        """Rows with the same training samples and classes, under the name of their data."""
        found: dict[tuple[str, int], list[Row]] = {}
        for row in self.rows:
            found.setdefault((row.data_fingerprint, row.classes), []).append(row)
        return [(rows[0].data_name or "no certificate", rows) for rows in found.values()]

    def all_sections(self) -> list[Section]:
        groups = self.groups()
        many = len(groups) > 1
        found: list[Section] = []
        for place, (name, rows) in enumerate(groups, 1):
            key = f"-{place}" if many else ""
            sections = compare_sections(rows, key=key, about=name if many else "")
            found += [Section(one.key, one.heading, one.parts, f"g{place}-" if many else "") for one in sections]
        return [*found, *self.sections]

    def figures(self, width: int = 900) -> list[Figure]:
        return [panel.draw(width) for section in self.all_sections() for panel in section.panels()]

    def to_json(self) -> dict[str, object]:
        rows = [row.to_json() for row in self.rows]
        return {"rows": rows, "files": list(self.files), "version": __version__, "command": self.command}

    def render(self, *, title: str = "netpact report") -> str:
        """The whole page as text."""
        sections = self.all_sections()
        proven = any(find_best(rows) is not None for _, rows in self.groups())
        listed = "<br>".join(f"<code>{escape(file)}</code>" for file in self.files)
        made = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
        facts = [("netpact", escape(__version__)), ("made", made), ("files", listed)]
        facts += [("command", f"<code>{escape(self.command)}</code>")] if self.command else []
        body = [
            f"<h1>{escape(title)}</h1>",
            *(_answer(name, rows) for name, rows in self.groups()),
            list_sections(sections),
            *(section.to_html() for section in sections),
            tell_guarantees() if proven else "",
            frame_facts(facts),
        ]
        return frame_page("\n".join(body), title=title, version=__version__)


def _answer(name: str, rows: Sequence[Row]) -> str:
    best = find_best(rows)
    sentence = "" if best is None else best.sentence or f"{best.name}: the words of the certificate are in its file."
    fingerprint = "" if best is None else best.data_fingerprint
    return head_rows(rows, sentence=sentence, data_name=name, fingerprint=fingerprint)


def gather(
    paths: Iterable[str | Path], beside: Beside | None = None, *, command: str = "", progress: Progress | None = None
) -> Overview:
    """Read .pact files, results as JSON, files of a Monitor, and folders of these.

    A file that is named must be of a kind that is known; in a folder, what is not is passed over.
    """
    files = [(file, named) for path in paths for file, named in _files(Path(path))]
    if not files:
        raise PactError("no files to report on", where="report", hint="give .pact files, results as JSON, or folders")
    rows: list[Row] = []
    sections: list[Section] = []
    bits: list[Panel] = []
    read: list[str] = []
    for place, (file, named) in enumerate(files, 1):
        found = _read(file, beside or Beside(), key=f"f{place}", named=named)
        if found is not None:
            rows, sections = _join(rows, found.rows), [*sections, *found.sections]
            bits += found.bits
            read.append(str(file))
        if progress is not None:
            progress(place, len(files))
    if not read:
        raise PactError(
            "the folders hold nothing that a report shows", where=", ".join(str(file) for file, _ in files[:3])
        )
    if bits:
        sections.insert(0, Section("bits", "Where the bits go", tuple(bits[:_MOST_BITS])))
    return Overview(tuple(rows), tuple(sections), tuple(read), command)


def _files(path: Path) -> Iterator[tuple[Path, bool]]:
    """Files, and whether they were named; a folder's in the order of their names."""
    if not os.path.isdir(path):
        yield path, True
        return
    found = [
        Path(folder) / name
        for folder, inner, names in os.walk(path)
        if inner.sort() is None and _PASSED_OVER not in Path(folder).relative_to(path).parts
        for name in sorted(names)
        if name.endswith(_ENDINGS)
    ]
    if len(found) > _MOST_FILES:
        raise PactError(f"{len(found):,} files; at most {_MOST_FILES} fit on a page", where=str(path))
    yield from ((file, False) for file in found)


def _read(file: Path, beside: Beside, *, key: str, named: bool) -> Found | None:
    if file.suffix == ".pact":
        return read_pact_file(file, beside, key)
    if file.is_file() and file.stat().st_size > _LARGEST:
        raise PactError(f"larger than {_LARGEST:,} bytes", where=str(file))
    content = read_bytes(file)
    if is_monitor(content):
        return read_monitor(content, file, key)
    try:
        value = decode_json(content, where=str(file))
    except PactError:
        if named:
            raise
        return None
    return read_result(value, where=str(file), key=key) if named or is_result(value) else None


def _join(rows: Sequence[Row], more: Iterable[Row]) -> list[Row]:
    """A message that is there already is not shown twice: what the file itself states goes first."""
    known = {row.message_sha256 for row in rows if row.message_sha256}
    return [*rows, *(row for row in more if row.message_sha256 not in known)]
