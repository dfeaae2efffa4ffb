"""netpact beside its peers: torch's int8, nncodec, PAC-Bayes and sample compression, in one run.

Run: python benchmarks/peers/run.py [--data mnist] [--quick] [--with-nncodec] [--with-pacbb]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import netpact_files
import nnc
import rivals
import torch
from pacbb import try_pacbb
from pick_to_learn import PickOptions
from rows import BoundRow, FileRow, bound_table, file_table, fill_page, to_json
from subjects import DELTA, TOLERANCE, Subject, train_subject
from torch_int8 import torch_rows

import netpact
from netpact.core.files import write_atomically

SKIPPED = "skipped: not asked for (--with-{name} builds an environment of its own, 1.5 GB)"
SEED = netpact.Seed(0)
PARTS = ("all", "files", "bounds", "mlp:64-32", "lenet5")


def main(arguments: list[str] | None = None) -> None:
    asked = _parse(sys.argv[1:] if arguments is None else arguments)
    torch.set_num_threads(1)
    data = netpact.load_data(asked.data)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(asked.work or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        pacbb = try_pacbb(folder) if asked.with_pacbb else SKIPPED.format(name="pacbb")
        say(f"pacbb: {pacbb}")
        files, bounds = [], []
        for name in _networks(asked):
            files += _compare_files(name, data, folder, asked)
        say(file_table(files))
        if asked.part in ("all", "bounds"):
            bounds = _compare_bounds(data, folder, quick=asked.quick)
        say(bound_table(bounds))
    result = {
        "data": data.name,
        "fingerprint": data.train.fingerprint(),
        "samples": data.train.count,
        "delta": DELTA,
        "tolerance": TOLERANCE,
        "seed": SEED.number,
        "threads": torch.get_num_threads(),
        "quick": asked.quick,
        "parts": [asked.part],
        "versions": versions(),
        "seconds": round(time.perf_counter() - started),
        "pacbb": pacbb,
        "nncodec": nnc.REQUIREMENTS[-1] if asked.with_nncodec else SKIPPED.format(name="nncodec"),
        "files": to_json(files),
        "bounds": to_json(bounds),
    }
    if asked.out:
        write_atomically(asked.out, (json.dumps(result, indent=1) + "\n").encode())
    if asked.page:
        page = Path(asked.page)
        tables = {f"{data.name} files": file_table(files), f"{data.name} bounds": bound_table(bounds)}
        write_atomically(page, fill_page(page.read_text(), tables).encode())


def say(text: str) -> None:
    print(text, flush=True)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="mnist", help="a data set by name, or an .npz file with a test part")
    parser.add_argument("--part", default="all", choices=PARTS, help="only these rows; all is everything")
    parser.add_argument("--quick", action="store_true", help="one network and short training, to see that it runs")
    parser.add_argument("--with-nncodec", action="store_true", help="build an environment for nncodec and compare")
    parser.add_argument("--with-pacbb", action="store_true", help="build an environment for pacbb and try it")
    parser.add_argument("--work", help="keep environments and trained networks in this folder; otherwise none is kept")
    parser.add_argument("--out", help="write all results to this JSON file")
    parser.add_argument("--page", help="fill the tables of this Markdown page")
    return parser.parse_args(arguments)


def _networks(asked: argparse.Namespace) -> tuple[str, ...]:
    if asked.part in ("mlp:64-32", "lenet5"):
        return (asked.part,)
    if asked.part == "bounds":
        return ()
    # lenet5 takes no images as small as those of digits.
    return ("mlp:64-32",) if asked.quick or asked.data == "digits" else ("mlp:64-32", "lenet5")


def _rate_aware(name: str, *, quick: bool) -> list[netpact.RateAware]:
    """Short trainings at prices of a bit that keep the accuracy; longer ones give smaller files."""
    if quick:
        return [netpact.RateAware(epochs=2, rate=1.0)]
    if name == "lenet5":
        return [netpact.RateAware(epochs=3, rate=rate, levels=7) for rate in (0.3,)]
    finer = netpact.RateAware(epochs=6, rate=0.3, levels=7)
    return [finer, *(netpact.RateAware(epochs=6, rate=rate) for rate in (1.0, 2.0, 3.0))]


def _compare_files(name: str, data: netpact.Data, folder: Path, asked: argparse.Namespace) -> list[FileRow]:
    subject: Subject = train_subject(name, data, epochs=2 if asked.quick else _epochs(data), seed=SEED, folder=folder)
    say(f"{name}: test error {100 * subject.test_error:.2f} %")
    rows = torch_rows(subject)
    rows += netpact_files.quantize_rows(subject)
    if asked.with_nncodec:
        rows += nnc.nnc_rows(subject, folder)
    trained, pact = netpact_files.rate_aware_rows(subject, _rate_aware(name, quick=asked.quick))
    rows += trained
    if asked.with_nncodec and pact is not None:
        rows.append(nnc.nnc_symbol_row(subject, pact, folder))
    return rows


def _compare_bounds(data: netpact.Data, folder: Path, *, quick: bool) -> list[BoundRow]:
    seen, rest = rivals.halves(data)
    half = netpact.Data(f"{data.name}-half", data.classes, seen, data.test)
    epochs = 2 if quick else _epochs(data)
    rows = rivals.record_rows(data)
    if data.name == "mnist":
        rows.append(rivals.published_row())
    shallow = train_subject("mlp:100", half, epochs=epochs, seed=SEED, folder=folder)
    architecture = netpact.parse_model("mlp:100", input_shape=data.input_shape, classes=data.classes)
    start = netpact.build(architecture)
    rows.append(rivals.hold_out_row(shallow.module, "mlp:100", data, rest))
    rows += rivals.gaussian_rows(start, shallow.module, data, epochs=2 if quick else _epochs(data), name="mlp:100")
    picking = PickOptions(quota=20, steps=60, most=200 if quick else 1_000, learning_rate=1e-3)
    rows += rivals.picking_rows(start, data.train, picking, data, name="mlp:100")
    more = replace(picking, quota=100, most=200 if quick else 5_000)
    return rows + rivals.picking_rows(shallow.module, rest, more, data, name="mlp:100 from the half", base=seen)


def _epochs(data: netpact.Data) -> int:
    """About as many steps on a small set as on a large one, within reason."""
    return 8 if data.train.count >= 20_000 else 60


def versions() -> dict[str, str]:
    packages = ("netpact", "torch", "numpy", "scipy")
    return {"python": platform.python_version(), **{name: importlib.metadata.version(name) for name in packages}}


if __name__ == "__main__":
    main()
