"""A run in a process of its own, for the tests that kill or interrupt the driver: run_driver.py FOLDER [ADDRESS]."""

from __future__ import annotations

import sys
from pathlib import Path

from runs import run_tasks

from netpact.runs import Engine, Processes, Ray, ResultStore, Task


def gated_tasks(folder: str) -> list[Task]:
    """Numbers 0 to 2 are done at once, 3 to 5 when the gate opens."""
    return [
        Task(f"gate {number}", run_tasks.pass_gate, {"folder": folder, "number": number, "free": 3}, version="1")
        for number in range(6)
    ]


if __name__ == "__main__":
    engine: Engine = Ray(sys.argv[2]) if len(sys.argv) > 2 else Processes(2)
    engine.run(gated_tasks(sys.argv[1]), ResultStore(Path(sys.argv[1]) / "results"))
