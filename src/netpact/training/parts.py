"""What plain training and co-teaching have in common: the parts of an epoch, and what is checked before the first."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import Data, Samples, as_samples
from netpact.training.epoch import Epoch
from netpact.training.evaluation import error_rate
from netpact.training.memory import Memory
from netpact.training.options import OPTIMIZERS, TrainOptions


def choose_test(test: Samples | Data) -> Samples:
    if not isinstance(test, Data):
        return as_samples(test, name="test")
    if test.test is None:
        raise PactError("these data have no test part", where=test.name)
    return test.test


def check_parts(data: Memory, held: Memory | None, options: TrainOptions) -> None:
    if held is not None and (held.input_shape, held.classes) != (data.input_shape, data.classes):
        raise PactError("input shape or number of classes differ from the training data", where=held.name)
    if options.augmentation is not None:
        options.augmentation.check_fits(data.input_shape, where=data.name)


def make_optimizer(trainee: nn.Module, options: TrainOptions) -> torch.optim.Optimizer:
    parameters = [parameter for parameter in trainee.parameters() if parameter.requires_grad]
    if not parameters:
        raise PactError("the network has no trainable parameters", where="network", hint="check requires_grad")
    return OPTIMIZERS[options.optimizer](parameters, options)


def measure_epoch(
    trainee: nn.Module, data: Memory, held: Memory | None, *, epoch: int, loss: float, started: float
) -> Epoch:
    errors, count = error_rate(trainee, data)
    test_error = None
    if held is not None:
        test_errors, test_count = error_rate(trainee, held)
        test_error = test_errors / test_count
    return Epoch(epoch, loss, errors / count, test_error, time.perf_counter() - started)


def batch_bounds(count: int, size: int) -> list[tuple[int, int]]:
    """Batch borders; one leftover sample joins the batch before it, as batch norm cannot take a batch of one."""
    starts = list(range(0, count, size))
    if size > 1 and len(starts) > 1 and count - starts[-1] == 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], count], strict=True))


@contextmanager
def own_randomness(seed: Seed, device: torch.device) -> Iterator[None]:
    """Layers such as dropout draw from torch's global generators: seed these, and put them back afterwards."""
    number = seed.torch().initial_seed()
    on_cuda = device.type == "cuda"
    with torch.random.fork_rng(devices=[device] if on_cuda else []):
        torch.default_generator.manual_seed(number)
        if on_cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(number)
        yield


def diverged(number: int, options: TrainOptions) -> PactError:
    return PactError(
        "the loss, the weights or the outputs became NaN or infinite",
        where=f"training, epoch {number}",
        hint=f"lower the learning rate (now {options.learning_rate:g}) and check the scale of the inputs",
    )
