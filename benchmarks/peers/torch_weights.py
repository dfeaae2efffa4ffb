"""torch.ao's weight-only quantisation after training: int8 or int4 with a scale for each output channel."""

from __future__ import annotations

import copy
import io
import lzma
import warnings

import torch
from torch import Tensor, nn

import netpact


def weight_only(module: nn.Module, *, bits: int) -> tuple[nn.Module, dict[str, int]]:
    """The network with rounded weights, batch norm folded first, and the bytes that hold it, packed in several ways.

    Scales come from torch.ao's PerChannelMinMaxObserver, symmetric; biases stay in float32. int4 is packed two to a
    byte, which the saved state of torch does not do by itself.
    """
    norms = any(isinstance(part, nn.BatchNorm2d) for part in module.modules())
    rounded = netpact.fold_batch_norm(module) if norms else copy.deepcopy(module)
    saved: dict[str, Tensor] = {}
    with torch.no_grad():
        for name, tensor in rounded.named_parameters():
            if tensor.dim() < 2:
                saved[name] = tensor.clone()
                continue
            whole, scales = _round(tensor.detach(), bits=bits)
            saved[name], saved[f"{name}.scale"] = _packed(whole, bits=bits), scales
            tensor.copy_(whole * scales.reshape(-1, *[1] * (tensor.dim() - 1)))
    return rounded.eval(), _sizes(saved)


def _round(weight: Tensor, *, bits: int) -> tuple[Tensor, Tensor]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.ao warns of its own removal on every call
        from torch.ao.quantization.observer import PerChannelMinMaxObserver

        most = (1 << bits - 1) - 1
        observer = PerChannelMinMaxObserver(
            ch_axis=0, dtype=torch.qint8, qscheme=torch.per_channel_symmetric, quant_min=-most - 1, quant_max=most
        )
        observer(weight)
        scales, _ = observer.calculate_qparams()
    whole = (weight / scales.reshape(-1, *[1] * (weight.dim() - 1))).round().clamp(-most - 1, most)
    return whole, scales


def _packed(whole: Tensor, *, bits: int) -> Tensor:
    octets = whole.to(torch.int8).flatten()
    if bits == 8:
        return octets
    if len(octets) % 2:
        octets = torch.cat([octets, octets.new_zeros(1)])
    low, high = octets[::2] & 15, octets[1::2] & 15
    return low | high << 4


def _sizes(saved: dict[str, Tensor]) -> dict[str, int]:
    stream = io.BytesIO()
    torch.save(saved, stream)
    bare = b"".join(tensor.contiguous().numpy().tobytes() for tensor in saved.values())
    sizes = {
        "state dict, xz": len(lzma.compress(stream.getvalue(), preset=9 | lzma.PRESET_EXTREME)),
        "bare numbers, xz": len(lzma.compress(bare, preset=9 | lzma.PRESET_EXTREME)),
    }
    try:
        import zstandard  # type: ignore[import-not-found]
    except ImportError:
        return sizes
    packer = zstandard.ZstdCompressor(level=22)
    return {
        "state dict, zstd": len(packer.compress(stream.getvalue())),
        "bare numbers, zstd": len(packer.compress(bare)),
        **sizes,
    }
