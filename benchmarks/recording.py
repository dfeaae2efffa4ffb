"""What the benchmarks share: medians, and rows that are printed and kept as JSON with the machine and the versions."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
Row = dict[str, str | float | int | None]
RESULTS = Path(__file__).parent / "results"
_REPEATS = 3
_PACKAGES = ("netpact", "torch", "numpy", "scipy", "constriction")


def median_seconds(work: Callable[[], T], clock: Callable[[], float] = time.perf_counter) -> tuple[float, T]:
    """The median of three runs, and what the last one gave."""
    times = []
    for _ in range(_REPEATS):
        start = clock()
        result = work()
        times.append(clock() - start)
    return statistics.median(times), result


def keep_rows(script: str, rows: Iterable[Row], *, quick: bool = False) -> None:
    """Print rows as they come, under the names of their columns; write results/NAME.json unless it was a quick run."""
    kept: list[Row] = []
    for row in rows:
        if not kept:
            print(" | ".join(row))
        kept.append(row)
        print(" | ".join(cell(value).rjust(len(name)) for name, value in row.items()), flush=True)
    if not quick:
        name = Path(script).stem
        told = {**provenance(f"benchmarks/{name}.py"), "rows": kept}
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.json").write_text(json.dumps(told, indent=1) + "\n")


def kept_rows(script: str) -> list[Row]:
    """Those of an earlier run."""
    rows: list[Row] = json.loads((RESULTS / f"{Path(script).stem}.json").read_text())["rows"]
    return rows


def provenance(script: str) -> dict[str, object]:
    threads = int(os.environ.get("OMP_NUM_THREADS", "0"))
    versions = {one: importlib.metadata.version(one) for one in _PACKAGES}
    return {
        "command": f"{f'OMP_NUM_THREADS={threads} ' if threads else ''}python {script}",
        "machine": f"{_processor()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.0f}",
        "threads": threads or os.cpu_count(),
        "versions": {"python": platform.python_version(), **versions},
    }


def cell(value: str | float | None) -> str:
    """As tables print it: four digits, large numbers with commas."""
    if value is None or isinstance(value, str):
        return value or "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{float(f'{value:.4g}'):,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.4g}"


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    names = [line for line in told.read_text().splitlines() if line.startswith("model name")] if told.exists() else []
    return names[0].partition(":")[2].strip() if names else platform.machine()
