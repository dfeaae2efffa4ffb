"""The networks of the experiments, at three sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from netpact.experiments import Case, Preset

MLP, CONV, RESNET, DENSENET = "mlp-mnist", "lenet5-fashion", "resnet-cifar10", "densenet-cifar10"
NETWORKS = (MLP, CONV, RESNET, DENSENET)

_QUICK = Case(model="mlp:128-64", limit=4000, epochs=15, batch_size=64, least=0.9, data="mnist")
_CIFAR = replace(_QUICK, limit=600, epochs=30, batch_size=32, learning_rate=0.003, data="cifar10")
_FULL = Case(model="mlp:512-256", limit=0, epochs=30, least=0.99, data="mnist")
_TRIAL = Case(model="mlp:12", limit=100, epochs=2, batch_size=25, least=0.9)
# ResNet-20 and DenseNet-40 are in Table 1; the paper takes trained ones, and so says nothing of their training.
_SGD = replace(_FULL, epochs=200, recipe="li-wrn", data="cifar10")

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "quick": Preset(
            about="four small networks, each on the first few thousand training images of its data set",
            data=("mnist", "digits"),
            cases={
                MLP: _QUICK,
                CONV: replace(_QUICK, model="lenet5", epochs=20, data="fashion_mnist"),
                RESNET: replace(_CIFAR, model="resnet:8-8-1"),
                DENSENET: replace(_CIFAR, model="densenet:7-8-1", epochs=60, least=0.6),  # it has 8,000 weights
            },
            tested=2000,
        ),
        "full": Preset(
            about="a fully connected network on MNIST, LeNet-5 on Fashion-MNIST, ResNet-20 and DenseNet-40 on CIFAR-10",
            data=("mnist",),
            cases={
                MLP: _FULL,
                CONV: replace(_FULL, model="lenet5", data="fashion_mnist"),
                RESNET: replace(_SGD, model="resnet:20-16-1"),
                DENSENET: replace(_SGD, model="densenet:40-12-1"),
            },
            tested=10_000,
        ),
        # To see that everything runs. These networks do not reach the accuracy that a finding needs, and shall not.
        "digits": Preset(
            about="tiny networks on 8 x 8 digits: a trial of the program, too small for a finding to be judged",
            data=("digits",),
            cases={
                MLP: _TRIAL,
                CONV: replace(_TRIAL, model="conv:3-8"),
                RESNET: replace(_TRIAL, model="resnet:8-2-1", limit=50),
                DENSENET: replace(_TRIAL, model="densenet:7-2-1", limit=50),
            },
            tested=100,
        ),
    }
)
