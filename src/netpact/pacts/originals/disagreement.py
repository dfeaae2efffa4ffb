"""Where two networks are not proven to predict the same class, and the name of a network by its weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from netpact.core.checks import check_instance
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import Data, Samples, mixed_batches
from netpact.models import Architecture, is_as_built
from netpact.models.tensors import delimit
from netpact.network import CountingRun, refuse_bad_logits
from netpact.network.refusals.hidden_state import hidden_tensors

ORIGINAL_ARITHMETIC = "float32"  # what PyTorch networks are trained and run in
_BATCH = 512


@dataclass(frozen=True)
class Bounds:
    """Between these two numbers lies each logit of every run in the stated precision."""

    lower: Tensor
    upper: Tensor


@dataclass(frozen=True)
class DisagreementCount:
    """disagreements are all samples without proof of agreement; uncertain are those among them within rounding."""

    disagreements: int
    uncertain: int
    samples: int


def count_disagreements(
    first: CountingRun, second: CountingRun, samples: Samples, *, progress: Progress | None = None
) -> DisagreementCount:
    """How many samples the two networks are not proven to put into the same class.

    A prediction is certain if its lower bound exceeds the upper bounds of all other classes. A sample counts as a
    disagreement if either prediction is uncertain, or both are certain and differ.
    """
    disagreements = uncertain = 0
    for one, other in logit_bounds(first, second, samples, batch=_BATCH, progress=progress):
        (class_one, sure_one), (class_other, sure_other) = _predict(one), _predict(other)
        sure = sure_one & sure_other
        disagreements += int((~sure | (class_one != class_other)).sum())
        uncertain += int((~sure).sum())
    return DisagreementCount(disagreements, uncertain, samples.count)


def _predict(bounds: Bounds) -> tuple[Tensor, Tensor]:
    """The class with the highest lower bound, and whether no other class can reach it."""
    best, winner = bounds.lower.max(dim=1)
    rivals = bounds.upper.scatter(1, winner[:, None], -torch.inf)
    return winner, best > rivals.amax(dim=1)


def logit_bounds(
    first: CountingRun, second: CountingRun, samples: Samples, *, batch: int, progress: Progress | None
) -> Iterator[tuple[Bounds, Bounds]]:
    """Both networks' logits, batch by batch; NaN and a different number of classes are refused."""
    seen = 0
    for inputs, labels, places in mixed_batches(samples, batch, turn=1):
        pair = [run.decide(inputs, places) for run in (first, second)]
        for logits in pair:
            refuse_bad_logits(logits, np.zeros_like(labels), places)
        one, other = (Bounds(logits.values - logits.spread, logits.values + logits.spread) for logits in pair)
        if one.lower.shape != other.lower.shape:
            raise PactError(
                f"the compressed network has {one.lower.shape[1]} classes, the original {other.lower.shape[1]}",
                where="original network",
            )
        yield one, other
        seen += len(inputs)
        if progress is not None:
            progress(seen, samples.count)
    for run in (first, second):
        run.finish()


def check_original(original: nn.Module) -> None:
    """The original must be what its hash says: finite float32 parameters and buffers, and nothing beside them."""
    check_instance(original, nn.Module, where="original network", needed="a torch.nn.Module")
    problems = [
        f"{name}: outside parameters and buffers, so its hash would not cover it" for name in hidden_tensors(original)
    ]
    for name, tensor in _tensors(original).items():
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            problems.append(f"{name} is {tensor.dtype}, only {ORIGINAL_ARITHMETIC} is supported: use .float()")
        elif not bool(torch.isfinite(tensor).all()):
            problems.append(f"{name} holds NaN or infinity")
    if problems:
        raise PactError("; ".join(problems), where=f"original network {type(original).__name__}")


def check_inputs_fit(samples: Samples, data: Data) -> None:
    if samples.input_shape != data.input_shape:
        raise PactError(
            f"the unlabelled inputs have shape {samples.input_shape}, the data {data.input_shape}", where=samples.name
        )


def name_network(module: nn.Module) -> str:
    """The short name of an architecture of ours, or where the module's class is defined."""
    stated = getattr(module, "netpact_architecture", None)
    if isinstance(stated, Architecture) and is_as_built(module, stated):
        return str(stated)
    return f"{type(module).__module__}:{type(module).__qualname__}"


def hash_network(module: nn.Module) -> str:
    """sha256 over name, type, shape and little-endian bytes of every parameter, then of every buffer.

    Names are delimited, and type and shape tell how many bytes follow, so no two networks are hashed as one text.
    """
    digest = hashlib.sha256()
    for name, tensor in _tensors(module).items():
        array = tensor.detach().cpu().contiguous().numpy()
        little = array.astype(array.dtype.newbyteorder("<"))
        digest.update(f"{delimit(name)} {tensor.dtype} {tuple(tensor.shape)};".encode() + little.tobytes())
    return digest.hexdigest()


def _tensors(module: nn.Module) -> dict[str, Tensor]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}
