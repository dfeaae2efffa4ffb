"""The tasks of a comparison: the original network, one file for each trial, and its speed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from netpact.bounds import estimate_bounds
from netpact.certificates import AS_RUN, risk_bound
from netpact.coding.format import WHOLE, Compressed, Pact, seal
from netpact.coding.format.loading import load_module
from netpact.comparisons.planning import Trial, read_trial
from netpact.comparisons.subject import Subject, open_subject, thin
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.deviations import deviation_bound
from netpact.methods import Quantize, compress
from netpact.network import count_errors
from netpact.reports.bound_rows import least_by_paper
from netpact.reports.file_rows import agreement, count_flops, count_parameters, measure_speed, state_row
from netpact.reports.rows import Row
from netpact.training import error_rate

_FLOAT_BYTES = 4
_TIMED = 128
_PROBED = 64  # samples that decide in which arithmetic certificates are stated
_NEAR_TIES = 0.02  # a larger share of them is lost to rounding in float32: float64, which takes no more bytes
_DEVIATION_SAMPLES = 32


@dataclass(frozen=True)
class Look:
    """How closely each file is looked at, and what all of them share.

    samples     that errors are counted on, of each set
    trained     training samples that a method which trains is given, of so many
    arithmetic  of all files but those of whole numbers
    """

    samples: int
    trained: int
    of: int
    arithmetic: str
    delta: float

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def look_at_original(*, source: dict[str, Any], samples: int) -> dict[str, Any]:
    """Task: the row of the network before compression, the time of a pass, and the arithmetic of the files."""
    subject = open_subject(source)
    module, data = subject.module, subject.data
    few = thin(data.train, _TIMED)
    started = time.perf_counter()
    speed = measure_speed(module, few)
    took = time.perf_counter() - started
    row = Row(
        name="original",
        method="as it was trained",
        classes=data.classes,
        parameters=count_parameters(module),
        message_bytes=_FLOAT_BYTES * sum(tensor.numel() for tensor in module.state_dict().values()),
        flops=count_flops(module, few),
        data_name=data.name,
        data_fingerprint=data.train.fingerprint(),
    )
    row = _estimate(_count(row, module, data, samples), module, data, samples)
    return {"row": row.to_json(), "pass_seconds": 1 / speed, "seconds": took, "arithmetic": _choose(subject)}


def try_setting(*, source: dict[str, Any], trial: dict[str, Any], look: dict[str, Any], out: str) -> dict[str, Any]:
    """Task: compress, write the file, and look at the network that is decoded from it. A refusal is a result."""
    subject, wanted, how = open_subject(source), read_trial(trial), Look(**look)
    try:
        method = wanted.make()
        given = thin(subject.data.train, how.trained)
        whole = getattr(method, "arithmetic", None) == WHOLE
        compressed = compress(subject.network, method, samples=given, arithmetic=None if whole else how.arithmetic)
    except PactError as error:
        return {"refused": str(error)}
    pact = seal(compressed)
    path = pact.write(Path(out) / f"{wanted.key}.pact")
    module = _as_run_in_practice(compressed, subject)
    row = state_row(pact, module, name=wanted.name, file=path.name, method=wanted.method, setting=_setting(wanted, how))
    row = _describe(row, module, compressed, subject, how)
    return {"row": row.to_json(), "file": str(path), "message": pact.message_sha256}


def time_file(*, source: dict[str, Any], file: str, message: str) -> float:
    """Task: samples per second. Run by itself, after all others."""
    subject = open_subject(source)
    few = thin(subject.data.train, _TIMED)
    if not file:
        return measure_speed(subject.module, few)
    return measure_speed(_as_run_in_practice(Pact.read(file).decode(subject.shell()), subject), few)


def _as_run_in_practice(compressed: Compressed, subject: Subject) -> nn.Module:
    """In float32, without the guards of a decoded network: only what is proven may be about another precision."""
    plain = replace(compressed, arithmetic="float32") if compressed.arithmetic == "float64" else compressed
    return load_module(plain, subject.shell())


def _setting(trial: Trial, how: Look) -> str:
    """What the time has decided."""
    given = f"{how.trained:,} samples" if trial.trains and how.trained < how.of else ""
    return ", ".join(filter(None, (trial.setting, given)))


def _describe(row: Row, module: nn.Module, compressed: Compressed, subject: Subject, how: Look) -> Row:
    data = subject.data
    row = replace(row, flops=count_flops(module, thin(data.train, 1)), data_name=data.name)
    row = replace(row, data_fingerprint=data.train.fingerprint(), samples=data.train.count, delta=how.delta)
    row = _count(row, module, data, how.samples)
    assert row.train_error is not None
    assert row.code_bits is not None
    wrong = round(row.train_error * data.train.count)
    expected = risk_bound(errors=wrong, samples=data.train.count, code_bits=row.code_bits, delta=how.delta)
    row = replace(row, expected_bound=expected)
    row = replace(row, fidelity=agreement(subject.module, module, thin(data.train, how.samples)))
    try:
        few = thin(data.train, _DEVIATION_SAMPLES)
        found = deviation_bound(subject.module, compressed, few)
        row = replace(row, deviation=float(found.bounds.max()), deviation_samples=found.samples)
    except PactError:  # another structure, or layers without a rule: there is no such bound
        pass
    return _estimate(row, module, data, how.samples)


def _count(row: Row, module: nn.Module, data: Data, samples: int) -> Row:
    """Errors as this machine computes them: measured, and no part of a certificate."""
    train = thin(data.train, samples)
    errors, counted = error_rate(module, train)
    row = replace(row, train_error=errors / counted, counted=counted if counted < data.train.count else None)
    if data.test is None:
        return row
    wrong, tested = error_rate(module, thin(data.test, samples))
    return replace(row, test_error=wrong / tested)


def _estimate(row: Row, module: nn.Module, data: Data, samples: int) -> Row:
    """What published bounds come to. Where few samples are looked at, still for as many as were trained on."""
    try:
        found = estimate_bounds(module, Data(data.name, data.classes, thin(data.train, samples)))
    except (PactError, NotImplementedError):
        return row
    rows = [replace(one, samples=data.train.count) for one in found.rows]
    return replace(row, estimates=least_by_paper(rows))


def _choose(subject: Subject) -> str:
    """The arithmetic in which a small share of the samples are near ties; as run where there is no rounding rule."""
    network = subject.network
    if network.unruled:
        return AS_RUN
    small = compress(network, Quantize(bits=8), samples=subject.data.train)
    module = seal(small).to_module(subject.shell())
    with torch.no_grad():
        counted = count_errors(module, thin(subject.data.train, _PROBED), arithmetic="float32")
    return "float64" if counted.near_ties > _NEAR_TIES * counted.samples else "float32"


def read_row(result: Mapping[str, Any]) -> Row:
    return Row(**result["row"])
