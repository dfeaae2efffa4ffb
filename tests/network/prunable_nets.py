"""Small networks with channels that can be removed, and with some that cannot."""

from __future__ import annotations

from collections.abc import Callable

import torch
from network.awkward_modules import HANDLED, spread_norm
from torch import Tensor, nn
from torch.nn import functional

from netpact.models import build, parse_model

IMAGE = (2, 8, 8)
CLASSES = 3


class Skipping(nn.Module):
    """Two sums in a row, a concatenation, and a linear layer behind a flattened image."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(2, 6, 3, padding=1), nn.BatchNorm2d(6)
        self.inner, self.back = nn.Conv2d(6, 5, 3, padding=1), nn.Conv2d(5, 6, 1)
        self.side = nn.Conv2d(6, 4, 3, padding=1, bias=False)
        self.head = nn.Linear(10 * 16, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.norm(self.stem(x)))
        x = x + self.back(functional.gelu(self.inner(x)))
        x = functional.max_pool2d(functional.leaky_relu(x), 2)
        return self.head(torch.cat([self.side(x), x], dim=1).flatten(1))


class FixedSizes(nn.Module):
    """The program itself says how many channels there are."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.more, self.head = nn.Conv2d(2, 4, 3), nn.Conv2d(4, 5, 3), nn.Linear(5 * 16, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(functional.relu(self.more(functional.relu(self.conv(x)))).view(-1, 80))


class Halves(nn.Module):
    """Channels are told apart by their place."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv2d(2, 6, 3), nn.Linear(6, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        first, second = self.conv(x)[:, :4], self.conv.weight.new_zeros(1) + functional.relu(self.conv(x)[:, 4:])
        return self.head(torch.cat([second, first], dim=1).mean((2, 3)))


class Sliced(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv2d(2, 6, 3), nn.Linear(6, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        return self.head(torch.cat([x[:, 4:], functional.relu(x[:, :4])], dim=1).mean((2, 3)))


def chain(*middle: nn.Module) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), *middle, nn.Flatten(), nn.Linear(middle_features(middle), CLASSES)
    )


def middle_features(middle: tuple[nn.Module, ...]) -> int:
    with torch.no_grad():
        return int(nn.Sequential(*middle).eval()(torch.zeros(1, 4, 8, 8)).numel())


def ours(name: str) -> Callable[[], nn.Module]:
    return lambda: build(parse_model(name, input_shape=IMAGE, classes=CLASSES))


# By name: the network, and how many filters can be removed, those that go together counted once.
REMOVABLE: dict[str, tuple[Callable[[], nn.Module], int]] = {
    "sums and joins": (Skipping, 6 + 5 + 4),
    "mlp": (ours("mlp:9-7"), 16),
    "conv": (ours("conv:5-6"), 11),
    "vgg": (ours("vgg:11-2-1"), 2 + 4 + 8 * 2 + 16 * 4),
    "folded vgg": (ours("vgg:11-2-2"), 2 + 4 + 8 * 2 + 16 * 4),
    "resnet": (ours("resnet:8-2-1"), 2 + 2 + 4 + 8),
    "preresnet": (ours("preresnet:8-2-1"), 2 + 2 + 4 + 8),
    "wrn": (ours("wrn:10-1-1"), 16 + 16 + 32 + 32 + 64 + 64),
    "densenet": (ours("densenet:7-3-1"), 16 + 3 + 19 + 3 + 22 + 3),
    "norm without weights": (lambda: chain(nn.BatchNorm2d(4, affine=False), nn.ReLU(), nn.Conv2d(4, 3, 3)), 7),
    "average pooling": (lambda: chain(nn.AvgPool2d(2), nn.Tanh(), nn.Conv2d(4, 3, 1)), 7),
    "adaptive pooling": (lambda: chain(nn.AdaptiveAvgPool2d(2), nn.Conv2d(4, 3, 1)), 7),
    "in place": (lambda: chain(nn.ReLU(inplace=True), nn.Conv2d(4, 3, 3), nn.ELU(inplace=True)), 7),
    "groups behind": (lambda: chain(nn.Conv2d(4, 6, 3), nn.ReLU(), nn.Conv2d(6, 6, 3, groups=2)), 4),
    "sigmoid behind": (lambda: chain(nn.Conv2d(4, 6, 3), nn.Sigmoid()), 4),
    "sizes in the program": (FixedSizes, 4),
}
# And what stays as a whole, with the reason.
STAYING: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "groups": (lambda: chain(nn.ReLU(), nn.Conv2d(4, 4, 3, groups=4)), "2 has 4 groups"),
    "sigmoid": (lambda: chain(nn.Sigmoid()), "sigmoid makes another number of 0"),
    "shuffled": (lambda: chain(nn.PixelShuffle(2), nn.Conv2d(1, 2, 3), nn.Sigmoid()), "2 takes one channel of it for"),
    "slices": (Sliced, "its own code depends on the number of channels"),
    "twice": (Halves, "conv runs several times"),
    "one filter": (lambda: nn.Sequential(nn.Conv2d(2, 1, 3), nn.Flatten(), nn.Linear(36, 3)), "it has one filter"),
}


def spread(module: nn.Module) -> nn.Module:
    """In eval mode, with weights of its own, batch norm as training leaves it and biases that are not 0."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(5)
        for part in module.modules():
            if isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d)):
                spread_norm(part)
            elif isinstance(part, (nn.Linear, nn.Conv2d)):
                nn.init.kaiming_normal_(part.weight)
                if part.bias is not None:
                    nn.init.uniform_(part.bias, -0.2, 0.5)
    return module.eval()


ZOO = {name: (shape, make) for name, (shape, make) in HANDLED.items() if name != "training mode"}
