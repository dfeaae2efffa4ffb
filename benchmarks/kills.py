"""A sweep of 200 small models that is killed ten times, workers and driver at random, against one that is left alone.

Each task trains a network on digits, compresses it and certifies the file. A driver in a process of its own runs the
tasks with two workers. SIGKILL goes to a worker that has a task in hand, or to the driver, which is then started again
with the same command. At the end:

    lost      results that are not there, or not those of the sweep that was left alone, bit for bit
    repeated  tasks that were begun again after their results had been stored
    cut off   tasks that were begun again because a kill had met them

Run: OMP_NUM_THREADS=1 python benchmarks/kills.py            (some minutes)
     OMP_NUM_THREADS=1 python benchmarks/kills.py --quick    (20 models, 4 kills; no file is written)
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from netpact import Quantize, Seed, TrainOptions, build, certify, compress, load_data, parse_model, seal, trace, train
from netpact.models import initialise
from netpact.runs import JsonValue, Processes, ResultStore, Task, TaskDone

_WORKERS, _SEED = 2, 7
_DRIVER_SHARE = 0.3  # of the kills
_PAUSE = 0.2  # seconds at most between two looks at how far it is


def make_model(log: str, number: int) -> JsonValue:
    """Task: a network of its own seed, as a certified file."""
    note(log, "begun", number)
    data = load_data("digits")
    module = build(parse_model("mlp:16", input_shape=data.input_shape, classes=data.classes))
    initialise(module, Seed(number))
    trained = train(
        module, data.train, TrainOptions(epochs=30, learning_rate=0.01, seed=Seed(number).child("training"))
    )
    pact = certify(seal(compress(trace(trained.module, data), Quantize(bits=4))), data)
    assert pact.certificate is not None
    return {"message": pact.message_sha256, "bound": pact.certificate.bound}


def note(log: str, what: str, number: int | str) -> None:
    """One line in one write: several processes write to the file."""
    with open(log, "a") as out:
        out.write(f"{what} {number} {os.getpid()}\n")


def read_notes(log: Path) -> list[tuple[str, int, int]]:
    lines = log.read_text().splitlines() if log.exists() else []
    return [(what, int(number), int(pid)) for what, number, pid in map(str.split, lines)]


def drive(folder: Path, models: int) -> None:
    """What is killed: the tasks of the sweep, by two workers, with results and notes in the folder."""
    log = str(folder / "notes.txt")
    tasks = [Task(f"model {n}", make_model, {"log": log, "number": n}, version="1") for n in range(models)]

    def hear(done: TaskDone) -> None:
        if not done.reused and done.error is None:
            note(log, "stored", done.key.split()[1])

    Processes(_WORKERS, threads=1).run(tasks, ResultStore(folder / "results"), hear)


def start_driver(folder: Path, models: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, "--drive", str(folder), "--models", str(models)])


def busy_workers(driver: int, log: Path) -> list[int]:
    """Those that have begun a task, and are there."""
    children = Path(f"/proc/{driver}/task/{driver}/children").read_text().split()
    begun = {pid for what, _, pid in read_notes(log) if what == "begun"}
    return [pid for pid in map(int, children) if pid in begun]


def sweep(folder: Path, models: int, kills: Sequence[tuple[int, str]], chance: random.Random) -> int:
    """Run until everything is there, and kill what `kills` says after so many results; how often the driver began."""
    (folder / "results").mkdir(parents=True)
    log, waiting, starts = folder / "notes.txt", list(kills), 0
    while count(folder) < models:
        starts += 1
        driver = start_driver(folder, models)
        while driver.poll() is None:
            time.sleep(chance.uniform(0, _PAUSE))
            if waiting and count(folder) >= waiting[0][0] and (workers := busy_workers(driver.pid, log)):
                _, whom = waiting.pop(0)
                os.kill(driver.pid if whom == "driver" else chance.choice(workers), signal.SIGKILL)
                if whom == "driver":
                    driver.wait()
    if waiting:
        raise SystemExit(f"{len(waiting)} kills were not made: the sweep was over before")
    return starts


def count(folder: Path) -> int:
    return len(list((folder / "results").glob("*.json")))


def repeated(notes: Sequence[tuple[str, int, int]]) -> int:
    """How many tasks were begun after their results had been stored."""
    stored: set[int] = set()
    again = 0
    for what, number, _ in notes:
        if what == "stored":
            stored.add(number)
        elif number in stored:
            again += 1
    return again


def results(folder: Path) -> dict[str, JsonValue]:
    found = [json.loads(path.read_text()) for path in (folder / "results").glob("*.json")]
    return {one["key"]: one["result"] for one in found}


def run(models: int, kills: int, seed: int = _SEED) -> dict[str, str | float | int | None]:
    chance = random.Random(seed)
    drivers = max(1, round(_DRIVER_SHARE * kills))
    whom = ["driver"] * drivers + ["worker"] * (kills - drivers)
    chance.shuffle(whom)
    when = sorted(chance.sample(range(models - 2 * _WORKERS), kills))
    with tempfile.TemporaryDirectory() as place:
        left_alone, killed = Path(place) / "left alone", Path(place) / "killed"
        sweep(left_alone, models, [], chance)
        began = time.perf_counter()
        starts = sweep(killed, models, list(zip(when, whom, strict=True)), chance)
        seconds = time.perf_counter() - began
        notes, wanted, found = read_notes(killed / "notes.txt"), results(left_alone), results(killed)
    begun = sum(1 for what, _, _ in notes if what == "begun")
    return {
        "models": models,
        "kills of workers": kills - drivers,
        "kills of the driver": drivers,
        "starts of the driver": starts,
        "lost": sum(1 for key in wanted if found.get(key) != wanted[key]) + models - len(wanted),
        "repeated": repeated(notes),
        "cut off": begun - models - repeated(notes),
        "s on the wall": seconds,
    }


def main() -> None:
    from recording import keep_rows

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--drive", type=Path)
    options.add_argument("--models", type=int, default=200)
    given = options.parse_args()
    if given.drive is not None:
        drive(given.drive, given.models)
        return
    models, kills = (20, 4) if given.quick else (given.models, 10)
    keep_rows(__file__, [run(models, kills)], quick=given.quick)


if __name__ == "__main__":
    main()
