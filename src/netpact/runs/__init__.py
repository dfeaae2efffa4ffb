"""Keyed tasks, a result store that survives kills, and the engines that run the tasks."""

from netpact.runs.engine import Engine, Outcome, TaskDone
from netpact.runs.inline import Inline, engine_for
from netpact.runs.json_values import JsonValue
from netpact.runs.processes import Processes
from netpact.runs.store import MISSING, ResultStore
from netpact.runs.task import Task

__all__ = [
    "MISSING",
    "Engine",
    "Inline",
    "JsonValue",
    "Outcome",
    "Processes",
    "ResultStore",
    "Task",
    "TaskDone",
    "engine_for",
]
