"""Arithmetic as run: the logits that one stated program computes, as a function of the sample alone.

Even one program adds up in another order when the batch has another size or the sample another row, and that changes
the last bits. So batches have a fixed number of rows, and the row of a sample is a function of its numbers:

    row(x) = crc32(the bytes of x as little-endian float32) mod 32

Rows that no sample takes are zeros. What stands in the other rows changes no bit of a sample's logits: that is checked
here again and again, and so is that the network remembers nothing.
"""

from __future__ import annotations

import copy
import platform
import zlib
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.certificates.program import AS_RUN as AS_RUN
from netpact.certificates.program import Program
from netpact.core.errors import PactError
from netpact.layers import process_settings
from netpact.network.adapting import other_inputs
from netpact.network.rounding.counting import Logits, refuse_flushing

ROWS = 32  # more gains no speed; with fewer the row would matter less, and batches would take longer
TOLERANCE = 1e-4  # far above what float32 runs of networks in use differ by
_ENTRIES = 1 << 25  # of the inputs that are put into rows together
_MOST_AT_ONCE = 1 << 14
_MOST_WITNESSES = 1 << 9  # one of each batch; they wait for an empty row, which costs nothing
_COMPANY = "a sample's logits depend on the other samples of its batch, or on earlier ones"


def this_program() -> Program:
    """What AsRun is here and now."""
    return Program(
        torch=torch.__version__,
        machine=f"{platform.machine() or 'unknown'} {torch.backends.cpu.get_cpu_capability()}",
        onednn=process_settings.has_onednn(),
        rows=ROWS,
        tolerance=TOLERANCE,
    )


def near_ties(logits: Tensor) -> Tensor:
    """Which samples' two highest logits differ by at most the tolerance times the largest magnitude."""
    highest = logits.topk(min(2, logits.shape[1]), dim=1).values
    return highest[:, 0] - highest[:, -1] <= TOLERANCE * logits.abs().amax(dim=1)


