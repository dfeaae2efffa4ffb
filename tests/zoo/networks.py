"""Small versions of the networks in use, written as their papers and libraries write them; one class each.

Each entry says what it takes and how it is certified. Nothing here knows netpact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

CLASSES = 3


def _conv(inputs: int, outputs: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> nn.Sequential:
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs))


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first, self.second = _conv(inputs, outputs, 3, stride), _conv(outputs, outputs)
        self.stride, self.more = stride, outputs - inputs

    def forward(self, x: Tensor) -> Tensor:
        y = self.second(functional.relu(self.first(x)))
        x = functional.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.more))
        return functional.relu(x + y)


class ResNet56(nn.Module):
    """He et al. 2016, section 4.2: 3 x 9 blocks, shortcuts without weights; 2 channels in place of 16."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = _conv(3, 2)
        widths = [2] * 9 + [4] * 9 + [8] * 9
        before = [2, *widths[:-1]]
        self.blocks = nn.Sequential(*(Residual(a, b, b // a) for a, b in zip(before, widths, strict=True)))
        self.head = nn.Linear(8, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.head(self.blocks(functional.relu(self.stem(x))).mean((2, 3)))
        return found


class Squeeze(nn.Module):
    """Squeeze and excitation (Hu et al. 2018): channels times what is computed from their means."""

    def __init__(self, width: int, gate: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.down, self.up, self.gate = nn.Conv2d(width, 2, 1), nn.Conv2d(2, width, 1), gate

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gate(self.up(functional.relu(self.down(functional.adaptive_avg_pool2d(x, 1)))))


class Inverted(nn.Module):
    """An inverted residual: wide, depthwise, narrow."""

    def __init__(self, width: int, outputs: int, stride: int, act: type[nn.Module], gate: Any = None) -> None:
        super().__init__()
        wide = 2 * width
        parts: list[nn.Module] = [_conv(width, wide, 1), act(), _conv(wide, wide, 3, stride, groups=wide), act()]
        parts += [] if gate is None else [Squeeze(wide, gate)]
        self.body = nn.Sequential(*parts, _conv(wide, outputs, 1))
        self.skips = stride == 1 and width == outputs

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.body(x)
        return x + found if self.skips else found


class Mobile(nn.Module):
    """MobileNetV2 (ReLU6), MobileNetV3 (hardswish, SE with hardsigmoid), EfficientNet (SiLU, SE with sigmoid)."""

    def __init__(self, act: type[nn.Module], gate: Any = None) -> None:
        super().__init__()
        self.stem = nn.Sequential(_conv(3, 4, 3, 2), act())
        self.blocks = nn.Sequential(Inverted(4, 4, 1, act, gate), Inverted(4, 6, 2, act, gate))
        self.last = nn.Sequential(_conv(6, 12, 1), act())
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(12, CLASSES))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.head(self.last(self.blocks(self.stem(x))).mean((2, 3)))
        return found


class ChannelNorm(nn.Module):
    """Layer norm over the channels of an image, written out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(1, keepdim=True)
        centred = x - mean
        x = centred / torch.sqrt(centred.pow(2).mean(1, keepdim=True) + 1e-2)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class ConvNeXt(nn.Module):
    """Liu et al. 2022: depthwise 7 x 7, layer norm on the last axis, GELU, a scale for each channel."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.first = nn.Conv2d(3, 4, 2, 2), ChannelNorm(4)
        self.depth, self.norm = nn.Conv2d(4, 4, 7, padding=3, groups=4), nn.LayerNorm(4, eps=1e-2)
        self.wide, self.narrow = nn.Linear(4, 8), nn.Linear(8, 4)
        self.gamma = nn.Parameter(0.5 * torch.ones(4))
        self.last, self.head = nn.LayerNorm(4, eps=1e-2), nn.Linear(4, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(self.stem(x))
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        x = x + (self.gamma * self.narrow(functional.gelu(self.wide(y)))).permute(0, 3, 1, 2)
        found: Tensor = self.head(self.last(x.mean((-2, -1))))
        return found


class ViT(nn.Module):
    """Dosovitskiy et al. 2021: patches, a class token, places, encoder layers; statistics of the inputs as buffers."""

    mean: Tensor
    std: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.5, 0.45, 0.4]).view(3, 1, 1))
        self.register_buffer("std", torch.tensor([0.25, 0.25, 0.3]).view(3, 1, 1))
        self.patches = nn.Conv2d(3, 8, 4, 4)
        self.token, self.places = nn.Parameter(torch.randn(1, 1, 8)), nn.Parameter(torch.randn(1, 5, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches((x - self.mean) / self.std).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.places
        found: Tensor = self.head(self.norm(self.encoder(x))[:, 0])
        return found


class Mixer(nn.Module):
    """Tolstikhin et al. 2021: layers along the places and along the channels."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 6, 4, 4)
        self.norms = nn.ModuleList(nn.LayerNorm(6) for _ in range(3))
        self.tokens = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
        self.channels = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6))
        self.head = nn.Linear(6, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = x + self.tokens(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channels(self.norms[1](x))
        found: Tensor = self.head(self.norms[2](x).mean(1))
        return found


class Text(nn.Module):
    """Embeddings, places, attention that leaves padding out, a mean over what is there; returns a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(20, 6, padding_idx=0), nn.Embedding(8, 6)
        self.look = nn.MultiheadAttention(6, 2, batch_first=True)
        self.norm, self.head = nn.LayerNorm(6), nn.Linear(6, CLASSES)

    def forward(self, tokens: Tensor) -> dict[str, Tensor]:
        padding = tokens == 0
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        x = self.norm(x + self.look(x, x, x, key_padding_mask=padding)[0]).masked_fill(padding[..., None], 0.0)
        x = x.sum(1) / (~padding).sum(1, keepdim=True).to(x.dtype)
        return {"logits": self.head(x), "features": x}


class Signal(nn.Module):
    """A net for one-dimensional signals: dilated convolutions, group norm, a gate; one logit."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv1d(2, 4, 5, padding=2), nn.GroupNorm(2, 4)
        self.filter, self.gate = (nn.Conv1d(4, 4, 3, padding=2, dilation=2) for _ in range(2))
        self.head = nn.Linear(4, 1)

    def forward(self, signal: Tensor) -> Tensor:
        x = functional.leaky_relu(self.norm(self.first(signal)), 0.1)
        x = x + torch.tanh(self.filter(x)) * torch.sigmoid(self.gate(x))
        found: Tensor = self.head(functional.adaptive_avg_pool1d(x, 1).flatten(1))
        return found


class Recurrent(nn.Module):
    """An LSTM over tokens; its last output is classified."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.memory = nn.Embedding(20, 5), nn.LSTM(5, 6, batch_first=True)
        self.head = nn.Linear(6, CLASSES)

    def forward(self, tokens: Tensor) -> Tensor:
        found: Tensor = self.head(self.memory(self.words(tokens))[0][:, -1])
        return functional.log_softmax(found, dim=1)


@dataclass(frozen=True)
class Entry:
    make: Callable[[], nn.Module]
    inputs: str
    arithmetic: str = "float32"
    output: str = ""
    classes: int = CLASSES


ZOO: dict[str, Entry] = {
    "ResNet-56": Entry(ResNet56, "images", "float64"),
    "MobileNetV2": Entry(lambda: Mobile(nn.ReLU6), "images", "float64"),
    "MobileNetV3": Entry(lambda: Mobile(nn.Hardswish, functional.hardsigmoid), "images", "float64"),
    "EfficientNet": Entry(lambda: Mobile(nn.SiLU, torch.sigmoid), "images", "float64"),
    "ConvNeXt": Entry(ConvNeXt, "images", "float64"),
    "ViT": Entry(ViT, "images", "float64"),
    "MLP-Mixer": Entry(Mixer, "images", "float64"),
    "text, attention": Entry(Text, "tokens", "float64", "logits"),
    "1-d signal": Entry(Signal, "signal", classes=2),
    "LSTM": Entry(Recurrent, "tokens", "as-run"),
}


def make(name: str) -> nn.Module:
    """The network with the weights that its seed gives; norms as if it had been trained."""
    torch.manual_seed(0)
    module = ZOO[name].make()
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            assert part.running_mean is not None
            assert part.running_var is not None
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.5, 1.5)
    return module.eval()


def inputs_of(name: str, count: int) -> Any:
    random = np.random.default_rng(len(name))
    if ZOO[name].inputs == "images":
        return random.random((count, 3, 8, 8), dtype=np.float32)
    if ZOO[name].inputs == "signal":
        return {"signal": random.normal(size=(count, 2, 12)).astype(np.float32)}
    tokens = random.integers(1, 20, size=(count, 8))
    tokens[:, 6:] *= random.integers(0, 2, size=(count, 2))  # some of the last are padding
    return {"tokens": tokens}


@torch.no_grad()
def labelled(name: str, count: int) -> tuple[Any, Any]:
    """Inputs, and as labels mostly what the network says: one sample in eight is labelled at random."""
    entry, inputs = ZOO[name], inputs_of(name, count)
    module = make(name)
    found = module(**_tensors(inputs)) if isinstance(inputs, dict) else module(torch.from_numpy(inputs))
    logits = found[entry.output] if entry.output else found
    labels = (logits[:, 0] > 0).long() if entry.classes == 2 else logits.argmax(1)
    random = np.random.default_rng(0)
    return inputs, np.where(random.random(count) < 1 / 8, random.integers(0, entry.classes, count), labels.numpy())


def _tensors(inputs: dict[str, Any]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(part) for name, part in inputs.items()}
