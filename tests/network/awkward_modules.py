"""The zoo: small modules with something awkward in each, those that are handled and those that are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrizations

from netpact.datasets import ArraySamples, Data


def drawn(*shape: int, classes: int = 3, count: int = 6) -> Data:
    x = np.random.default_rng(0).random((count, *shape)).astype(np.float32)
    samples = ArraySamples(x, np.arange(count) % classes, "drawn", classes)
    return Data("drawn", classes, samples)


class With(nn.Module):
    """A linear classifier of four numbers, further parts, and a forward of the test's own."""

    def __init__(self, then: Callable[..., object] | None = None, **parts: object) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)
        self.then = then
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x: Tensor) -> object:
        return self.head(x) if self.then is None else self.then(self, x)


class Buffered(nn.Module):
    def __init__(self, *, used: bool) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)
        self.used = used
        self.shift: Tensor
        self.register_buffer("shift", torch.tensor([0.5, -1.0, 2.0, 0.25]))
        self.register_buffer("count", torch.tensor(7), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x + self.shift if self.used else x)


class Shared(nn.Module):
    """One layer three times, once around a skip."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 5)
        self.again = nn.Linear(5, 5)
        self.head = nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.first(x))
        x = torch.tanh(self.again(x))
        x = x + functional.relu(self.again(x))
        return self.head(functional.relu(self.again(x)))


class Tied(nn.Module):
    """Two modules, one Parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.tanh(self.second(torch.tanh(self.first(x)))))


class TwoNames(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.early = nn.Linear(4, 4)
        self.late = self.early
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.tanh(self.late(torch.tanh(self.early(x)))))


class Straying(nn.Module):
    """A layer's weights are used a second time, past the layer."""

    def __init__(self) -> None:
        super().__init__()
        self.wide, self.norm, self.head = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(functional.linear(self.norm(self.wide(x)), self.wide.weight.t()))


class Listed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.ends = nn.ModuleDict({"head": nn.Linear(4, 3)})

    def forward(self, x: Tensor) -> Tensor:
        for step in self.steps:
            x = x + torch.tanh(step(x))
        return self.ends["head"](x)


def image_net(*middle: nn.Module, features: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), *middle, nn.Flatten(), nn.Linear(features, 3))


