"""The networks of the figures about tails, at three sizes: several families, each with its own final layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from netpact.experiments import Case, Preset

MLP, WIDE_MLP, DEEP_MLP, LENET = "mlp", "wide-mlp", "deep-mlp", "lenet"
VGG, DEEP_VGG, RESNET, WRN = "vgg", "deep-vgg", "deep-resnet", "wrn"
FAMILIES = (MLP, WIDE_MLP, DEEP_MLP, LENET, VGG, DEEP_VGG, RESNET, WRN)

_QUICK = Case(model="mlp:64", limit=1000, epochs=30, batch_size=32, learning_rate=0.002, weight_decay=5e-4, least=0.85)
_FULL = Case(model="mlp:512", limit=0, epochs=200, recipe="li-vgg", least=0.9)
_TRIAL = replace(_QUICK, limit=100, epochs=2, batch_size=25)


def _networks(base: Case, models: Mapping[str, str], **epochs: int) -> dict[str, Case]:
    return {
        study: replace(base, model=model, epochs=epochs.get(study.replace("-", "_"), base.epochs))
        for study, model in models.items()
    }


TAIL_PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "quick": Preset(
            about="small networks of eight architectures on the first 1,000 training images",
            data=("fashion_mnist", "mnist", "digits"),
            cases=_networks(
                _QUICK,
                {
                    MLP: "mlp:64",
                    WIDE_MLP: "mlp:512",
                    DEEP_MLP: "mlp:256-128-64",
                    LENET: "lenet5",
                    VGG: "vgg:11-4-1",
                    DEEP_VGG: "vgg:16-4-1",
                    RESNET: "resnet:14-8-1",
                    WRN: "wrn:10-1-1",
                },
                vgg=20,
                deep_vgg=20,
                deep_resnet=12,
                wrn=12,
            ),
            tested=2000,
        ),
        "full": Preset(
            about="networks of eight architectures on CIFAR-10; the paper takes 43 pretrained ones, on other data too",
            data=("cifar10",),
            cases=_networks(
                _FULL,
                {
                    MLP: "mlp:512",
                    WIDE_MLP: "mlp:2048",
                    DEEP_MLP: "mlp:1024-512-256",
                    LENET: "lenet5",
                    VGG: "vgg:11-64-1",
                    DEEP_VGG: "vgg:16-64-1",
                    RESNET: "resnet:56-16-1",
                    WRN: "wrn:16-10-1",
                },
            ),
            tested=10_000,
        ),
        # To see that everything runs. These networks do not reach the accuracy that a finding needs, and shall not.
        "digits": Preset(
            about="tiny networks on 8 x 8 digits: a trial of the program, too small for a finding to be judged",
            data=("digits",),
            cases=_networks(
                _TRIAL,
                {
                    MLP: "mlp:16",
                    WIDE_MLP: "mlp:64",
                    DEEP_MLP: "mlp:32-16",
                    LENET: "mlp:24",
                    VGG: "mlp:40",
                    DEEP_VGG: "mlp:32-32-16",
                    RESNET: "resnet:8-8-1",
                    WRN: "mlp:48",
                },
            ),
            tested=100,
        ),
    }
)
