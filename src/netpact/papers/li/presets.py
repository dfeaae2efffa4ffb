"""The networks of the experiments, at three sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from netpact.experiments import Case, Preset

VGG, CP_VGG, WRN, CP_WRN = "vgg", "cp-vgg", "wrn", "cp-wrn"
TRAINED, CORRUPTED, RANDOM = "cp-vgg-trained", "cp-vgg-corrupted", "cp-vgg-random"
COMPARED = (TRAINED, CORRUPTED, RANDOM)
NOISE = 0.5  # A.5: "For corrupted CP-VGG-16, we train the model under 50% of label noise"
_STILL = 1e-6  # a learning rate at which batch norm sees the data and the weights stay where they are


def _networks(vgg: Case, wrn: Case, trained: Case) -> dict[str, Case]:
    """Of each family one network with CP layers of as many parameters, trained alike; then the three of A.5.

    The corrupted network is trained like the well-trained one; the random one for an epoch in which its weights stay.
    """
    unwatched = replace(trained, every=0)
    still = replace(unwatched, recipe="", epochs=1, optimizer="sgd", learning_rate=_STILL, weight_decay=0, least=0)
    return {
        VGG: vgg,
        CP_VGG: _with_cp(vgg),
        WRN: wrn,
        CP_WRN: _with_cp(wrn),
        TRAINED: _with_cp(trained),
        CORRUPTED: _with_cp(unwatched),
        RANDOM: _with_cp(still),
    }


def _with_cp(case: Case) -> Case:
    """vgg:11-8-1 becomes cp-vgg:11-8-100-1: 100 % of the dense layers' parameters."""
    family, _, sizes = case.model.partition(":")
    *first, norm = sizes.split("-")
    return replace(case, model=f"cp-{family}:{'-'.join((*first, '100', norm))}")


# With the paper's optimizer and weight decay, components need its hundred thousand steps to vanish. Here are a
# thousand: adam adds the decay to the gradient before it scales it, so that a component without use falls quickly.
_QUICK = Case(
    model="vgg:11-8-1", limit=2000, epochs=16, batch_size=32, learning_rate=0.003, weight_decay=0.03, least=0.9
)
# Random labels are not learned with so much of it: the networks of A.5 have the paper's.
_LEARNER = replace(_QUICK, limit=1000, epochs=30, weight_decay=5e-4, every=3)
_FULL = Case(model="vgg:16-64-1", limit=0, epochs=300, recipe="li-vgg", least=0.99)
_TRIAL = replace(_QUICK, model="vgg:11-2-1", limit=100, epochs=2, batch_size=25)

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "quick": Preset(
            about="small networks of the same families on the first 1,000 or 2,000 training images",
            data=("fashion_mnist", "mnist", "digits"),
            cases=_networks(
                _QUICK, replace(_QUICK, model="wrn:10-1-1", limit=1000, epochs=12, weight_decay=0.01), _LEARNER
            ),
            tested=2000,
        ),
        "full": Preset(
            about="VGG-16, CP-VGG-16, WRN-28-10 and CP-WRN-28-10 on CIFAR-10, as appendix A.1 says",
            data=("cifar10",),
            cases=_networks(
                _FULL, replace(_FULL, model="wrn:28-10-1", epochs=200, recipe="li-wrn"), replace(_FULL, every=10)
            ),
            tested=10_000,
        ),
        # To see that everything runs. These networks do not reach the accuracy that a finding needs, and shall not.
        "digits": Preset(
            about="tiny networks on 8 x 8 digits: a trial of the program, too small for a finding to be judged",
            data=("digits",),
            cases=_networks(_TRIAL, replace(_TRIAL, model="wrn:10-1-1", limit=50), replace(_TRIAL, every=1)),
            tested=100,
        ),
    }
)