def spread_norm(norm: nn.BatchNorm1d | nn.BatchNorm2d) -> nn.Module:
    """Batch norm as training leaves it: not 0 and 1."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    nn.init.uniform_(norm.running_mean, -1, 1)
    nn.init.uniform_(norm.running_var, 0.2, 2)
    if norm.affine:
        nn.init.uniform_(norm.weight, -2, 2)
        nn.init.uniform_(norm.bias, -1, 1)
    return norm


def deep() -> nn.Module:
    inner: nn.Module = nn.Linear(4, 4)
    for _ in range(12):
        inner = nn.Sequential(inner, nn.Identity())
    return nn.Sequential(inner, nn.Tanh(), nn.Sequential(nn.Sequential(nn.Linear(4, 3))))


def watched() -> nn.Module:
    module = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 3))
    module[0].register_forward_hook(lambda part, inputs, output: None)
    return module


IMAGE = (2, 6, 6)
VECTOR = (4,)
HANDLED: dict[str, tuple[tuple[int, ...], Callable[[], nn.Module]]] = {
    "in-place ReLU": (IMAGE, lambda: image_net(nn.ReLU(inplace=True), nn.Conv2d(4, 2, 3), features=32)),
    "functional": (VECTOR, lambda: With(lambda s, x: s.head(functional.gelu(s.a(x))), a=nn.Linear(4, 4))),
    "shared": (VECTOR, Shared),
    "tied": (VECTOR, Tied),
    "two names": (VECTOR, TwoNames),
    "buffer that matters": (VECTOR, lambda: Buffered(used=True)),
    "buffer that does not": (VECTOR, lambda: Buffered(used=False)),
    "groups": (IMAGE, lambda: image_net(nn.ReLU(), nn.Conv2d(4, 6, 3, groups=2), features=96)),
    "dilation": (IMAGE, lambda: image_net(nn.ReLU(), nn.Conv2d(4, 3, 2, dilation=2, stride=2), features=12)),
    "padding": (IMAGE, lambda: image_net(nn.Conv2d(4, 1, 3, padding=1, padding_mode="reflect"), features=36)),
    "pre-activation": (
        IMAGE,
        lambda: image_net(spread_norm(nn.BatchNorm2d(4)), nn.ReLU(), nn.Conv2d(4, 2, 3), features=32),
    ),
    "max pooling": (IMAGE, lambda: image_net(nn.MaxPool2d(3, stride=2), features=16)),
    "average pooling": (IMAGE, lambda: image_net(nn.AvgPool2d(3, stride=1), features=64)),
    "training mode": (VECTOR, lambda: nn.Sequential(nn.Linear(4, 3), nn.Dropout(), nn.BatchNorm1d(3)).train()),
    "nested deeply": (VECTOR, deep),
    "lists and dicts": (VECTOR, Listed),
    "hook that looks": (VECTOR, watched),
    "weights used elsewhere": (VECTOR, Straying),
    "one layer": (VECTOR, lambda: nn.Linear(4, 3)),
}


class TwoInputs(With):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return self.head(x + y)


class OptimizedModule(nn.Module):
    """Looks as what torch.compile gives, which takes seconds to make."""

    def __init__(self) -> None:
        super().__init__()
        self._orig_mod = nn.Linear(4, 3)


def with_nan() -> nn.Module:
    module = With()
    with torch.no_grad():
        module.head.weight[1, 2] = float("nan")
    return module


def with_complex() -> nn.Module:
    module = With()
    module.head.register_buffer("turn", torch.ones(1) * 1j)
    return module


def hooked(*, before: bool) -> nn.Module:
    module = With()
    if before:
        module.head.register_forward_pre_hook(lambda part, inputs: (inputs[0] * 2,))
    else:
        module.head.register_forward_hook(lambda part, inputs, output: output * 2)
    return module


def bounce(module: With, x: Tensor) -> Tensor:
    y = module.head(x)
    return y + 1 if y.mean() > 0 else y


def loop(module: With, x: Tensor) -> Tensor:
    y = module.head(x)
    for value in y.flatten():
        y = y + (1 if value > 0 else 0)
    return y


def train_norm(module: With, x: Tensor) -> Tensor:
    return functional.batch_norm(module.head(x), None, None, training=True)


MIXING = "a sample's logits depend on the other samples of its batch"
DECIDES = "what runs next could depend on the sample"
# What is refused, and the lines that the error must have, all of them.
REFUSED: dict[str, tuple[Callable[[], nn.Module], tuple[str, ...]]] = {
    "half": (lambda: With().half(), ("head (Linear): weight is torch.float16, only float32", "bias is torch.float16")),
    "bfloat16": (lambda: With().bfloat16(), ("head (Linear): weight is torch.bfloat16, only float32",)),
    "double": (lambda: With().double(), ("head (Linear): weight is torch.float64, only float32",)),
    "complex": (with_complex, ("head (Linear): turn is sparse, quantized or complex",)),
    "NaN": (with_nan, ("head (Linear): weight holds NaN or infinity",)),
    "hidden tensor": (lambda: With(table=[torch.ones(3)]), ("table: outside parameters and buffers",)),
    "nested hidden tensor": (lambda: With(table={"a": [(torch.ones(3),)]}), ("table: outside parameters",)),
    "hidden array": (lambda: With(numbers=np.ones(3)), ("numbers: outside parameters and buffers",)),
    "input shape": (lambda: nn.Linear(5, 3), ("it does not run on inputs of shape (4,)",)),
    "two inputs": (TwoInputs, ("it does not run on inputs of shape (4,): TwoInputs.forward() missing 1 required",)),
    "classes": (lambda: nn.Linear(4, 7), ("logits of shape (4, 7), must be (4, 3)",)),
    "tuple": (lambda: With(lambda s, x: (s.head(x), x)), ("it returns tuple, must return one tensor of logits",)),
    "dict": (lambda: With(lambda s, x: {"y": s.head(x)}), ("it returns dict, must return one tensor of logits",)),
    "constant": (lambda: With(lambda s, x: torch.zeros(4, 3)), ("what it returns is not computed from its input",)),
    "layer on a constant": (
        lambda: With(lambda s, x: s.head(x) + s.head(torch.ones(1, 4).to(x.dtype))),
        ("head: runs on something that does not come from the input, and elsewhere on what does",),
    ),
    "branch": (lambda: With(bounce), (f"operation bool: {DECIDES}",)),
    "item": (lambda: With(lambda s, x: s.head(x) + x.mean().item()), (f"operation item: {DECIDES}", MIXING)),
    "mask": (lambda: With(lambda s, x: s.head(x) + x[x > 0.5].mean()), (MIXING,)),
    "loop over values": (lambda: With(loop), (f"operation bool: {DECIDES}",)),
    "batch mean": (lambda: With(lambda s, x: s.head(x + x.mean(0))), (MIXING,)),
    "batch size": (lambda: With(lambda s, x: s.head(x + 1) if len(x) > 2 else s.head(x)), (MIXING,)),
    "flip": (lambda: With(lambda s, x: s.head(torch.cat([x[1:], x[:1]]))), (MIXING,)),
    "dropout": (
        lambda: With(lambda s, x: functional.dropout(s.head(x), training=True)),
        ("two runs on the same samples give different logits",),
    ),
    "noise": (
        lambda: With(lambda s, x: s.head(x) + torch.randn(3)),
        ("two runs on the same samples give different logits",),
    ),
    "norm of the batch": (
        lambda: With(train_norm),
        ("not in batches of another",),
    ),
    "norm without statistics": (
        lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, track_running_stats=False)),
        ("not in batches of another",),
    ),
    "weight norm": (
        lambda: nn.Sequential(parametrizations.weight_norm(nn.Linear(4, 3))),
        ("0 (ParametrizedLinear): its weight is computed from other tensors: use torch.nn.utils.parametrize.remove",),
    ),
    "spectral norm": (
        lambda: nn.Sequential(parametrizations.spectral_norm(nn.Linear(4, 3))),
        ("0 (ParametrizedLinear): its weight is computed from other tensors",),
    ),
    "lazy": (
        lambda: nn.Sequential(nn.LazyLinear(3)),
        ("0 (LazyLinear): weight has no shape yet: run the module once",),
    ),
    "meta": (lambda: nn.Linear(4, 3, device="meta"), ("weight is on the meta device", "bias is on the meta device")),
    "DataParallel": (
        lambda: nn.DataParallel(nn.Linear(4, 3)),
        ("the module itself (DataParallel)", "give its .module"),
    ),
    "compiled": (OptimizedModule, ("is compiled by torch.compile, which cannot be watched: give its ._orig_mod",)),
    "hook that changes": (lambda: hooked(before=False), ("head: forward hooks change what the network computes",)),
    "hook before": (lambda: hooked(before=True), ("head: forward hooks change what the network computes",)),
    "no parameters": (nn.Identity, ("there are no parameters",)),
}
