"""Everything that the code of a module can reach: its functions, and the numbers, texts and arrays they may use.

The walk starts at `forward` and follows what the code names: methods, attributes, globals, imported modules, closures,
defaults, objects of any class. Code of Python's own library and of installed packages is not looked into. What a
program is able to hide from this: see tests/adversary/test_learned_constants.py.
"""

from __future__ import annotations

import builtins
import dis
import gc
import logging
import os
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

import torch
from torch import nn

from netpact.core.installed import is_installed, is_package

_MOST_OBJECTS = 1 << 16
_MADE_AT_RUN_TIME = 1 << 9  # CPython's flag of classes that are no part of the interpreter itself
_REGISTERED = {"_parameters", "_buffers", "_modules"}
# Set by torch or by Python on every module and class: nothing of the user's is in them.
_SKIPPED = {
    *("__init__", "__doc__", "__module__", "__qualname__", "__dict__", "__weakref__", "__annotations__", "__slots__"),
    *("_non_persistent_buffers_set", "__firstlineno__", "__static_attributes__"),
}
# Set by us. Under these names the user's code could keep anything, so they count once it mentions them.
_OURS = {"netpact_architecture", "netpact_base", "netpact_rewrites"}
# Code that names one of these may reach any attribute.
_ANY_ATTRIBUTE = {"getattr", "vars", "__dict__", "__getattribute__", "__getattr__", "attrgetter", "methodcaller"}
_READS_DOCSTRINGS = {"__doc__", "getdoc", "cleandoc", "__code__", "co_consts"}
_LEAVES = (type(None), bool, type(...), torch.dtype, torch.device, torch.Generator, logging.Logger, CodeType)

Reached = tuple[str, object]


