"""The fingerprint of a data set: what the network receives and the labels, in order, and nothing else."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError
from netpact.datasets.layout import Layout


class Fingerprinter:
    """Fingerprint samples batch by batch.

        fingerprint = sha256( header || sha256(inputs) || sha256(labels) )
        header      = "netpact-data-1 shape=1,28,28 count=60000 inputs=float32 labels=int64\\n"   (ASCII)
        inputs      = the float32 numbers as the network receives them, little-endian, sample after sample
        labels      = the int64 labels, little-endian

    The two inner hashes run over the whole data, so neither the batch size nor the type in which the data were stored
    (uint8 images, or the same numbers as float32) makes a difference; the order of the samples does.

    Of integers, or of several inputs, the header says what they are in place of float32: inputs=tokens:int64:16,...
    """

    def __init__(self, input_shape: tuple[int, ...], layout: Layout = ()) -> None:
        self.input_shape = input_shape
        self._kind = ",".join(map(str, layout)) or "float32"
        self.count = 0
        self._inputs = hashlib.sha256()
        self._labels = hashlib.sha256()

    def update(self, x: NDArray[np.float32], y: NDArray[np.int64]) -> None:
        where = f"fingerprint, sample {self.count}"
        if x.dtype != np.float32 or y.dtype != np.int64:
            raise PactError(f"inputs must be float32 and labels int64, got {x.dtype} and {y.dtype}", where=where)
        if x.shape[1:] != self.input_shape or y.shape != x.shape[:1]:
            raise PactError(
                f"inputs of shape (n, *{self.input_shape}) and labels of shape (n,), got {x.shape} and {y.shape}",
                where=where,
            )
        self._inputs.update(np.ascontiguousarray(x, dtype="<f4").data)
        self._labels.update(np.ascontiguousarray(y, dtype="<i8").data)
        self.count += len(y)

    def digest(self) -> str:
        shape = ",".join(str(side) for side in self.input_shape)
        header = f"netpact-data-1 shape={shape} count={self.count} inputs={self._kind} labels=int64\n".encode()
        whole = hashlib.sha256(header + self._inputs.digest() + self._labels.digest())
        return f"sha256:{whole.hexdigest()}"
