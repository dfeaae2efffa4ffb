"""What is kept when a command is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path


class WorkInterruptedError(Exception):
    """Ctrl-C in the middle of work of which something is kept; the text says what."""


@contextmanager
def keeping(tell_kept: Callable[[], str]) -> Iterator[None]:
    """Around work that keeps what is finished.

    tell_kept  asked when the interrupt comes what that is; "" if nothing
    """
    try:
        yield
    except KeyboardInterrupt:
        kept = tell_kept()
        if not kept:
            raise
        raise WorkInterruptedError(f"interrupted; {kept}") from None


def results_in(folder: Path) -> Callable[[], str]:
    """For commands with a store of results."""

    def tell() -> str:
        found = any((folder / "run").glob("*.json"))
        return f"finished results are kept in {folder}; the same command resumes there" if found else ""

    return tell


def shards_in(folder: Path | None) -> Callable[[], str]:
    """For commands that go through samples; None where nothing is kept."""

    def tell() -> str:
        found = folder is not None and any(folder.glob("*.json"))
        return f"what is finished is kept in {folder}; the same command goes on from there" if found else ""

    return tell


def checkpoint_in(file: Path | None) -> Callable[[], str]:
    def tell() -> str:
        if file is None or not file.is_file():
            return ""
        return f"finished epochs are kept in {file}; the same command resumes from there"

    return tell


def keep_in(folder: Path | None) -> AbstractContextManager[None]:
    """Around work that keeps its results in a folder, where one is given."""
    return nullcontext() if folder is None else keeping(results_in(folder))
