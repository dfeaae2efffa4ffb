"""The one error class for bad input: what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable

_ALIKE = 0.6  # of 1: as difflib measures it; "mnst" and "mnist" are 0.89 alike


class PactError(Exception):
    """Bad input: data, options, a network or a file that netpact cannot work with.

    what   what is wrong, and what is allowed
    where  the layer, file, byte, sample or option it was found in
    hint   what to do about it
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        # All three may quote a hostile file. A list of problems has lines of its own, which begin with two spaces: text
        # from a file cannot begin a line.
        what = "\n  ".join(map(printable, what.split("\n  ")))
        where, hint = printable(where), printable(hint)
        self.what, self.where, self.hint = what, where, hint
        text = f"{where}: {what}" if where else what
        super().__init__(f"{text} ({hint})" if hint else text)

    def __reduce__(self) -> tuple[object, tuple[str, str, str]]:
        return _rebuild, (self.what, self.where, self.hint)

    def to_json(self) -> dict[str, str]:
        return {"error": self.what, "where": self.where, "hint": self.hint}


def printable(text: str) -> str:
    r"""What a terminal could take for a command, or a reader for another line, is written out: \x1b for an escape."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def _rebuild(what: str, where: str, hint: str) -> PactError:
    return PactError(what, where=where, hint=hint)


def one_of(value: object, allowed: Iterable[object], *, option: str) -> PactError:
    """The error for a name that is not in a table; the list of names comes from the table itself."""
    names = [str(name) for name in allowed]
    what = f"{value!r} is not known; allowed: {', '.join(names)}"
    return PactError(what, where=option, hint=did_you_mean(value, names))


def did_you_mean(value: object, names: Iterable[str]) -> str:
    """A question that names what is spelled nearly like the value; empty where nothing is."""
    from difflib import get_close_matches  # takes a moment to import, and is needed only where something went wrong

    known = {name.casefold(): name for name in names}
    close = get_close_matches(str(value).casefold(), known, n=2, cutoff=_ALIKE)
    return f"did you mean {' or '.join(known[name] for name in close)}?" if close else ""


def wrong_kind(value: object, *, needed: str, where: str, hint: str = "") -> PactError:
    """The error for an argument of another kind than the one needed; a class is told apart from its instances."""
    if isinstance(value, type):
        return PactError(
            f"must be {needed}, got the class {value.__name__}", where=where, hint=hint or "create an instance"
        )
    return PactError(f"must be {needed}, got {type(value).__name__}", where=where, hint=hint)
