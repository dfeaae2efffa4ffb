"""nncodec, Fraunhofer's implementation of the Neural Network Coding standard (ISO/IEC 15938-17, DeepCABAC)."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from environments import make_environment, run
from rows import FileRow
from subjects import Subject, bound_if_message, count_train_errors, measure_test_error, smallest
from torch import nn

import netpact
from netpact.coding.forms import CodedTensor

REQUIREMENTS = ("torch", "nncodec==2.1.3")
_WORKER = Path(__file__).with_name("nnc_worker.py")
Setting = Mapping[str, float]


def settings() -> list[Setting]:
    """The default first; then the coarseness (qp), layer-wise coarseness, bit depths, sparsity, without trellis."""
    levels = range(-28, -5)
    return [
        {},
        {"use_dq": False},
        *({"qp": qp, "nonweight_qp": -40} for qp in levels),
        *({"qp": qp, "nonweight_qp": -40, "opt_qp": True} for qp in levels[::2]),
        *({"bitdepth": bits} for bits in range(3, 7)),
        *({"qp": qp, "nonweight_qp": -40, "sparsity": share} for qp in levels[::4] for share in (0.3, 0.6)),
    ]


def nnc_rows(subject: Subject, folder: Path, asked: list[Setting] | None = None) -> list[FileRow]:
    """The default, and the smallest file at equal accuracy among all settings, or among those asked for."""
    weights = {name: tensor.detach().numpy() for name, tensor in subject.module.state_dict().items()}
    tried, modules = [], []
    for setting, told, decoded in _code(weights, asked or settings(), folder):
        module = _filled(subject.module, decoded)
        modules.append(module)
        tried.append(
            FileRow(
                network=subject.name,
                method="nncodec",
                setting=", ".join(f"{key} {value}" for key, value in setting.items()) or "default (qp -32)",
                size_bytes=int(told["bytes"]),
                test_error=measure_test_error(module, subject),
                encode_ms=told["encode_ms"],
                decode_ms=told["decode_ms"],
            )
        )
    best = smallest(tried, subject)
    shown = [0] if best is None else [0, tried.index(best)]
    return [_judged(tried[place], modules[place], subject) for place in shown]


def nnc_symbol_row(subject: Subject, pact: netpact.Pact, folder: Path) -> FileRow:
    """The same whole symbols as in a pact, coded by DeepCABAC without loss: coder against coder, steps not counted."""
    symbols = {name: _symbols(tensor) for name, tensor in pact.decode().tensors.items() if tensor.symbols.size}
    ((_, told, decoded),) = _code(symbols, [{}], folder)
    if any(not np.array_equal(decoded[name], value) for name, value in symbols.items()):
        raise netpact.PactError("whole numbers came back changed", where="nncodec")
    module = pact.to_module()
    row = FileRow(
        network=subject.name,
        method="nncodec",
        setting="RateAware's symbols, lossless",
        size_bytes=int(told["bytes"]),
        test_error=measure_test_error(module, subject),
        encode_ms=told["encode_ms"],
        decode_ms=told["decode_ms"],
    )
    return _judged(row, module, subject)


def _symbols(tensor: CodedTensor) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    return tensor.symbols.reshape(tensor.shape).astype(np.int32)


def _code(
    weights: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]
    | dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int32]]],
    asked: list[Setting],
    folder: Path,
) -> list[tuple[Setting, dict[str, float], dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]]]:
    python = make_environment(folder / "nncodec-environment", REQUIREMENTS)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        work = Path(scratch)
        np.savez(work / "weights.npz", **weights)
        (work / "settings.json").write_text(json.dumps(asked))
        run([str(python), str(_WORKER), str(work)], where="nncodec")
        told = json.loads((work / "told.json").read_text())
        answers = []
        for number, setting in enumerate(asked):
            with np.load(work / f"decoded-{number}.npz") as stored:
                answers.append((setting, told[number], {name: stored[name] for name in stored.files}))
    return answers


def _filled(module: nn.Module, decoded: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]) -> nn.Module:
    filled = copy.deepcopy(module)
    filled.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in decoded.items()})
    return filled


def _judged(row: FileRow, module: nn.Module, subject: Subject) -> FileRow:
    errors = count_train_errors(module, subject)
    return replace(row, train_errors=errors, bound=bound_if_message(row.size_bytes, errors=errors, subject=subject))
