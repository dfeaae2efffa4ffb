"""The networks of the experiments, at three sizes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from netpact.experiments import Case, Preset

VGG, ALEXNET, SHUFFLED = "vgg", "alexnet", "alexnet-shuffled"


def _networks(vgg: Case, alexnet: Case) -> dict[str, Case]:
    return {VGG: vgg, ALEXNET: alexnet, SHUFFLED: alexnet}


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        # Sizes at which both networks fit their labels, the shuffled ones too, in minutes.
        "quick": Preset(
            about="small networks of the same families on the first 2,000 (VGG) and 500 (AlexNet) training images",
            data=("cifar10", "mnist", "digits"),
            cases=_networks(
                Case(model="vgg:11-8-1", limit=2000, epochs=16, batch_size=64, learning_rate=0.003, least=0.9, every=4),
                Case(model="alexnet:16", limit=500, epochs=36, batch_size=20, learning_rate=0.001, least=0.9),
            ),
            tested=2000,
        ),
        # Section 6 of the paper. Its drop-out stands in linear layers that these forms for small images do not have.
        "full": Preset(
            about="VGG-19 and AlexNet on CIFAR-10 for 299 epochs, as section 6 says, without drop-out",
            data=("cifar10",),
            cases=_networks(
                Case(model="vgg:19-64-1", limit=0, epochs=299, recipe="arora-vgg", least=0.99, every=10, jacobians=200),
                Case(model="alexnet:64", limit=0, epochs=299, recipe="arora-vgg", least=0.99, jacobians=200),
            ),
            tested=10_000,
        ),
        # To see that everything runs. These networks do not reach the accuracy that a finding needs, and shall not.
        "digits": Preset(
            about="tiny networks on 8 x 8 digits: a trial of the program, too small for a finding to be judged",
            data=("digits",),
            cases=_networks(
                Case(
                    model="conv:3-4-4",  # a VGG of this size learns nothing
                    limit=100,
                    epochs=10,
                    batch_size=25,
                    learning_rate=0.01,
                    least=0.9,
                    every=5,
                    jacobians=3,
                ),
                Case(
                    model="alexnet:4", limit=100, epochs=20, batch_size=25, learning_rate=0.002, least=0.9, jacobians=3
                ),
            ),
            tested=200,
        ),
    }
)
