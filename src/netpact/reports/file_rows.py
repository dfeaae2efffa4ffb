"""The row of a .pact file: as its message and certificate state it, and what can be measured with the data."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from netpact.coding.format import Pact
from netpact.core.errors import PactError
from netpact.core.limits import Limits
from netpact.datasets import as_samples
from netpact.datasets.arrays import rows_in_cache
from netpact.deviations import deviation_bound
from netpact.models import OwnModule
from netpact.network.flops import run_sample
from netpact.pacts.verification import verify
from netpact.reports.rows import Row

if TYPE_CHECKING:
    from netpact.coding.format import Compressed
    from netpact.datasets import Data, Samples
    from netpact.pacts.priors import Base
    from netpact.runs import Engine

_TIMED, _REPEATS = 512, 3  # samples in a timed pass, and passes of which the fastest counts
_DEVIATION_SAMPLES = 100


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What else a file may need to be opened: a module of the user's own, a base network; and what it may cost."""

    model: Callable[[], nn.Module] | None = None
    base: Base | None = None
    base_data: object = None
    limits: Limits = Limits()  # noqa: RUF009
    engine: Engine | None = None  # whose workers count; None: this process
    resume: str | None = None  # a folder for what has been counted so far


def open_file(path: Path, opening: Opening) -> tuple[Pact, Compressed | None, nn.Module | None, str]:
    """The file, its network in coded form and as a module; both None with the reason where it cannot be opened."""
    pact = Pact.read(path)
    try:
        shell = opening.model() if opening.model is not None and isinstance(pact.architecture, OwnModule) else None
        compressed = pact.decode(shell, max_parameters=opening.limits)
        module = pact.to_module(shell, base=opening.base, max_parameters=opening.limits)
    except PactError as error:
        return pact, None, None, str(error)
    return pact, compressed, module, ""


def state_row(
    pact: Pact, module: nn.Module | None, *, name: str, file: str, method: str = "", setting: str = ""
) -> Row:
    """What the file says; nothing is checked."""
    stated = pact.certificate
    row = Row(
        name=name,
        method=method,
        setting=setting,
        classes=pact.architecture.classes,
        parameters=None if module is None else count_parameters(module),
        message_bytes=len(pact.message),
        code_bits=pact.code_bits,
        file=file,
        message_sha256=pact.message_sha256,
    )
    if stated is None:
        return row
    return replace(
        row,
        train_error=stated.train_error,
        test_error=stated.test_error,
        bound=stated.bound,
        samples=stated.samples,
        delta=stated.delta,
        as_run=stated.as_run,
        sentence=stated.sentence(),
        data_name=stated.data_name,
        data_fingerprint=stated.data_fingerprint,
    )


def check_row(row: Row, pact: Pact, data: Data, opening: Opening) -> Row:
    """Verified from the file and the data, as a stranger would; in the verifier's words where it is agreed to."""
    if pact.certificate is None:
        return row
    shell = opening.model if isinstance(pact.architecture, OwnModule) else None
    verdict = verify(
        pact,
        data,
        model=shell,
        base=opening.base,
        base_data=opening.base_data,
        max_parameters=opening.limits,
        engine=opening.engine,
        resume=opening.resume,
    )
    if verdict.agreed and verdict.certificate is not None:
        return replace(row, agreed=True, test_error=verdict.test_error, sentence=verdict.certificate.sentence())
    undecided = bool(verdict.undecided) and not verdict.reasons
    return replace(row, agreed=None if undecided else False, test_error=verdict.test_error)


def measure_row(row: Row, module: nn.Module, data: Data, original: nn.Module | None = None) -> Row:
    """FLOPs and speed; with the original network how often both decide alike, and how far apart they can be."""
    few = _first(data.train, _TIMED)
    row = replace(row, flops=count_flops(module, few), samples_per_second=measure_speed(module, few))
    if original is None:
        return row
    row = replace(row, fidelity=agreement(original, module, data.train))
    try:
        found = deviation_bound(original, module, _first(data.train, _DEVIATION_SAMPLES))
    except PactError as error:  # another structure: there is no such bound
        return replace(row, deviation_note=error.what)
    if found.unbounded:
        return replace(row, deviation_note=found.note)
    return replace(row, deviation=float(found.bounds.max()), deviation_samples=found.samples)


def count_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def count_flops(module: nn.Module, samples: Samples) -> int | None:
    inputs, _ = next(iter(samples.batches(1)))
    found = run_sample(module, {}, _as_input(module, inputs))
    return None if found.failure else found.total


@torch.inference_mode()
def measure_speed(module: nn.Module, samples: Samples) -> float:
    """Samples per second, in batches of at most 512, the fastest of a few passes after one that warms up."""
    batches = [_as_input(module, inputs) for inputs, _ in samples.batches(_TIMED)]
    best = float("inf")
    for _ in range(_REPEATS + 1):
        started = time.perf_counter()
        for batch in batches:
            module(batch)
        best = min(best, time.perf_counter() - started)
    return samples.count / max(best, 1e-9)


@torch.inference_mode()
def agreement(one: nn.Module, other: nn.Module, samples: Samples) -> float:
    """The share of the samples that both decide alike."""
    same = 0
    for inputs, _ in samples.batches(rows_in_cache(samples.input_shape)):
        decisions = [module(_as_input(module, inputs)).argmax(dim=1) for module in (one, other)]
        same += int((decisions[0] == decisions[1]).sum())
    return same / samples.count


def _first(samples: Samples, most: int) -> Samples:
    return as_samples(next(iter(samples.batches(min(most, samples.count)))), classes=samples.classes)


def _as_input(module: nn.Module, inputs: object) -> torch.Tensor:
    tensor = torch.as_tensor(inputs)
    kinds = {parameter.dtype for parameter in module.parameters()}
    return tensor.to(next(iter(kinds))) if kinds and tensor.is_floating_point() else tensor
