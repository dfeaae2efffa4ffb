"""What a network's last layer receives for every sample, computed once and kept on disk.

The cache steers a search and nothing else: errors are counted, by certify and by verify, on the network itself. All the
same, what is read is compared with what a few samples give now, and what does not agree is computed again.
"""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.core.files import as_path, write_atomically
from netpact.core.progress import Progress
from netpact.core.version import __version__
from netpact.datasets import Samples
from netpact.datasets.catalogue import cache_folder
from netpact.models import hash_source
from netpact.models.tensors import TensorFile, delimit, pack_tensors, read_tensors

NO_CACHE = "none"
_BATCH = 16  # images of a deep network: more of them take longer each, because their maps fill no cache
_BLOCK = 64 * _BATCH  # samples in one file: an interrupt costs no more than these
_AGREED = 1e-4  # beside the largest feature: runs with other threads differ in the last bits
_WORTH_KEEPING = 1.0  # seconds that the samples of one file took; in a folder that was asked for, all are kept
_CHECKED = 4  # samples of every file that are computed again

Features = NDArray[np.float32]


@dataclass(frozen=True)
class FeatureCache:
    """folder  "" for the usual one, below netpact's cache folder; NO_CACHE for none"""

    folder: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.folder, str):
            raise PactError(f"must be the name of a folder, or {NO_CACHE}, got {self.folder!r}", where="cache")

    @torch.no_grad()
    def features(
        self, module: nn.Module, head: str, samples: Samples, progress: Progress | None = None
    ) -> tuple[Features, NDArray[np.int64]]:
        """What the named linear layer receives for every sample, and the labels. Its output must be the logits."""
        key = "" if self.folder == NO_CACHE else feature_key(module, head, samples)
        found: list[Features] = []
        labels: list[NDArray[np.int64]] = []
        seen = 0
        for number, (inputs, truth) in enumerate(samples.batches(_BLOCK)):
            found.append(self._block(module, head, inputs, key, number))
            labels.append(truth)
            seen += len(truth)
            if progress is not None:
                progress(seen, samples.count)
        return np.concatenate(found), np.concatenate(labels)

    def _block(self, module: nn.Module, head: str, inputs: Features, key: str, number: int) -> Features:
        place = self._place(key, number)
        kept = None if place is None else _read(place, key, number)
        if kept is not None and len(kept) == len(inputs):
            picked = np.linspace(0, len(inputs) - 1, min(_CHECKED, len(inputs))).astype(np.int64)
            now = layer_inputs(module, head, inputs[picked])
            if now.shape == kept[picked].shape and bool(
                (np.abs(now - kept[picked]) <= _AGREED * np.abs(now).max(initial=1e-30)).all()
            ):
                return kept
        begun = time.monotonic()
        batches = [inputs[start : start + _BATCH] for start in range(0, len(inputs), _BATCH)]
        made = np.concatenate([layer_inputs(module, head, batch) for batch in batches])
        if place is not None and (self.folder or time.monotonic() - begun > _WORTH_KEEPING):
            note = {"key": key, "number": number, "sha256": hashlib.sha256(made.tobytes()).hexdigest()}
            content = pack_tensors({"features": torch.from_numpy(made)}, note)
            # Nobody asked for the usual folder: where it cannot be written to, features are computed again next time.
            with nullcontext() if self.folder else suppress(PactError):
                write_atomically(place, content)
        return made

    def _place(self, key: str, number: int) -> Path | None:
        if not key:
            return None
        folder = as_path(self.folder, where="cache") if self.folder else cache_folder() / "features"
        return folder / key[:32] / f"{number:06}.safetensors"


def feature_key(module: nn.Module, head: str, samples: Samples) -> str:
    """sha256 over all that decides the features: code, tensors but the head's, samples, versions; "" without source.

    A fixed preprocessing is a part of the module, so its settings are in the hash of the code.
    """
    code = hash_source(module, module)
    if not code:
        return ""
    own = {f"{head}.{name}" for name, _ in module.get_submodule(head).named_parameters()}
    digest = hashlib.sha256()
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if name not in own:
            digest.update(f"{delimit(name)} {tensor.dtype} {tuple(tensor.shape)};".encode())
            digest.update(tensor.detach().contiguous().numpy().tobytes())
    told = {
        "code": code,
        "tensors": digest.hexdigest(),
        "head": head,
        "samples": samples.fingerprint(),
        "count": samples.count,
        "block": _BLOCK,
        "netpact": __version__,
        "torch": str(torch.__version__),
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def layer_inputs(module: nn.Module, name: str, inputs: Features) -> Features:
    """What the named linear layer receives for these inputs; its output must be what the network returns."""
    calls: list[tuple[Tensor, Tensor]] = []

    def note(_layer: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> None:
        calls.append((given[0], output))

    handle = module.get_submodule(name).register_forward_hook(note)
    try:
        logits = module(torch.from_numpy(inputs))
    finally:
        handle.remove()
    if not calls or calls[-1][0].dim() != 2 or not torch.equal(logits, calls[-1][1]):
        raise PactError("the last linear layer's output is not what the network returns", where=name)
    return np.asarray(calls[-1][0].numpy(), dtype=np.float32)


def _read(place: Path, key: str, number: int) -> Features | None:
    """What this program wrote for this key; None where there is nothing, or anything else."""
    if not place.is_file():
        return None
    try:
        found: TensorFile = read_tensors(place)
    except PactError:
        return None
    kept, note = found.tensors.get("features"), found.note or {}
    if kept is None or kept.dtype != torch.float32 or kept.dim() != 2:
        return None
    array = np.ascontiguousarray(kept.numpy())
    told = {"key": key, "number": number, "sha256": hashlib.sha256(array.tobytes()).hexdigest()}
    return array if note == told and bool(np.isfinite(array).all()) else None
