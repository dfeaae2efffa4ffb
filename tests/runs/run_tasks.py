"""Functions that the tests hand to workers. Each call leaves a line in a file, so that calls can be counted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from netpact.core.errors import PactError
from netpact.runs import JsonValue
from netpact.runs.parcels import made_of, parcel


def _log(folder: str, name: str) -> None:
    with open(Path(folder) / "calls.txt", "a") as out:
        out.write(f"{name} {os.getpid()}\n")


def calls(folder: str | Path) -> list[str]:
    """The names of the calls so far, in order."""
    return [line.split()[0] for line in _lines(folder)]


def callers(folder: str | Path) -> set[int]:
    """The processes that made them."""
    return {int(line.split()[1]) for line in _lines(folder)}


def _lines(folder: str | Path) -> list[str]:
    log = Path(folder) / "calls.txt"
    return log.read_text().splitlines() if log.exists() else []


def wait_until(condition: Callable[[], bool]) -> None:
    """For the tests themselves: 20 seconds of patience."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "waited 20 s in vain"
        time.sleep(0.02)


def square(folder: str, number: int) -> int:
    _log(folder, f"square{number}")
    return number * number


def shapes(number: int) -> JsonValue:
    return {"pair": (number, -0.1), "none": None, "deep": [{"a": [True]}]}


def change_arguments(items: list[int]) -> int:
    items.append(7)
    return len(items)


def pass_gate(folder: str, number: int, free: int) -> int:
    """The first `free` numbers pass at once, the others when the file `gate` is there (or after a minute)."""
    _log(folder, f"pass{number}")
    deadline = time.monotonic() + 60
    while number >= free and not (Path(folder) / "gate").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return number


def die(folder: str, signal_number: int) -> None:
    _log(folder, "die")
    os.kill(os.getpid(), signal_number)
    time.sleep(60)


def leave(folder: str, code: int) -> None:
    _log(folder, "leave")
    os._exit(code)


def die_once(folder: str) -> str:
    _log(folder, "die_once")
    if len([name for name in calls(folder) if name == "die_once"]) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return "second time"


def die_with_child(folder: str) -> None:
    """Dies while a process of its own lives on and holds every pipe of the worker open."""
    _log(folder, "die_with_child")
    if os.fork() == 0:
        _log(folder, "child")
        time.sleep(20)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)


def fail(message: str) -> None:
    raise ValueError(message)


def fail_politely() -> None:
    raise PactError("too few samples", where="data", hint="add some")


def exit_task() -> None:
    sys.exit(3)


def give_set() -> Any:
    return {"rows": [1, {2}]}


def give_nan() -> float:
    return float("nan")


def environment() -> list[str | None]:
    return [os.environ.get("OMP_NUM_THREADS"), os.environ.get("MKL_NUM_THREADS")]


def interrupts() -> list[bool]:
    """Whether SIGINT is ignored here, and whether it is still held back from the start of the process."""
    blocked = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, set())
    return [signal.getsignal(signal.SIGINT) is signal.SIG_IGN, blocked]


def large(size: int) -> str:
    return "x" * size


def worker_id(number: int) -> int:
    return os.getpid()


def start_process() -> str:
    """A task may start processes of its own, as data loaders do."""
    from multiprocessing import get_context

    child = get_context("spawn").Process(target=time.sleep, args=(0,))
    child.start()
    child.join()
    return subprocess.run([sys.executable, "-c", "print('ok')"], capture_output=True, text=True).stdout.strip()


def open_text(content: bytes | memoryview) -> str:
    return bytes(content).decode()


def read_parcels(folder: str, shared: str, own: str) -> str:
    """Both texts, with how often this process has opened the shared one."""
    _log(folder, "read_parcels")
    made = made_of(shared, "length", lambda text: _measured(folder, text))
    return f"{parcel(shared)} {made} {parcel(own)}"


def _measured(folder: str, text: str) -> int:
    _log(folder, "made")
    return len(text)
