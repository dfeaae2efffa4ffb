"""torch's own int8 quantisation after training: dynamic, and static with calibration (torch.ao, FX graph mode)."""

from __future__ import annotations

import gzip
import io
import lzma
import warnings
from collections.abc import Callable

import torch
from rows import FileRow
from subjects import Subject, bound_if_message, count_train_errors, measure_test_error, time_work
from torch import nn

_CALIBRATION = 1_024


def torch_rows(subject: Subject) -> list[FileRow]:
    """The whole state dict in float32 for comparison, and what each kind of quantisation would have to ship."""
    with warnings.catch_warnings():
        # torch.ao warns of its own removal on every call; it is still what plain torch has.
        warnings.simplefilter("ignore")
        made: dict[str, tuple[nn.Module, float]] = {"float32": (subject.module, 0.0)}
        for name, quantise in (("dynamic int8", _dynamic), ("static int8", _static)):
            made[name] = time_work(lambda quantise=quantise: quantise(subject))  # type: ignore[misc]
        rows = []
        for name, (module, milliseconds) in made.items():
            rows += _pack(subject, module, f"torch {name}", milliseconds)
        return rows


def _dynamic(subject: Subject) -> nn.Module:
    from torch.ao.quantization import quantize_dynamic

    return quantize_dynamic(subject.module, {nn.Linear}, dtype=torch.qint8)


def _static(subject: Subject) -> nn.Module:
    from torch.ao.quantization import get_default_qconfig_mapping
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

    inputs = torch.from_numpy(next(iter(subject.data.train.batches(_CALIBRATION)))[0])
    prepared = prepare_fx(subject.module, get_default_qconfig_mapping("x86"), (inputs[:1],))
    with torch.no_grad():
        prepared(inputs)
    return convert_fx(prepared)


def _pack(subject: Subject, module: nn.Module, method: str, milliseconds: float) -> list[FileRow]:
    test_error, errors = measure_test_error(module, subject), count_train_errors(module, subject)
    packed: dict[str, Callable[[], bytes]] = {
        "state_dict": lambda: _saved(module),
        "state_dict, gzip": lambda: gzip.compress(_saved(module), 9, mtime=0),
        "state_dict, xz": lambda: lzma.compress(_saved(module), preset=9 | lzma.PRESET_EXTREME),
        "bare numbers, xz": lambda: lzma.compress(_bare(module), preset=9 | lzma.PRESET_EXTREME),
    }
    rows = []
    for setting, pack in packed.items():
        content, packing = time_work(pack)
        rows.append(
            FileRow(
                network=subject.name,
                method=method,
                setting=setting,
                size_bytes=len(content),
                test_error=test_error,
                train_errors=errors,
                bound=bound_if_message(len(content), errors=errors, subject=subject),
                encode_ms=milliseconds + packing,
            )
        )
    return rows


def _saved(module: nn.Module) -> bytes:
    saved = io.BytesIO()
    torch.save(module.state_dict(), saved)
    return saved.getvalue()


def _bare(module: nn.Module) -> bytes:
    """Every tensor's numbers one after the other without names: the least that the same weights can be shipped as."""
    parts: list[torch.Tensor] = []

    def add(value: object) -> None:
        if isinstance(value, torch.Tensor) and value.is_quantized:
            parts.append(value.int_repr())
            channels = value.qscheme() in (torch.per_channel_affine, torch.per_channel_symmetric)
            parts.append(value.q_per_channel_scales().float() if channels else torch.tensor([value.q_scale()]))
        elif isinstance(value, torch.Tensor):
            parts.append(value.detach())
        elif isinstance(value, (tuple, list)):
            for item in value:
                add(item)

    for value in module.state_dict().values():
        add(value)
    return b"".join(part.contiguous().numpy().tobytes() for part in parts)
