"""How far the outputs of a network move when its weights do (Arora et al. 2018, Lemma 9)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from netpact.bounds.logs import log, log_product, log_sum
from netpact.core.errors import PactError


def log_output_change(*, spectral: Sequence[float], changes: Sequence[float], input_norm: float) -> float:
    """ln of how far f_A^(x) can be from f_A(x), for a chain of layers without biases, activations of slope at most 1:

        e |x| prod_i |A_i|_2 sum_i |A_i - A^_i|_2 / |A_i|_2,    where |A_i - A^_i|_2 <= |A_i|_2 / d for every i

    Lemma 9 (Neyshabur et al. 2017, Lemma 2). Larger changes are refused: (1 + 1/d)^d <= e is what the proof uses.
    """
    depth = len(spectral)
    if len(changes) != depth or not depth:
        raise PactError(f"must be one change for each of {depth} layers, got {len(changes)}", where="changes")
    for place, (size, change) in enumerate(zip(spectral, changes, strict=True), start=1):
        if not 0 <= change <= size / depth:
            raise PactError(
                f"a change of {change:.6g} in a layer of norm {size:.6g}; Lemma 9 allows up to {size / depth:.6g}",
                where=f"layer {place}",
                hint="netpact.deviation_bound has no such premise",
            )
    ratios = [log(change) - log(size) if change else -math.inf for size, change in zip(spectral, changes, strict=True)]
    return 1.0 + log(input_norm) + log_product(spectral) + log_sum(ratios)
