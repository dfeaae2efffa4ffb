"""Files of a trained network at nearly equal accuracy, without training: netpact, nncodec, torch's int8 and int4.

Every method starts from the same weights. A row is a method at its default, or its smallest file whose test accuracy
is at most so many points below the network's own. Opening is from bytes to a module that runs. Times are the
processor's.

Run: python benchmarks/peers/rounding.py resnet-20 W.safetensors --data cifar10 [--with-nncodec --work FOLDER]
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nnc
import numpy as np
import torch
from rows import FileRow, markdown, to_json
from run import versions
from subjects import Subject, measure_test_error, time_work
from torch import nn
from torch_weights import weight_only

import netpact
from netpact.core.files import write_atomically
from netpact.datasets.drawing import draw_samples
from netpact.models import build, load_weights, parse_model

LOSS = 0.5  # points of test accuracy
TOLERANCES = (0.002, 0.004, 0.006, 0.008, 0.01, 0.013, 0.017, 0.022, 0.03, 0.04, 0.06, 0.09)
QPS = range(-30, -11)


@dataclass(frozen=True)
class Judge:
    subject: Subject
    loss: float

    def row(self, method: str, setting: str, size: int, module: nn.Module) -> FileRow:
        error = measure_test_error(module, self.subject)
        say(f"{method}, {setting}: {size:,} bytes, {100 * error:.2f} %")
        return FileRow(network=self.subject.name, method=method, setting=setting, size_bytes=size, test_error=error)

    def accepts(self, row: FileRow) -> bool:
        return row.test_error <= self.subject.test_error + self.loss / 100 + 1e-12

    def smallest(self, count: int, row: Callable[[int], FileRow]) -> list[FileRow]:
        """Of settings from fine to coarse the last that is accurate enough; those between are bisected."""
        low, high, best = 0, count - 1, list[FileRow]()
        while low <= high:
            middle = (low + high) // 2
            found = row(middle)
            if self.accepts(found):
                low, best = middle + 1, [found]
            else:
                high = middle - 1
        return best


def netpact_rows(judge: Judge) -> list[FileRow]:
    subject = judge.subject
    network = netpact.trace(subject.module, subject.data)
    pacts: dict[FileRow, netpact.Pact] = {}

    def write(label: str, method: netpact.Quantize) -> FileRow:
        started = time.process_time()
        pact = netpact.seal(netpact.compress(network, method, samples=subject.data.train))
        spent = 1000 * (time.process_time() - started)
        setting = "default (4 bits)" if method == netpact.Quantize() else _describe(method)
        row = replace(judge.row(label, setting, len(pact.message), pact.to_module()), encode_ms=spent)
        pacts[row] = pact
        return row

    plain = [netpact.Quantize(bits=bits, rounding="nearest") for bits in range(8, 2, -1)]
    own = [netpact.Quantize(tolerance=each) for each in TOLERANCES]
    rows = [write("netpact, nearest", plain[4])]
    rows += judge.smallest(len(plain), lambda place: write("netpact, nearest", plain[place]))
    rows.append(write("netpact", netpact.Quantize()))
    rows += judge.smallest(len(own), lambda place: write("netpact", own[place]))
    contents = {row: pacts[row].to_bytes() for row in rows}
    return [
        replace(row, decode_ms=time_work(lambda row=row: netpact.Pact.from_bytes(contents[row]).to_module())[1])
        for row in rows
    ]


def _describe(method: netpact.Quantize) -> str:
    return f"{method.bits} bits" if method.tolerance is None else f"tolerance {method.tolerance:g}"


def nncodec_rows(judge: Judge, folder: Path) -> list[FileRow]:
    """As it was trained, and with batch norm folded, which nncodec does not do by itself for a dict of weights."""
    subject, rows = judge.subject, list[FileRow]()
    modules = {"nncodec": subject.module}
    if any(isinstance(part, nn.BatchNorm2d) for part in subject.module.modules()):
        modules["nncodec, batch norm folded"] = netpact.fold_batch_norm(subject.module)
    for label, module in modules.items():
        # Without the counters of batch norm: nncodec takes no tensors without axes.
        weights = {name: tensor.detach().numpy() for name, tensor in module.state_dict().items() if tensor.dim()}
        even: list[nnc.Setting] = [{"qp": qp, "nonweight_qp": -40} for qp in QPS]
        families = [[{}], even, [{**setting, "opt_qp": True} for setting in even]]
        answers = nnc._code(weights, [setting for family in families for setting in family], folder)

        def row(place: int, label: str = label, module: nn.Module = module, answers: Any = answers) -> FileRow:
            setting, told, decoded = answers[place]
            text = ", ".join(f"{key} {value}" for key, value in setting.items()) or "default (qp -32)"
            filled, loading = time_work(lambda: _opened(module, decoded))
            found = judge.row(label, text, int(told["bytes"]), filled)
            return replace(found, encode_ms=told["encode_ms"], decode_ms=told["decode_ms"] + loading)

        # All are judged: with nncodec the error does not always rise as the file shrinks.
        tried = [row(place) for place in range(len(answers))]
        rows.append(tried[0])
        rows += sorted(filter(judge.accepts, tried), key=lambda found: found.size_bytes)[:1]
    return rows


def _opened(module: nn.Module, decoded: dict[str, np.ndarray]) -> nn.Module:  # type: ignore[type-arg]
    """What a user of nncodec does with the arrays that it gives: a module is made and filled."""
    architecture = getattr(module, "netpact_architecture", None)
    filled = copy.deepcopy(module) if architecture is None else build(architecture)
    filled.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in decoded.items()}, strict=False)
    return filled.eval()


def torch_rows(judge: Judge) -> list[FileRow]:
    rows = []
    for bits in (8, 4):
        module, packed = weight_only(judge.subject.module, bits=bits)
        first = judge.row(f"torch.ao weight-only int{bits}", "", 0, module)
        rows += [replace(first, setting=name, size_bytes=size) for name, size in packed.items()]
    return rows


def say(text: str) -> None:
    print(text, flush=True)


def main(arguments: list[str] | None = None) -> None:
    asked = _parse(sys.argv[1:] if arguments is None else arguments)
    torch.set_num_threads(1)
    data = netpact.load_data(asked.data)
    module = build(parse_model(asked.model, input_shape=data.input_shape, classes=data.classes))
    load_weights(module, asked.weights)
    if asked.test:
        assert data.test is not None
        data = replace(data, test=draw_samples(data.test, asked.test, netpact.Seed(0)))
    subject = Subject(asked.model, module.eval(), data, 0.0)
    subject = replace(subject, test_error=measure_test_error(module, subject))
    say(f"{asked.model}: test error {100 * subject.test_error:.2f} %")
    judge = Judge(subject, asked.loss)
    parts: list[Callable[[], list[FileRow]]] = [lambda: netpact_rows(judge), lambda: torch_rows(judge)]
    if asked.with_nncodec:
        parts.append(lambda: nncodec_rows(judge, Path(asked.work)))
    rows = [row for part in parts for row in part()]
    say(table(rows))
    if asked.out:
        result = {
            "model": asked.model,
            "data": data.name,
            "loss": asked.loss,
            "test_samples": subject.test.count,
            "test_error": subject.test_error,
            "weights": sum(tensor.numel() for tensor in module.parameters()),
            "versions": versions(),
            "nncodec": nnc.REQUIREMENTS[-1] if asked.with_nncodec else "skipped",
            "files": to_json(rows),
        }
        write_atomically(asked.out, (json.dumps(result, indent=1) + "\n").encode())


def table(rows: list[FileRow]) -> str:
    head = ("method", "setting", "bytes", "test error", "write s", "open ms")
    body = [
        (
            row.method,
            row.setting,
            f"{row.size_bytes:,}",
            f"{100 * row.test_error:.2f} %",
            "-" if row.encode_ms is None else f"{row.encode_ms / 1000:.1f}",
            "-" if row.decode_ms is None else f"{row.decode_ms:.0f}",
        )
        for row in rows
    ]
    return markdown(head, body)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="an architecture by name")
    parser.add_argument("weights", type=Path, help="its trained weights, .safetensors")
    parser.add_argument("--data", default="cifar10", help="the data set that it was trained on")
    parser.add_argument("--loss", type=float, default=LOSS, help="points of test accuracy that may be lost")
    parser.add_argument("--test", type=int, help="judge by so many test samples, drawn once, instead of all")
    parser.add_argument("--with-nncodec", action="store_true", help="build an environment for nncodec and compare")
    parser.add_argument("--work", default="peers-work", help="the folder for that environment")
    parser.add_argument("--out", help="write all results to this JSON file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
