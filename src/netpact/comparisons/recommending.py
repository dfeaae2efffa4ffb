"""Which file for which purpose: rules on the rows of a comparison, and their words.

Files are chosen by their errors on training samples. The test errors are shown and play no part, so they stay what they
are: a measurement on samples that nothing was chosen by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from netpact.certificates import risk_bound
from netpact.core.percent import confidence, percent, percent_up
from netpact.reports.rows import Row, find_best

SMALL, FAITHFUL, FAST, PROVEN, FRESH = "small", "faithful", "fast", "proven", "fresh samples"
_FAITHFUL = 0.99  # share of equal decisions
_FASTER = 1.1  # a smaller gain may be the clock's
_FRESH = 10_000  # samples of the hold-out that is spoken of


@dataclass(frozen=True)
class Choice:
    """goal: what for; row: the name of the file's row, "" if none serves; words: why, its cost, what is proven."""

    goal: str
    row: str
    words: str


@dataclass(frozen=True)
class Recommendation:
    choices: tuple[Choice, ...]

    def __str__(self) -> str:
        return "\n".join(f"{choice.goal}: {choice.words}" for choice in self.choices)

    def to_json(self) -> list[dict[str, str]]:
        return [asdict(choice) for choice in self.choices]


def recommend(rows: Sequence[Row], *, tolerance: float) -> Recommendation:
    """rows: the original network first."""
    original, *files = rows
    if not files:
        return Recommendation((Choice(SMALL, "", "No method gave a file of this network."),))
    choices = [
        _small(original, files, tolerance),
        *_faithful(original, files, tolerance),
        _fast(original, files, tolerance),
        _proven(files),
    ]
    best = find_best(files)
    if best is None or best.vacuous:
        choices.append(_fresh(original, files, tolerance))
    return Recommendation(tuple(choices))


def pick_accurate(original: Row, files: Sequence[Row], *, tolerance: float) -> Row | None:
    """The smallest file whose error is within the tolerance of the original's; None if there is none."""
    return min(_accurate(original, files, tolerance), key=lambda row: row.message_bytes, default=None)


def pick_fast(original: Row, files: Sequence[Row], *, tolerance: float) -> Row | None:
    """The fastest of those, if it is faster than the original; by operations while speeds are not measured yet."""
    found = _accurate(original, files, tolerance)
    if original.samples_per_second is None:
        known = [row for row in found if row.flops and original.flops and _FASTER * row.flops < original.flops]
        return min(known, key=lambda row: (row.flops or 0, row.message_bytes), default=None)
    least = _FASTER * original.samples_per_second
    faster = [row for row in found if (row.samples_per_second or 0) >= least]
    return max(faster, key=lambda row: row.samples_per_second or 0, default=None)


def largest_useful(row: Row) -> int:
    """The most bytes a message may have for its bound to be better than guessing, even without a training error."""
    assert row.samples is not None
    assert row.delta is not None
    low, high = 0, 8 * 2**40
    while low < high:
        bits = (low + high + 1) // 2
        bound = risk_bound(errors=0, samples=row.samples, code_bits=bits, delta=row.delta)
        low, high = (bits, high) if bound < row.guessing else (low, bits - 1)
    return low // 8


def _accurate(original: Row, files: Sequence[Row], tolerance: float) -> list[Row]:
    most = (original.train_error or 0.0) + tolerance
    return [row for row in files if row.train_error is not None and row.train_error <= most + 1e-12]


def _small(original: Row, files: Sequence[Row], tolerance: float) -> Choice:
    row = pick_accurate(original, files, tolerance=tolerance)
    if row is not None:
        times = original.message_bytes / row.message_bytes
        size = f"{row.message_bytes:,} bytes, {times:.1f} times fewer than float32"
        return Choice(SMALL, row.name, f"{row.name} takes {size}, and {_errors(row, original)}.")
    nearest = min(files, key=lambda one: (1.0 if one.train_error is None else one.train_error, one.message_bytes))
    words = (
        f"No file stays within {percent(tolerance)} of the original's training error. Nearest is {nearest.name}: "
        f"{nearest.message_bytes:,} bytes, and {_errors(nearest, original)}. Train it further, or allow larger files."
    )
    return Choice(SMALL, "", words)


def _faithful(original: Row, files: Sequence[Row], tolerance: float) -> list[Choice]:
    """A file as accurate as the original may decide otherwise, where it was trained further."""
    small = pick_accurate(original, files, tolerance=tolerance)
    alike = [row for row in files if row.fidelity is not None and row.fidelity >= _FAITHFUL]
    row = min(alike, key=lambda one: one.message_bytes, default=None)
    if row is None or row is small:
        return []
    size = f"{row.message_bytes:,} bytes, {original.message_bytes / row.message_bytes:.1f} times fewer than float32"
    words = (
        f"{row.name} is the smallest that decides as the original does on {percent(_FAITHFUL, places=0)} of the "
        f"samples or more: {size}. It {_errors(row, original)}."
    )
    return [Choice(FAITHFUL, row.name, words)]


