"""The worker's side of the pipe. Calls come pickled from the parent process, answers go back as JSON."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
from collections.abc import Collection, Mapping
from dataclasses import replace
from multiprocessing import parent_process
from multiprocessing.connection import Connection

from netpact.core.json import read_object
from netpact.runs.attempt import Attempt, attempt_call, failed_attempt
from netpact.runs.parcels import Content, label, unpacked
from netpact.runs.task import Task

READY = b"ready"


def serve(connection: Connection) -> None:
    """Answer calls until the parent hangs up."""
    # Ctrl-C reaches every process of the terminal; the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        connection.send_bytes(READY)
        while True:
            call = connection.recv_bytes()
            contents = {name: connection.recv_bytes() for name in pickle.loads(connection.recv_bytes())}
            connection.send_bytes(answer_call(call, contents))
    except (EOFError, OSError):
        return


def write_call(task: Task) -> bytes:
    return pickle.dumps((task.function, task.arguments, [label(one) for one in task.parcels]))


def contents_of(task: Task, *, but: Collection[str] = ()) -> dict[str, bytes]:
    """The parcels' bytes, by name, but for these."""
    return {one.name: one.content() for one in task.parcels if one.name not in but}


def send_call(connection: Connection, call: bytes, contents: Mapping[str, bytes]) -> None:
    """contents: of the parcels that this worker does not have already."""
    connection.send_bytes(call)
    connection.send_bytes(pickle.dumps(list(contents)))
    for content in contents.values():
        connection.send_bytes(content)


def read_answer(message: bytes) -> Attempt:
    return Attempt(**read_object(message, where="worker"))


def answer_call(message: bytes, contents: Mapping[str, Content]) -> bytes:
    """Of a call by write_call; whatever goes wrong is in the answer. contents: of parcels, by name."""
    try:
        function, arguments, labels = pickle.loads(message)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - importing the function's module runs its code
        failed = failed_attempt(error, seconds=0.0)
        hint = "put the function into a module or a script file that other processes can import"
        attempt = replace(failed, error=f"the worker cannot import the function: {failed.error} ({hint})")
        return _written(attempt)
    try:
        with unpacked(labels, contents):
            return _written(attempt_call(function, arguments))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - opening a parcel may run the user's own code
        return _written(failed_attempt(error, seconds=0.0))


def _written(attempt: Attempt) -> bytes:
    return json.dumps(vars(attempt)).encode()


def _end_with_parent() -> None:
    """A parent that is killed cannot stop its workers: a worker in the middle of a long task ends itself."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
