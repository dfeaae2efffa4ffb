"""What going through ImageNet with ResNet-50 takes on 1, 8 and 64 nodes, from what one sample costs on one core.

    hours = start-up + decoding + max(samples * cost / cores, samples * feeding)

Feeding is what the one process that hands out the samples does: it reads and packs each one, and its link carries the
bytes. The costs are those of benchmarks/shard_costs.py. Cores and link are assumptions, stated in the table's names.

Run: python benchmarks/imagenet.py    (at once; after benchmarks/shard_costs.py)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from recording import RESULTS, Row, keep_rows

IMAGES = 1_281_167  # of ImageNet's training part (ILSVRC 2012)
BYTES = 3 * 224 * 224  # of an image, one for each number
CORES = 16  # of a node, with a worker of one thread each
LINK = 10e9 / 8  # bytes a second: 10 Gbit/s
NODES = (1, 8, 64)
WORKS = {
    "norms at every layer, margins": "measuring: norms",
    "errors, float32 with rounding bounds in both norms": "counting, float32 with rounding bounds in both",
    "errors, float32, samples out of reach given up": "counting, float32 with rounding bounds, samples",
    "errors, as run": "counting, as run",
}


def read_costs(path: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds for each sample, and once for each worker, by the beginning of what they are for."""
    rows = json.loads(path.read_text())["rows"]
    each = {row["what"]: row["ms for each sample"] / 1000 for row in rows if row["ms for each sample"] is not None}
    once = {
        row["what"]: row["ms once for each worker"] / 1000 for row in rows if row["ms once for each worker"] is not None
    }
    return each, once


def find(costs: dict[str, float], start: str) -> float:
    [cost] = [cost for what, cost in costs.items() if what.startswith(start)]
    return cost


def hours(cost: float, *, feeding: float, once: float, nodes: int) -> float:
    return (once + IMAGES * max(cost / (nodes * CORES), feeding)) / 3600


def table(each: dict[str, float], once: dict[str, float]) -> Iterator[Row]:
    # Packing goes on while the link carries what was packed before.
    feeding = max(find(each, "reading and packing"), BYTES / LINK)
    for work, start in WORKS.items():
        cost = find(each, start) + find(each, "opening")
        row: Row = {"work": work, "s for each image": cost}
        for nodes in NODES:
            row[f"hours, {nodes} node{'s' if nodes > 1 else ''}"] = hours(
                cost, feeding=feeding, once=sum(once.values()), nodes=nodes
            )
        row["nodes that can be fed"] = int(cost / CORES / feeding)
        yield row


if __name__ == "__main__":
    keep_rows(__file__, table(*read_costs(RESULTS / "shard_costs.json")))
