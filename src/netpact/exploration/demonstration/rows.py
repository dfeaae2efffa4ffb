"""One row of the table for each network: as it was trained, and as a stranger finds it in its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netpact.coding.format import Pact
from netpact.core.errors import PactError
from netpact.models import load_model
from netpact.pacts.verification import verify
from netpact.reports import Row
from netpact.training import error_rate

if TYPE_CHECKING:
    from netpact.datasets import Data
    from netpact.runs import JsonValue

_FLOAT_BYTES = 4


def original_row(weights: dict[str, JsonValue], data: Data) -> Row:
    module = load_model(str(weights["file"]))
    errors, samples = error_rate(module, data.train)
    tested = None if data.test is None else error_rate(module, data.test)
    parameters = sum(parameter.numel() for parameter in module.parameters())
    return Row(
        name=f"{module.netpact_architecture}, original",
        method="trained",
        classes=data.classes,
        parameters=parameters,
        message_bytes=_FLOAT_BYTES * parameters,
        train_error=errors / samples,
        test_error=None if tested is None else tested[0] / tested[1],
    )


def pact_row(key: str, folder: Path, data: Data, method: str) -> Row:
    """Read the file back and verify it, as a stranger would."""
    path = folder / f"{key}.pact"
    pact = Pact.read(path)
    verdict = verify(pact, data)
    if pact.certificate is None:
        raise PactError("the file has lost its certificate", where=str(path))
    return Row(
        name=key.replace("-", " ", 1),
        method=method,
        classes=data.classes,
        parameters=count_parameters(pact),
        message_bytes=len(pact.message),
        train_error=pact.certificate.train_error,
        test_error=verdict.test_error,
        bound=pact.certificate.bound,
        code_bits=pact.code_bits,
        file=path.name,
        agreed=verdict.agreed,
        as_run=pact.certificate.as_run,
    )


def count_parameters(pact: Pact) -> int:
    return sum(parameter.numel() for parameter in pact.to_module().parameters())
