"""Train a ResNet on CIFAR-10 in minutes, for the benchmarks that take trained weights.

Nesterov momentum, a learning rate that rises and falls once, random crops and flips, bfloat16 products: one thread or
two, no GPU. The accuracy that it reaches on the test images is printed and stands in no bound.

Run: python benchmarks/train_resnet.py resnet-20 W.safetensors [--epochs 16] [--seed 0]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from netpact import load_data
from netpact.core.seed import Seed
from netpact.models import build, parse_model, save_weights

BATCH = 128
PEAK_RATE = 0.4
WEIGHT_DECAY = 5e-4


def vary(x: Tensor, generator: torch.Generator) -> Tensor:
    """Crops of the image padded by 4, and flips: one draw for each image."""
    count, _, height, width = x.shape
    padded = functional.pad(x, (4, 4, 4, 4))
    rows = torch.randint(0, 9, (count, 1), generator=generator) + torch.arange(height)
    columns = torch.randint(0, 9, (count, 1), generator=generator) + torch.arange(width)
    flipped = torch.rand(count, 1, generator=generator) < 0.5
    columns = torch.where(flipped, columns.flip(1), columns)
    images = torch.arange(count)[:, None, None]
    return padded.permute(0, 2, 3, 1)[images, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def train(module: nn.Module, x: Tensor, y: Tensor, *, epochs: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    steps = epochs * (len(x) // BATCH)
    optimizer = torch.optim.SGD(
        module.parameters(), lr=PEAK_RATE, momentum=0.9, weight_decay=WEIGHT_DECAY, nesterov=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, total_steps=steps, pct_start=0.25)
    module.train().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    for epoch in range(epochs):
        start, total = time.perf_counter(), 0.0
        order = torch.randperm(len(x), generator=generator)
        for batch in order[: len(x) // BATCH * BATCH].split(BATCH):
            images = vary(x[batch], generator).contiguous(memory_format=torch.channels_last)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = functional.cross_entropy(module(images).float(), y[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        seconds, mean = time.perf_counter() - start, total / (len(x) // BATCH)
        print(f"epoch {epoch + 1}: loss {mean:.3f}, {seconds:.0f} s", flush=True)


@torch.no_grad()
def accuracy(module: nn.Module, x: Tensor, y: Tensor) -> float:
    module.eval()
    parts = zip(x.split(500), y.split(500), strict=True)
    return 100 * sum(int((module(a).argmax(1) == b).sum()) for a, b in parts) / len(y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out", type=Path)
    parser.add_argument("--epochs", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    data = load_data("cifar10")
    assert data.test is not None
    architecture = parse_model(given.model, input_shape=data.input_shape, classes=data.classes)
    module: nn.Module = build(architecture, seed=Seed(given.seed))
    x, y = (torch.cat([torch.from_numpy(part[i]) for part in data.train.batches(5000)]) for i in (0, 1))
    train(module, x, y, epochs=given.epochs, seed=given.seed)
    module = module.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    save_weights(module, given.out)
    a, b = (torch.cat([torch.from_numpy(part[i]) for part in data.test.batches(5000)]) for i in (0, 1))
    print(f"test accuracy {accuracy(module, a, b):.2f} %")


if __name__ == "__main__":
    main()