class AsRun:
    """A module prepared to be run by this program. The module given is not changed."""

    def __init__(self, module: nn.Module) -> None:
        refuse_flushing()
        self._module = copy.deepcopy(module).eval()
        for name, tensor in [*self._module.named_parameters(), *self._module.named_buffers()]:
            if tensor.is_floating_point() and tensor.dtype != torch.float32:
                raise PactError(f"{name} is {tensor.dtype}; arithmetic as run is float32", where="network")
        self._first: tuple[Tensor, NDArray[np.int64], Tensor] | None = None
        self._witnesses: dict[int, list[tuple[Tensor, Tensor]]] = {}  # by row: inputs and their logits
        self._batches = self._waiting = 0

    def batch(self, input_shape: tuple[int, ...], *, most: int) -> int:
        """How many samples to hand over at a time. Many, whatever `most` says: rows are then rarely empty."""
        return max(ROWS, min(_MOST_AT_ONCE, _ENTRIES // max(1, int(np.prod(input_shape)))))

    @torch.no_grad()
    def __call__(self, inputs: NDArray[np.float32], places: NDArray[np.int64] | None = None) -> Logits:
        distinct, rows, which = _rows_of(inputs)
        found: Tensor | None = None
        for chosen in _batches(rows):
            logits = self._run(_filled(inputs[distinct[chosen]], rows[chosen]), rows[chosen])
            if found is None:
                found = torch.empty(len(distinct), *logits.shape[1:], dtype=torch.float64)
            found[chosen] = logits.double()
        if found is None:
            raise PactError("no samples to run the network on", where="samples")
        values = found[which]
        return Logits(values, torch.zeros_like(values))

    def decide(self, inputs: NDArray[np.float32], places: NDArray[np.int64] | None = None) -> Logits:
        """There is no rounding bound that could be had for less."""
        return self(inputs, places)

    @torch.no_grad()
    def finish(self) -> None:
        """After the last batch: some samples again, in other company and later than before."""
        if self._first is None:
            return
        x, rows, logits = self._first
        self._refuse_company(x, rows[rows % 2 == 1], logits[rows % 2 == 1])
        self._ask_witnesses()

    def _run(self, x: Tensor, rows: NDArray[np.int64]) -> Tensor:
        found = self._with_witnesses(x, sorted(self._witnesses.keys() - set(rows.tolist())))
        logits = found[rows]
        if self._first is None:
            self._first = x, rows, logits
            self._refuse_company(x, rows[rows % 2 == 0], logits[rows % 2 == 0])
        self._remember(x, rows, logits)
        if self._waiting >= max(ROWS, min(_MOST_WITNESSES, _ENTRIES // x[0].numel())):
            self._ask_witnesses()
        return logits

    def _remember(self, x: Tensor, rows: NDArray[np.int64], logits: Tensor) -> None:
        """One sample of the batch. Of the last ones, which have few rows, the latest of each row is enough."""
        place = self._batches % len(rows)
        row = int(rows[place])
        waiting = self._witnesses.setdefault(row, [])
        if waiting and len(rows) < ROWS // 2:
            waiting.pop()
            self._waiting -= 1
        waiting.append((x[row].clone(), logits[place]))
        self._batches += 1
        self._waiting += 1

    def _with_witnesses(self, x: Tensor, rows: list[int]) -> Tensor:
        """Logits of a batch in whose empty rows, these, stand samples of earlier batches: theirs must be the same."""
        asked = {row: self._witnesses[row].pop() for row in rows}
        for row, (sample, _) in asked.items():
            x[row] = sample
            if not self._witnesses[row]:
                del self._witnesses[row]
        self._waiting -= len(asked)
        found = self._forward(x)
        if asked and not _same_bits(found[rows], torch.stack([logits for _, logits in asked.values()])):
            raise PactError(_COMPANY, where="network", hint="a network must not remember what it was run on")
        return found

    def _forward(self, x: Tensor) -> Tensor:
        try:
            with process_settings.AS_RUN, process_settings.PLAIN, torch.autocast("cpu", enabled=False):
                logits = self._module(x.clone())
        except RuntimeError as error:
            if "deterministic" not in str(error):
                raise
            raise PactError(f"the network is not deterministic: {error}", where="network") from error
        if not isinstance(logits, Tensor) or not logits.is_floating_point() or len(logits) != len(x):
            raise PactError("the network does not return one tensor of logits", where="network")
        return logits

    def _refuse_company(self, x: Tensor, kept: NDArray[np.int64], logits: Tensor) -> None:
        """The samples in these rows again, with other numbers in all other rows."""
        other = other_inputs(self._module, x)
        other[kept] = x[kept]
        if not _same_bits(self._forward(other)[kept], logits):
            raise PactError(_COMPANY, where="network", hint="it must be a function of the sample")

    def _ask_witnesses(self) -> None:
        """All that found no empty row, in batches of such."""
        while self._witnesses:
            rows = sorted(self._witnesses)
            self._with_witnesses(torch.zeros(ROWS, *self._witnesses[rows[0]][0][0].shape), rows)


def _rows_of(inputs: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Where each distinct input comes first, its row, and which of them each input is: copies all want one row."""
    little = np.ascontiguousarray(inputs, dtype="<f4").reshape(len(inputs), -1)
    met: dict[int, list[int]] = {}
    distinct: list[int] = []
    sums: list[int] = []
    which = np.empty(len(inputs), dtype=np.int64)
    for place, numbers in enumerate(little):
        check = zlib.crc32(numbers.data)
        alike = met.setdefault(check, [])
        same = next((index for index in alike if little[distinct[index]].tobytes() == numbers.tobytes()), None)
        if same is None:
            same = len(distinct)
            distinct.append(place)
            sums.append(check)
            alike.append(same)
        which[place] = same
    return np.array(distinct, dtype=np.int64), np.array(sums, dtype=np.int64) % ROWS, which


def _batches(rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """The first sample of every row, then the second of every row that has one, and so on."""
    order = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[order], np.arange(ROWS))
    turn = np.empty(len(rows), dtype=np.int64)
    turn[order] = np.arange(len(rows)) - starts[rows[order]]
    by_turn = np.argsort(turn, kind="stable")
    yield from np.split(by_turn, np.searchsorted(turn[by_turn], np.arange(1, turn.max(initial=-1) + 1)))


def _filled(inputs: NDArray[np.float32], rows: NDArray[np.int64]) -> Tensor:
    x = torch.zeros(ROWS, *inputs.shape[1:])
    x[torch.from_numpy(rows)] = torch.from_numpy(np.ascontiguousarray(inputs))
    return x


def _same_bits(first: Tensor, second: Tensor) -> bool:
    """NaN is equal to NaN here: it is reported later, with its sample."""
    return first.shape == second.shape and bool(((first == second) | (first.isnan() & second.isnan())).all())
