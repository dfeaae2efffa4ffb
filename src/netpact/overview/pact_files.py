"""A .pact file: its row, and where its bits go."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from torch import nn

from netpact.coding.format import Compressed
from netpact.datasets import Data
from netpact.overview.found import Found
from netpact.reports.bit_figures import bits_panel, count_layer_bits
from netpact.reports.file_rows import Opening, check_row, measure_row, open_file, state_row
from netpact.reports.frame import Panel


@dataclass(frozen=True, kw_only=True)
class Beside:
    """What is known beside the files: the data, to verify and measure with; the original network; how to open them."""

    data: Data | None = None
    original: nn.Module | None = None
    opening: Opening = field(default_factory=Opening)


def read_pact_file(path: Path, beside: Beside, key: str) -> Found:
    pact, compressed, module, problem = open_file(path, beside.opening)
    method = problem if compressed is None else _describe(compressed)
    row = state_row(pact, module, name=path.stem, file=path.name, method=method)
    data, stated = beside.data, pact.certificate
    # A certificate about other data is shown as the file states it: these data say nothing about it.
    fits = data is not None and (stated is None or stated.data_fingerprint == data.train.fingerprint())
    if data is not None and fits and module is not None:
        row = measure_row(check_row(row, pact, data, beside.opening), module, data, beside.original)
    return Found((row,), bits=() if compressed is None else (_bits_panel(path, compressed, key),))


def _describe(compressed: Compressed) -> str:
    steps = dict.fromkeys(step.rewrite.name for step in compressed.rewrites)
    forms = dict.fromkeys(tensor.form.name for tensor in compressed.tensors.values())
    return ", ".join([*steps, *forms])


def _bits_panel(path: Path, compressed: Compressed, key: str) -> Panel:
    heading = f"Bits of {path.name}"
    return bits_panel(heading, {"bits of the message": count_layer_bits(compressed)}, name=f"bits-{key}")
