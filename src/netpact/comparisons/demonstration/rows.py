"""One row of the table for each network: as it was trained, and as a stranger finds it in its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torch import nn

from netpact.coding.format import Pact
from netpact.core.errors import PactError
from netpact.models import load_model
from netpact.reports import Row
from netpact.reports.file_rows import Opening, check_row, count_parameters, measure_row, state_row
from netpact.training import error_rate

if TYPE_CHECKING:
    from netpact.datasets import Data
    from netpact.runs import JsonValue

_FLOAT_BYTES = 4


def original_row(weights: Mapping[str, JsonValue], data: Data, *, estimates: Mapping[str, float]) -> Row:
    module = load_model(str(weights["file"]))
    errors, samples = error_rate(module, data.train)
    tested = None if data.test is None else error_rate(module, data.test)
    parameters = count_parameters(module)
    row = Row(
        name=f"{module.netpact_architecture}, original",
        method="trained",
        classes=data.classes,
        parameters=parameters,
        message_bytes=_FLOAT_BYTES * parameters,
        train_error=errors / samples,
        test_error=None if tested is None else tested[0] / tested[1],
        estimates=estimates,
        data_name=data.name,
        data_fingerprint=data.train.fingerprint(),
    )
    return measure_row(row, module, data)


def pact_row(
    key: str, folder: Path, data: Data, *, method: str, options: Mapping[str, str], original: nn.Module
) -> Row:
    """Read the file back and verify it, as a stranger would; measure it beside the network before compression."""
    path = folder / f"{key}.pact"
    pact = Pact.read(path)
    if pact.certificate is None:
        raise PactError("the file has lost its certificate", where=str(path))
    module = pact.to_module()
    setting = ", ".join(f"{name} {value}" for name, value in options.items())
    row = state_row(pact, module, name=key.replace("-", " ", 1), file=path.name, method=method, setting=setting)
    return replace(measure_row(check_row(row, pact, data, Opening()), module, data, original), data_name=data.name)