def _fast(original: Row, files: Sequence[Row], tolerance: float) -> Choice:
    row = pick_fast(original, files, tolerance=tolerance)
    if row is None:
        words = (
            "No file that keeps the accuracy runs faster than the original by more than a tenth. Fewer bits make a "
            "file smaller, not a run faster; fewer filters (magnitude-prune, unit=filters) or factored layers (tucker, "
            "cp) do, and usually need training afterwards."
        )
        return Choice(FAST, "", words)
    assert row.samples_per_second is not None
    assert original.samples_per_second is not None
    times = row.samples_per_second / original.samples_per_second
    told = f"runs {times:.1f} times as fast as the original here, takes {row.message_bytes:,} bytes"
    return Choice(FAST, row.name, f"{row.name} {told}, and {_errors(row, original)}.")


def _proven(files: Sequence[Row]) -> Choice:
    best = find_best(files)
    if best is None:
        return Choice(PROVEN, "", _nothing_proven(files))
    assert best.proven is not None
    sure = "" if best.delta is None else f", with probability at least {confidence(best.delta)}"
    if not best.vacuous:
        words = (
            f"{best.name} has the lowest bound: on new samples of the same distribution it is wrong on at most "
            f"{percent_up(best.proven)}{sure}. It takes {best.message_bytes:,} bytes{_test(best)}."
        )
        return Choice(PROVEN, best.name, words)
    words = (
        f"Every certificate is vacuous: the lowest, {percent_up(best.proven)} for {best.name}, is no better than "
        f"guessing. With {best.samples:,} training samples a message may take at most {largest_useful(best):,} bytes, "
        f"even if it makes no training error; this one takes {best.message_bytes:,}. A network that is trained to be "
        "short gets there (rate-aware with a higher rate, netpact search); one that is compressed afterwards rarely."
    )
    return Choice(PROVEN, "", words)


def _nothing_proven(files: Sequence[Row]) -> str:
    ran = [row for row in files if row.as_run and row.bound is not None and row.agreed is not False]
    if not ran:
        return "No file has a certificate, so nothing is proven. --certified N makes certificates."
    row = min(ran, key=lambda one: one.bound or 1.0)
    bound = percent_up(row.bound or 1.0)
    return f"{row.name} has a bound of {bound} for the stated program on this kind of machine, and for no other."


def _fresh(original: Row, files: Sequence[Row], tolerance: float) -> Choice:
    """What can be proven all the same: from labelled samples that nobody has looked at, or about the two networks."""
    row = pick_accurate(original, files, tolerance=tolerance) or min(files, key=lambda one: one.train_error or 1.0)
    error, which = (row.train_error or 0.0, "training") if row.test_error is None else (row.test_error, "test")
    held = risk_bound(errors=round(error * _FRESH), samples=_FRESH, code_bits=0, delta=row.delta or 0.05)
    words = (
        "What can be proven all the same needs samples that nothing was chosen by. Labelled ones bound the error of "
        f"any file, whatever its size: with {_FRESH:,} of them, and the error that {row.name} has on the {which} "
        f"samples ({percent(error)}), the bound would be {percent_up(held)} (netpact certify {row.file or 'FILE'} "
        "--hold-out FRESH.npz). Unlabelled ones bound how often the file and the original decide differently "
        "(--original WEIGHTS --unlabelled INPUTS.npz)."
    )
    return Choice(FRESH, "", words)


def _errors(row: Row, original: Row) -> str:
    told = []
    if row.train_error is not None and original.train_error is not None:
        told.append(f"is wrong on {percent(row.train_error)} of the training samples ({percent(original.train_error)})")
    if row.test_error is not None and original.test_error is not None:
        told.append(f"{percent(row.test_error)} of the test samples ({percent(original.test_error)})")
    beside = f"{' and '.join(told)}, in brackets what the original has" if told else "its errors are not known"
    same = "" if row.fidelity is None else f"; both decide alike on {percent(row.fidelity)}"
    return f"{beside}{same}{_stated(row)}"


def _test(row: Row) -> str:
    return "" if row.test_error is None else f"; its test error is {percent(row.test_error)}"


def _stated(row: Row) -> str:
    if row.bound is None:
        return "; it has no certificate"
    bound = percent_up(row.bound)
    if row.as_run:
        return f"; certified for one program: {bound}"
    return f"; its certificate is vacuous ({bound})" if row.vacuous else f"; proven: at most {bound} on new samples"
