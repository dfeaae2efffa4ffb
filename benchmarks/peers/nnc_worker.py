"""Runs inside nncodec's own environment: codes the weights under every setting and writes down what came back.

Called by nnc.py as: python nnc_worker.py FOLDER, which holds weights.npz and settings.json.
"""

from __future__ import annotations

import contextlib
import io
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch

REPEATS = 3

# nncodec imports torchvision, whose stored builds do not register their operators with a CPU build of torch and then
# fail to load. nncodec calls neither of the two operators; announcing them is enough to get past the import.
_LIBRARY = torch.library.Library("torchvision", "DEF")
for _name in ("nms", "qnms"):
    with contextlib.suppress(RuntimeError):
        _LIBRARY.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

from nncodec.nn import decode, encode  # type: ignore[import-not-found]  # noqa: E402


def code(
    weights: dict[str, np.ndarray], setting: dict[str, object], folder: Path
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Three times for the median of the processor time.

    Sparsification is applied by nncodec only where its epoch counter is above 0.
    """
    options = {**setting, "verbose": False, "results": str(folder)}
    writing, reading = [], []
    for _ in range(REPEATS):
        started = time.process_time()
        bitstream = encode({name: value.copy() for name, value in weights.items()}, args=options, epoch=1)
        middle = time.process_time()
        decoded = decode(bitstream, args=options)
        writing.append(middle - started)
        reading.append(time.process_time() - middle)
    told = {
        "bytes": len(bitstream),
        "encode_ms": 1000 * statistics.median(writing),
        "decode_ms": 1000 * statistics.median(reading),
    }
    return told, decoded


def main() -> None:
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    with np.load(folder / "weights.npz") as stored:
        weights = {name: stored[name] for name in stored.files}
    told = []
    for number, setting in enumerate(json.loads((folder / "settings.json").read_text())):
        with contextlib.redirect_stdout(io.StringIO()):
            result, decoded = code(weights, setting, folder)
        np.savez(folder / f"decoded-{number}.npz", **decoded)  # type: ignore[arg-type]
        told.append(result)
    (folder / "told.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
