"""netpact's side: Quantize over all its grids, RateAware over a few prices of a bit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from rows import FileRow
from subjects import DELTA, Subject, measure_test_error, smallest, time_work

import netpact

_DEFAULT = netpact.Quantize()


def quantize_settings() -> list[netpact.Quantize]:
    both = (False, True)
    even = [netpact.Quantize(bits=bits, shared=shared) for bits in range(2, 8) for shared in both]
    books = [netpact.Quantize(bits=bits, grid="codebook", shared=shared) for bits in range(2, 5) for shared in both]
    signs = [netpact.Quantize(grid="ternary", density=density) for density in (0.2, 0.3, 0.5)]
    return [*even, *books, *signs]


def quantize_rows(subject: Subject) -> list[FileRow]:
    """The default, and the smallest file at equal accuracy. Nothing is retrained, no sample is looked at."""
    settings = quantize_settings()
    return method_rows(subject, "netpact Quantize", settings, first=settings.index(_DEFAULT))[0]


def method_rows(
    subject: Subject,
    label: str,
    methods: Sequence[netpact.Quantize | netpact.MagnitudePrune],
    *,
    first: int = 0,
    samples: netpact.datasets.Samples | None = None,
) -> tuple[list[FileRow], list[netpact.Pact]]:
    """One of the settings, and the one with the smallest file at equal accuracy; and the files.

    samples  training samples, where the method may look at them
    """
    network = netpact.trace(subject.module, subject.data)

    def write(method: netpact.Quantize | netpact.MagnitudePrune) -> netpact.Pact:
        return netpact.seal(netpact.compress(network, method, samples=samples))

    pacts = [write(method) for method in methods]
    rows = [_row(subject, *pair, label) for pair in zip(pacts, methods, strict=True)]
    shown = [first]
    best = smallest(rows, subject)
    if best is not None and rows.index(best) not in shown:
        shown.append(rows.index(best))
    for place in shown:  # only these are timed
        encode_ms = time_work(lambda method=methods[place]: write(method))[1]  # type: ignore[misc]
        decode_ms = time_work(pacts[place].to_module)[1]
        rows[place] = replace(rows[place], encode_ms=encode_ms, decode_ms=decode_ms)
    return [_with_certificate(rows[place], pacts[place], subject) for place in shown], [pacts[place] for place in shown]


def rate_aware_rows(subject: Subject, methods: list[netpact.RateAware]) -> tuple[list[FileRow], netpact.Pact | None]:
    """Every setting that was tried, since each trains further; and the smallest pact at equal accuracy."""
    network = netpact.trace(subject.module, subject.data)
    rows, pacts = [], []
    for method in methods:
        started = time.perf_counter()
        pact = netpact.seal(netpact.compress(network, method, samples=subject.data.train))
        # Once, not three times: it is training, and takes minutes.
        encode_ms = 1000.0 * (time.perf_counter() - started)
        decode_ms = time_work(pact.to_module)[1]
        row = replace(_row(subject, pact, method, "netpact RateAware"), encode_ms=encode_ms, decode_ms=decode_ms)
        rows.append(_with_certificate(row, pact, subject))
        pacts.append(pact)
    best = smallest(rows, subject)
    return rows, None if best is None else pacts[rows.index(best)]


def _row(
    subject: Subject,
    pact: netpact.Pact,
    method: netpact.Quantize | netpact.MagnitudePrune | netpact.RateAware,
    label: str,
) -> FileRow:
    """Without times."""
    return FileRow(
        network=subject.name,
        method=label,
        setting=_describe(method),
        size_bytes=len(pact.message),
        test_error=measure_test_error(pact.to_module(), subject),
    )


def _with_certificate(row: FileRow, pact: netpact.Pact, subject: Subject) -> FileRow:
    """The real certificate: errors are counted with the bound on rounding, ties and near ties among them."""
    certificate = netpact.certify(pact, subject.data, delta=DELTA).certificate
    assert certificate is not None
    return replace(row, train_errors=certificate.errors, bound=certificate.bound)


def _describe(method: netpact.Quantize | netpact.MagnitudePrune | netpact.RateAware) -> str:
    if isinstance(method, netpact.RateAware):
        return f"{method.epochs} epochs, rate {method.rate:g}, levels {method.levels}"
    if isinstance(method, netpact.MagnitudePrune):
        return f"keep {method.keep:g}, {method.grid}, {method.bits} bits, rate {method.rate:g}"
    if method == _DEFAULT:
        return "default (4 bits)"
    kind = f"density {method.density:g}" if method.grid == "ternary" else f"{method.bits} bits"
    return f"{method.grid}, {kind}{', shared' if method.shared else ''}"
