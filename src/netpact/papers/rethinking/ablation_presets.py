"""The networks of Tables 2 and 3, whose blocks have t times as many output channels as their rank, at three sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from netpact.experiments import Case, Preset

RESNET, RESNEXT, SHUFFLENET = "resnet", "resnext", "shufflenet"
RATIOS: Mapping[str, tuple[int, ...]] = {RESNET: (1, 4, 8, 16), RESNEXT: (1, 2, 4), SHUFFLENET: (1, 2, 4)}


def name_network(family: str, ratio: int) -> str:
    return f"{family}-t{ratio}"


def _networks(case: Case, models: Mapping[str, str]) -> dict[str, Case]:
    """Trained alike but for the ratio. models: by family, with {} in the place of t."""
    return {
        name_network(family, ratio): replace(case, model=model.format(ratio))
        for family, model in models.items()
        for ratio in RATIOS[family]
    }


# With the paper's SGD and a learning rate of 0.1, the network with t = 16 fits half of its labels in so few steps: the
# ratios would be compared by how far their training got. Adam's steps do not depend on the scale of the gradients.
_QUICK = Case(model="", limit=3000, epochs=12, batch_size=64, learning_rate=0.003, weight_decay=1e-4, least=0.6)
_SHORT = replace(_QUICK, limit=2000, least=0.7)
_FULL = Case(model="", limit=0, epochs=300, recipe="rethinking-resnet", least=0.9)
_TRIAL = replace(_QUICK, limit=40, epochs=1, batch_size=20, least=0.9)
_TRIAL_ABOUT = "tiny networks on 8 x 8 digits: a trial of the program, too small for a finding to be judged"

TABLE_2: Mapping[str, Preset] = MappingProxyType(
    {
        "quick": Preset(
            about="20 layers with R = 8, 16, 32 on the first 3,000 training images",
            data=("cifar10", "fashion_mnist", "digits"),
            cases=_networks(_QUICK, {RESNET: "bottleneck:20-8-{}-1-1"}),
            tested=10_000,
        ),
        "full": Preset(
            about="the 41-layer network on CIFAR-10, as section 4.2 says",
            data=("cifar10",),
            cases=_networks(_FULL, {RESNET: "resnet-41-t{}"}),
            tested=10_000,
        ),
        "digits": Preset(
            about=_TRIAL_ABOUT,
            data=("digits",),
            cases=_networks(_TRIAL, {RESNET: "bottleneck:11-2-{}-1-1"}),
            tested=50,
        ),
    }
)

TABLE_3: Mapping[str, Preset] = MappingProxyType(
    {
        "quick": Preset(
            about="41 and 50 layers with R = 8, 16, 32, cardinality 4, on the first 2,000 training images",
            data=("fashion_mnist", "mnist", "digits"),
            cases=_networks(_SHORT, {RESNEXT: "bottleneck:41-8-{}-4-1", SHUFFLENET: "shufflenet:50-8-{}-1"}),
            tested=10_000,
        ),
        "full": Preset(
            about="ResNeXt-41 and ShuffleNet v2-50 on SVHN, as A.5.2 says",
            data=("svhn", "cifar10"),
            cases=_networks(
                replace(_FULL, epochs=350), {RESNEXT: "resnext-41-t{}", SHUFFLENET: "shufflenet-v2-50-t{}"}
            ),
            tested=26_032,
        ),
        "digits": Preset(
            about=_TRIAL_ABOUT,
            data=("digits",),
            cases=_networks(_TRIAL, {RESNEXT: "bottleneck:11-4-{}-2-1", SHUFFLENET: "shufflenet:11-2-{}-1"}),
            tested=50,
        ),
    }
)
