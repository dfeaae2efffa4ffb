"""A file's certificate beside the estimates of a network: what is proven is about the network in the file alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from netpact.coding.format import Pact
from netpact.core.errors import PactError
from netpact.datasets.arrays import rows_in_cache
from netpact.measurements.folded import fold_for_measuring
from netpact.models import OwnModule
from netpact.pacts.priors import Base
from netpact.pacts.verification import verify
from netpact.reports.bound_rows import BoundRow, row_of_certificate

if TYPE_CHECKING:
    from netpact.datasets import Data
    from netpact.network import Network


def certificate_beside(
    path: str | Path,
    network: Network,
    data: Data,
    *,
    model: Callable[[], nn.Module] | None = None,
    base: Base | None = None,
    base_data: object = None,
) -> BoundRow:
    """The row of a file's certificate, verified here. Another structure, other data or a false statement are refused.

    The same structure with other weights may be this network's compressed form or another network: the row says on how
    many of the training samples the two predict the same.
    """
    where, pact = os.fspath(path), Pact.read(path)
    stated = pact.certificate
    if stated is None:
        raise PactError("the file has no certificate", where=where, hint=f"netpact certify {path} --data {data.name}")
    if stated.data_fingerprint != data.train.fingerprint():
        raise PactError(
            f"its certificate is about other data ({stated.data_name})",
            where=where,
            hint="compare bounds on the same training samples",
        )
    _refuse_other_structure(pact, network, data, where=where)
    verdict = verify(pact, data, model=model, base=base, base_data=base_data)
    if not verdict.agreed:
        raise PactError(f"its certificate is not agreed to: {verdict}", where=where)
    shell = None if model is None or not isinstance(pact.architecture, OwnModule) else model()
    same = _agreement(network.module, pact.to_module(shell, base=base), data)
    name = Path(path).name
    return row_of_certificate(
        stated, name=Path(path).stem, about=f"the network in {name}, which agrees with {network.name} on {same}"
    )


def _refuse_other_structure(pact: Pact, network: Network, data: Data, *, where: str) -> None:
    """A file made with --fold holds the network without batch norm."""
    held = pact.architecture
    if held == network.architecture or held == fold_for_measuring(network, data)[0].architecture:
        return
    raise PactError(
        f"it holds another network: {held}, not {network.name}",
        where=where,
        hint="a certificate is about the network in its file; give a file that was made from this one",
    )


@torch.no_grad()
def _agreement(first: nn.Module, second: nn.Module, data: Data) -> str:
    same = 0
    second = second.float()
    for inputs, _ in data.train.batches(rows_in_cache(data.input_shape)):
        x = torch.from_numpy(inputs)
        same += int((first(x).argmax(dim=1) == second(x).argmax(dim=1)).sum())
    return f"{100 * same / data.train.count:.1f} % of the training samples"
