"""Torch's settings of the whole process while a certified network runs; afterwards they are what they were.

PLAIN    what a certificate for a precision assumes: sums and products in that precision, in any order
AS_RUN   what the program of a certificate as run states, beside PLAIN: one thread, deterministic algorithms, oneDNN

A raised error instead would leave the network unusable where torch's defaults are in the way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import torch


@dataclass(frozen=True)
class _Setting:
    """One setting, and the values that serve; the first of them is written where none does."""

    read: Callable[[], Any]
    write: Callable[[Any], object]
    fine: tuple[Any, ...]


@dataclass
class Settings:
    """A context: the settings hold in it. Calls may overlap, in whatever threads; the last one puts things back."""

    find: Callable[[], list[_Setting]]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _calls: int = 0
    _before: tuple[tuple[_Setting, object], ...] = ()

    @cached_property
    def _settings(self) -> list[_Setting]:
        return self.find()

    def __enter__(self) -> None:
        with self._lock:
            if self._calls == 0:
                found = tuple((setting, setting.read()) for setting in self._settings)
                self._before = tuple((setting, value) for setting, value in found if value not in setting.fine)
                for setting, _ in self._before:
                    setting.write(setting.fine[0])
            self._calls += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._calls -= 1
            if self._calls == 0:
                for setting, value in self._before:
                    setting.write(value)


def has_onednn() -> bool:
    """Whether the program of a certificate as run uses oneDNN: on ARM it may take Winograd kernels, and is off."""
    return torch.backends.mkldnn.is_available() and not torch._C._has_mkldnn_acl


def _plain() -> list[_Setting]:
    """What this build of torch has to be told. Its own functions: the public ones warn."""
    core = torch._C
    settings = [
        _Setting(core._get_nnpack_enabled, core._set_nnpack_enabled, (False,)),
        _Setting(torch.backends.mha.get_fastpath_enabled, torch.backends.mha.set_fastpath_enabled, (False,)),
    ]
    if core._has_mkldnn_acl:  # on ARM oneDNN may hand a convolution to Winograd kernels
        settings.append(_Setting(core._get_mkldnn_enabled, core._set_mkldnn_enabled, (False,)))
    on_gpu = torch.version.cuda is not None or torch.version.hip is not None
    if on_gpu:
        settings.append(_Setting(core._get_cudnn_enabled, core._set_cudnn_enabled, (False,)))
    # All of a backend's operations, or torch would find its older and newer switches in disagreement.
    for backend in ("mkldnn", "cuda") if on_gpu else ("mkldnn",):
        for operation in ("conv", "matmul", "rnn"):
            read = partial(core._get_fp32_precision_getter, backend, operation)
            write = partial(core._set_fp32_precision_setter, backend, operation)
            settings.append(_Setting(read, write, ("ieee", "none")))
    return settings


def _as_run() -> list[_Setting]:
    core = torch._C
    settings = [
        _Setting(torch.get_num_threads, torch.set_num_threads, (1,)),
        _Setting(torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, (True,)),
    ]
    if has_onednn():
        settings.append(_Setting(core._get_mkldnn_enabled, core._set_mkldnn_enabled, (True,)))
    return settings


PLAIN = Settings(_plain)
AS_RUN = Settings(_as_run)


@contextmanager
def plain_arithmetic() -> Iterator[None]:
    """Torch computes as a certificate assumes within this block: around compiled and exported networks.

    What `Pact.to_module` returns does so by itself, in every call.
    """
    with PLAIN, torch.autocast("cpu", enabled=False), torch.autocast("cuda", enabled=False):
        yield
