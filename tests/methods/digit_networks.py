"""Two small networks that the tests of methods compress."""

from __future__ import annotations

import torch
from torch import nn

from netpact.datasets import Data
from netpact.models import build, parse_model
from netpact.network import Network, trace
from netpact.training import TrainOptions, train


def train_linear(data: Data) -> Network:
    architecture = parse_model("linear", input_shape=data.input_shape, classes=data.classes)
    options = TrainOptions(epochs=3, learning_rate=0.02)
    return trace(train(build(architecture), data.train, options).module, data)


def make_mixed(data: Data) -> Network:
    """A user's own network with every kind of tensor: conv, batch norm with its buffers, linear, biases."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        module = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 10)
        )
        module(torch.randn(32, 1, 8, 8))  # running statistics that are not 0 and 1
    return trace(module, data)
