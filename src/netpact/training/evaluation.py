"""The plain test: how often the original network, in float32, is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from netpact.core.errors import PactError
from netpact.datasets import Samples
from netpact.datasets.arrays import rows_at_once, rows_in_cache
from netpact.models import Architecture
from netpact.training.memory import checked_batches


def error_rate(module: nn.Module, samples: Samples) -> tuple[int, int]:
    """Errors and number of samples; a tie for the first place is an error. The module's modes are left as they were."""
    check_fits(module, samples)
    device = device_of(module)
    errors = seen = 0
    size = (rows_in_cache if device.type == "cpu" else rows_at_once)(samples.input_shape)
    with _evaluating(module), torch.inference_mode():
        for batch, batch_labels in checked_batches(samples, size):
            labels = torch.as_tensor(batch_labels, device=device)
            logits = run_network(module, torch.as_tensor(batch, device=device), samples.classes)
            finite = torch.isfinite(logits).all(dim=1)
            if not bool(finite.all()):
                index = seen + int(finite.int().argmin())
                raise PactError("the network's output is NaN or infinite", where=f"{samples.name}, sample {index}")
            errors += int(wrong(logits, labels).sum())
            seen += len(labels)
    if seen == 0:
        raise PactError("there are no samples", where=samples.name)
    return errors, seen


def wrong(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """True where the margin logit[y] - max_{j != y} logit[j] is not above 0."""
    column = labels[:, None]
    others = logits.scatter(1, column, float("-inf")).amax(dim=1)
    return logits.gather(1, column)[:, 0] <= others


def run_network(module: nn.Module, inputs: torch.Tensor, classes: int) -> torch.Tensor:
    """The logits, or a PactError where the network cannot take the inputs or does not give one number per class."""
    try:
        logits = module(_arrange(module, inputs))
    except RuntimeError as error:
        first_line = str(error).partition("\n")[0]
        raise PactError(
            f"the network failed on inputs of shape {tuple(inputs.shape)}: {first_line}",
            where="network",
            hint="the first dimension is the batch; check that network and data belong together",
        ) from error
    if not isinstance(logits, torch.Tensor) or tuple(logits.shape) != (len(inputs), classes):
        came = tuple(logits.shape) if isinstance(logits, torch.Tensor) else type(logits).__name__
        raise PactError(f"the output must have shape {(len(inputs), classes)}, got {came}", where="network")
    return logits


def _arrange(module: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """Images as channels_last where that is faster: torch runs depthwise convolutions (CP layers) so on a CPU.

    Only for architectures of ours: other code may call view on what is no longer contiguous.
    """
    ours = isinstance(getattr(module, "netpact_architecture", None), Architecture)
    if ours and inputs.dim() == 4 and inputs.device.type == "cpu" and any(map(_is_depthwise, module.modules())):
        return inputs.to(memory_format=torch.channels_last)  # contiguous() leaves images of one channel as they are
    return inputs


def _is_depthwise(part: nn.Module) -> bool:
    return isinstance(part, nn.Conv2d) and part.groups == part.in_channels > 1


def check_fits(module: nn.Module, samples: Samples) -> None:
    """What can be seen before the network runs: float32, one device, our architecture made for such samples."""
    tensors = dict(module.named_parameters()) | dict(module.named_buffers())
    problems = [
        f"{key} is {value.dtype}"
        for key, value in tensors.items()
        if _is_number(value) and value.dtype != torch.float32
    ]
    if problems:
        raise PactError(f"weights must be float32: {', '.join(problems)}", where="network", hint="call module.float()")
    if len({value.device for value in tensors.values()}) > 1:
        raise PactError("the weights are on several devices", where="network", hint="call module.to(device)")
    architecture = getattr(module, "netpact_architecture", None)
    if not isinstance(architecture, Architecture):
        return
    wanted, came = (architecture.input_shape, architecture.classes), (tuple(samples.input_shape), samples.classes)
    if wanted != came:
        raise PactError(
            f"{architecture} was built for inputs {wanted[0]} and {wanted[1]} classes, "
            f"the samples have {came[0]} and {came[1]}",
            where=samples.name,
        )


def device_of(module: nn.Module) -> torch.device:
    first = next(module.parameters(), next(module.buffers(), None))
    return torch.device("cpu") if first is None else first.device


def _is_number(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        # Part by part: train() on the whole would also wake parts that the user had put to rest.
        for part, mode in modes:
            part.training = mode
