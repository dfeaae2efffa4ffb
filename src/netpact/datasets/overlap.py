"""Which inputs two sets of samples have in common: exact copies, whatever their labels."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from netpact.datasets import Samples


@dataclass(frozen=True)
class Inputs:
    """One pass over the inputs of samples: how many, their fingerprint, and a hash of each one."""

    count: int
    fingerprint: str
    hashes: tuple[bytes, ...]

    @property
    def duplicates(self) -> int:
        """How many are repetitions of an earlier one."""
        return self.count - len(set(self.hashes))


def summarise_inputs(samples: Samples) -> Inputs:
    """Fingerprint and hashes of the inputs as the network receives them; labels do not enter.

    fingerprint = sha256( header || sha256(inputs) ),  header = "netpact-unlabelled-1 shape=1,8,8 count=300\\n"
    """
    whole = hashlib.sha256()
    hashes: list[bytes] = []
    for x, _ in samples.batches():
        little = np.ascontiguousarray(x, dtype="<f4")
        whole.update(little.data)
        # Adding zero turns -0 into 0: two inputs with equal numbers are one input, whatever their bits.
        hashes += [hashlib.sha256(row.tobytes()).digest() for row in little + np.float32(0)]
    shape = ",".join(str(side) for side in samples.input_shape)
    header = f"netpact-unlabelled-1 shape={shape} count={len(hashes)}\n".encode("ascii")
    digest = hashlib.sha256(header + whole.digest()).hexdigest()
    return Inputs(len(hashes), f"sha256:{digest}", tuple(hashes))


def find_overlap(inputs: Inputs, samples: Samples) -> tuple[int, int] | None:
    """How many of the inputs are among the samples, and the place of the first such input; None if none is."""
    known = set(summarise_inputs(samples).hashes)
    places = [place for place, found in enumerate(inputs.hashes) if found in known]
    return (len(places), places[0]) if places else None
