"""HeavyTail beside magnitude pruning and Quantize on one network: bytes and errors. No timing.

OMP_NUM_THREADS=1 python benchmarks/heavy_tail.py [--quick]
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from dataclasses import replace

from recording import Row, keep_rows

import netpact
from netpact.training import error_rate

_DRAWS = 5  # of the noise; medians are given
_MODEL, _BITS = "mlp:128-128", 4


def rows(quick: bool) -> Iterator[Row]:
    data = netpact.load_data("digits")
    start = netpact.build(netpact.parse_model(_MODEL, input_shape=data.input_shape, classes=data.classes))
    options = netpact.TrainOptions(epochs=3 if quick else 30, learning_rate=0.003)
    network = netpact.trace(netpact.train(start, data.train, options).module, data)

    def measure(method: str, *draws: object) -> Row:
        found = [netpact.seal(netpact.compress(network, one)) for one in draws]  # type: ignore[arg-type]
        counted = [[error_rate(pact.to_module(), part)[0] for pact in found] for part in (data.train, data.test)]
        return {
            "method": method,
            "bytes": round(statistics.median(len(pact.message) for pact in found)),
            f"training errors of {data.train.count:,}": round(statistics.median(counted[0])),
            f"test errors of {data.test.count:,}": round(statistics.median(counted[1])),
        }

    for bits in (2, 3, 4):
        yield measure(f"`Quantize(bits={bits})`", netpact.Quantize(bits=bits))
    for stds in (1.0,) if quick else (0.3, 0.7, 1.0, 1.5):
        keep = netpact.HeavyTail(form="theory", stds=stds, t=0, layers="all", bits=_BITS)
        yield measure(f"above {stds:g} std kept, no noise (magnitude pruning)", keep)
        for form in ("theory", "table1"):
            noisy = replace(keep, form=form, t=None)
            draws = [replace(noisy, seed=seed) for seed in range(_DRAWS)]
            yield measure(f"above {stds:g} std kept, form {form}", *draws)


if __name__ == "__main__":
    asked = "--quick" in sys.argv[1:]
    keep_rows(__file__, rows(asked), quick=asked)