class CodeWalk:
    """One walk over what a module's code reaches.

    names    every name and attribute that the code mentions
    objects  what was reached and is no code, each with the place where it was met
    """

    def __init__(self, module: nn.Module) -> None:
        self.names: set[str] = {"forward"}
        self.objects: list[Reached] = []
        self._kinds: set[type] = set()
        self.complete = True
        self._own = {id(part) for part in module.modules()}
        self._seen: set[int] = set()
        self._queue: deque[Reached] = deque()
        self._waiting: list[tuple[str, str, object]] = []  # attribute, place, value: looked at once it is mentioned
        self._docstrings: list[Reached] = []
        for name, part in module.named_modules():
            self._enter_part(name or type(module).__name__, part)
        self._run()

    def sources(self) -> set[str]:
        """Files of installed packages, not of Python itself, that define the classes of those objects."""
        homes = {base.__module__ for kind in self._kinds for base in kind.__mro__}
        files = {getattr(sys.modules.get(home), "__file__", None) or "" for home in homes}
        return {file for file in files if is_package(file)}

    def _run(self) -> None:
        """Until nothing new is mentioned."""
        while self._queue:
            while self._queue:
                if len(self._seen) > _MOST_OBJECTS:
                    self.complete = False
                    return
                self._look(*self._queue.popleft())
            anything = bool(self.names & _ANY_ATTRIBUTE)
            waiting, self._waiting = self._waiting, []
            for name, place, value in waiting:
                if anything or name in self.names:
                    self._queue.append((place, value))
                else:
                    self._waiting.append((name, place, value))
            if self.names & _READS_DOCSTRINGS:
                self._queue.extend(self._docstrings)
                self._docstrings = []

    def _enter_part(self, place: str, part: nn.Module) -> None:
        """Attributes of the user's own classes count once they are mentioned; those of torch's layers always."""
        own_class = not _is_library(type(part))
        for name, value in vars(part).items():
            if name in _REGISTERED or name in _SKIPPED:
                continue
            if name in _OURS or (own_class and name not in ("forward", "_forward_hooks", "_forward_pre_hooks")):
                self._waiting.append((name, f"{place}.{name}", value))
            else:
                self._queue.append((f"{place}.{name}", value))
        if own_class:
            self._queue.append((type(part).__name__, type(part)))

    def _look(self, place: str, value: object) -> None:
        if id(value) in self._seen or isinstance(value, (_LEAVES, ModuleType)) or value is os.environ:
            return
        self._seen.add(id(value))
        if isinstance(value, nn.Module):
            if id(value) not in self._own:
                tensors = [*value.named_parameters(), *value.named_buffers()]
                self._queue.extend((f"{place}.{name}", tensor) for name, tensor in tensors)
                for name, part in value.named_modules():
                    self._enter_part(f"{place}.{name}".rstrip("."), part)
        elif isinstance(value, FunctionType):
            self._enter_function(place, value)
        elif isinstance(value, type):
            self._enter_class(place, value)
        else:
            self.objects.append((place, value))
            self._queue.extend((place, inner) for inner in inner_objects(value))
            if not _is_library(type(value)):
                self._queue.append((place, type(value)))
            else:
                self._kinds.add(type(value))

    def _enter_class(self, place: str, kind: type) -> None:
        for base in kind.__mro__:
            if _is_library(base):
                continue
            self._seen.add(id(base))
            for name, value in vars(base).items():
                if name == "__doc__" and value is not None:
                    self._docstrings.append((f"docstring of {base.__name__}", value))
                elif name not in _SKIPPED:
                    self._waiting.append((name, f"{base.__name__}.{name}", value))

    def _enter_function(self, place: str, function: FunctionType) -> None:
        for cell in function.__closure__ or ():
            try:
                self._queue.append((f"{place}, closure", cell.cell_contents))
            except ValueError:  # not filled yet
                continue
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._queue.append((f"{place}, default argument", value))
        self._queue.extend((place, value) for value in vars(function).values())
        if _is_library(function):
            return
        for code in _codes(function.__code__):
            self._enter_code(place, code, function.__globals__)

    def _enter_code(self, place: str, code: CodeType, scope: Mapping[str, object]) -> None:
        loaded, mentioned = _names(code)
        self.names |= loaded | mentioned
        for index, constant in enumerate(code.co_consts):
            if index == 0 and isinstance(constant, str):
                self._docstrings.append((f"docstring of {place}", constant))
            else:
                self._queue.append((f"{place}, constant", constant))
        for name in sorted(loaded):
            value = scope.get(name, getattr(builtins, name, sys.modules.get(name)))
            if isinstance(value, ModuleType):
                self._enter_module(name, value, mentioned)
            elif value is not None:
                self._queue.append((f"{place}, {name}", value))

    def _enter_module(self, place: str, module: ModuleType, mentioned: set[str], *, depth: int = 2) -> None:
        for name in sorted(mentioned - _SKIPPED):
            value = vars(module).get(name)
            if isinstance(value, ModuleType) and depth:
                self._enter_module(f"{place}.{name}", value, mentioned, depth=depth - 1)
            elif value is not None:
                self._queue.append((f"{place}.{name}", value))


def inner_objects(value: object) -> Iterator[object]:
    """What an object holds: entries, attributes, what partial functions, caches and bound methods keep."""
    if isinstance(value, (str, bytes, bytearray, int, float, complex, torch.Tensor)):
        return
    if isinstance(value, BuiltinFunctionType):
        yield value.__self__
        return
    yield from (inner for inner in gc.get_referents(value) if not isinstance(inner, (ModuleType, type)))


def _names(code: CodeType) -> tuple[set[str], set[str]]:
    """Names that the code loads or imports, and attributes that it asks for."""
    loaded, mentioned = set(), set()
    for instruction in dis.get_instructions(code):
        if not isinstance(instruction.argval, str):
            continue
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME"):
            loaded.add(instruction.argval)
        elif instruction.opname.startswith(("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM", "LOAD_SUPER_ATTR")):
            mentioned.add(instruction.argval)
    return loaded, mentioned


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _is_library(thing: type | FunctionType) -> bool:
    """Whether a class or function is one of Python, an installed package or netpact, and not just named like it."""
    module = sys.modules.get(thing.__module__ or "")
    if isinstance(thing, FunctionType):
        return module is not None and thing.__globals__ is vars(module) and is_installed(thing.__code__.co_filename)
    if not thing.__flags__ & _MADE_AT_RUN_TIME:
        return True
    found: object = module
    for name in thing.__qualname__.split("."):
        found = getattr(found, name, None)
    if module is None or found is not thing:
        return False
    file = getattr(module, "__file__", None)
    return module.__name__ in sys.builtin_module_names if file is None else is_installed(file)
