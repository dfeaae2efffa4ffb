"""A driver that is killed while shards are gone through: python shard_driver.py FOLDER [ADDRESS of a Ray cluster]."""

from __future__ import annotations

import sys
from pathlib import Path

from shards import shard_tasks

from netpact.runs import Engine, JsonValue, Processes, Ray
from netpact.shards import Execution, Shards, go_through

FREE = 3 * 1024


def go(folder: Path, engine: Engine | None) -> list[object]:
    """The shards from the fourth on wait for the gate."""
    arguments: dict[str, JsonValue] = {"folder": str(folder), "free": FREE}
    execution = Execution(engine, folder / "results")
    return list(
        go_through(Shards(shard_tasks.images(), shard_tasks.BATCH), shard_tasks.look, arguments, execution=execution)
    )


if __name__ == "__main__":
    go(Path(sys.argv[1]), Ray(sys.argv[2]) if len(sys.argv) > 2 else Processes(2))
