"""The networks of the experiments, at three sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from netpact.experiments import Case, Preset

VGG, CP_VGG, WRN, CP_WRN = "vgg", "cp-vgg", "wrn", "cp-wrn"
CORRUPTED, RANDOM = "cp-vgg-corrupted", "cp-vgg-random"
NOISE = 0.5  # A.5: "For corrupted CP-VGG-16, we train the model under 50% of label noise"
_STILL = 1e-6  # a learning rate at which batch norm sees the data and the weights stay where they are


def _networks(vgg: Case, cp_vgg: Case, wrn: Case, cp_wrn: Case) -> dict[str, Case]:
    """The corrupted network is trained like the other; the random one for an epoch in which its weights stay."""
    still = replace(
        cp_vgg, recipe="", epochs=1, optimizer="sgd", learning_rate=_STILL, weight_decay=0, every=0, least=0
    )
    return {
        VGG: vgg,
        CP_VGG: cp_vgg,
        CORRUPTED: replace(cp_vgg, every=0),
        RANDOM: still,
        WRN: wrn,
        CP_WRN: cp_wrn,
    }


# With the paper's optimizer and weight decay, components need its hundred thousand steps to vanish. Here are a
# thousand: adam adds the decay to the gradient before it scales it, so that a component without use falls quickly.
_QUICK_VGG = Case(
    model="cp-vgg:11-8-100-1",
    limit=2000,
    epochs=16,
    batch_size=32,
    learning_rate=0.003,
    weight_decay=0.03,
    least=0.9,
    every=0,
)
_QUICK_WRN = replace(_QUICK_VGG, model="cp-wrn:10-1-100-1", limit=1000, epochs=8)
_FULL_VGG = Case(model="cp-vgg:16-64-100-1", limit=0, epochs=300, recipe="li-vgg", least=0.99)
_FULL_WRN = Case(model="cp-wrn:28-10-100-1", limit=0, epochs=200, recipe="li-wrn", least=0.99)
_TRIAL = Case(
    model="cp-vgg:11-2-100-1", limit=100, epochs=2, batch_size=25, optimizer="sgd", learning_rate=0.05, least=0.9
)

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "quick": Preset(
            about="small networks of the same families on the first 2,000 (VGG) and 1,000 (WRN) training images",
            data=("fashion_mnist", "mnist", "digits"),
            cases=_networks(
                replace(_QUICK_VGG, model="vgg:11-8-1"), _QUICK_VGG, replace(_QUICK_WRN, model="wrn:10-1-1"), _QUICK_WRN
            ),
            tested=2000,
        ),
        "full": Preset(
            about="VGG-16, CP-VGG-16, WRN-28-10 and CP-WRN-28-10 on CIFAR-10, as appendix A.1 says",
            data=("cifar10",),
            cases=_networks(
                replace(_FULL_VGG, model="vgg:16-64-1"), _FULL_VGG, replace(_FULL_WRN, model="wrn:28-10-1"), _FULL_WRN
            ),
            tested=10_000,
        ),
        # To see that everything runs. These networks do not reach the accuracy that a finding needs, and shall not.
        "digits": Preset(
            about="tiny networks on 8 x 8 digits: a trial of the program, too small for a finding to be judged",
            data=("digits",),
            cases=_networks(
                replace(_TRIAL, model="vgg:11-2-1"),
                _TRIAL,
                replace(_TRIAL, model="wrn:10-1-1", limit=50),
                replace(_TRIAL, model="cp-wrn:10-1-100-1", limit=50),
            ),
            tested=100,
        ),
    }
)
