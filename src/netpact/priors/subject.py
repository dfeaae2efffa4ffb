"""What a statement is about: a file, data, and the other networks that it needs. Opened before any work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netpact.datasets import Data, Samples, as_data
from netpact.format import DEFAULT_MAX_PARAMETERS, Base, Compressed, Pact, as_base, as_pact
from netpact.limits import Limits
from netpact.models import as_model

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, eq=False)
class Subject:
    pact: Pact
    data: Data
    model: nn.Module | Callable[[], nn.Module] | None
    base: Base | None
    base_data: Samples | None


def open_subject(
    pact: Pact | Compressed | str | Path,
    data: Data | object,
    *,
    model: object = None,
    base: Base | str | Path | None = None,
    base_data: object = None,
    max_parameters: Limits | int = DEFAULT_MAX_PARAMETERS,
) -> Subject:
    """Records stay what they are; names and paths are opened. Anything else is refused with what is needed."""
    return Subject(
        as_pact(pact),
        as_data(data),
        as_model(model),
        as_base(base, max_parameters=max_parameters),
        None if base_data is None else as_data(base_data).train,
    )
