"""The one error class for bad input: what is wrong, where, and what to do."""

from __future__ import annotations


class PactError(Exception):
    """Bad input: data, options, a network or a file that netpact cannot work with.

    what   what is wrong, and what is allowed
    where  the layer, file, byte, sample or option it was found in
    hint   what to do about it
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what, self.where, self.hint = what, where, hint
        text = f"{where}: {what}" if where else what
        super().__init__(f"{text} ({hint})" if hint else text)

    def __reduce__(self) -> tuple[object, tuple[str, str, str]]:
        return _rebuild, (self.what, self.where, self.hint)

    def to_json(self) -> dict[str, str]:
        return {"error": self.what, "where": self.where, "hint": self.hint}


def _rebuild(what: str, where: str, hint: str) -> PactError:
    return PactError(what, where=where, hint=hint)


def one_of(value: object, allowed: object, *, option: str) -> PactError:
    """The error for a name that is not in a table; the list of names comes from the table itself."""
    names = ", ".join(str(name) for name in allowed)  # type: ignore[attr-defined]
    return PactError(f"{value!r} is not known; allowed: {names}", where=option)
