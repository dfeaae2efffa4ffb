"""The networks of the experiments under label noise, at three sizes.

A study's name says what happens to its labels, how it is trained, and what its layers are. The networks of Table 6 and
of Figures 5 and 6 are the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from netpact.experiments import Case, Preset

PAIR, HALF, FIFTH = "pair-45", "symmetric-50", "symmetric-20"
RATES = (20, 40, 60, 80)  # percent of the labels that are drawn anew, in Table 3
SHARES = (100, 50, 25, 10)  # percent of the dense layers' weights that the CP layers have, in Figure 5
TABLE_SHARE = SHARES[0]  # of Table 6 and Figure 6: as many as the dense layers
_CLASSES = 10


@dataclass(frozen=True)
class Noise:
    """How labels are changed; see netpact.datasets.add_label_noise."""

    kind: str
    rate: float


NOISES: Mapping[str, Noise] = MappingProxyType(
    {
        PAIR: Noise("pair-flip", 0.45),
        HALF: Noise("symmetric", 0.5),
        FIFTH: Noise("symmetric", 0.2),
        # "We assign random labels to a proportion of the training data": a random label may be the true one.
        **{f"random-{rate}": Noise("symmetric", rate / 100 * (_CLASSES - 1) / _CLASSES) for rate in RATES},
    }
)


def plain(noise: str) -> str:
    return f"{noise}-plain"


def plain_cp(noise: str) -> str:
    return f"{noise}-plain-cp"


def taught(noise: str) -> str:
    return f"{noise}-co"


def taught_cp(noise: str, share: int = TABLE_SHARE) -> str:
    return f"{noise}-co-cp-{share}"


def find_treatment(study: str) -> tuple[Noise, bool]:
    """The noise of a study, and whether two networks teach each other."""
    name = next(name for name in NOISES if study.startswith(f"{name}-"))
    return NOISES[name], study.removeprefix(f"{name}-").startswith("co")


def _corrupted(base: Case, dense: str, cp: str) -> dict[str, Case]:
    """Table 3: networks that learn all labels by heart."""
    cases: dict[str, Case] = {}
    for rate in RATES:
        cases[plain(f"random-{rate}")] = _with(base, dense, base.least)
        cases[plain_cp(f"random-{rate}")] = _with(base, cp, base.least)
    return cases


def _taught(base: Case, dense: str, cp: str) -> dict[str, Case]:
    """Table 6 and its figures. base.least is the share of the true labels that must be learned."""
    cases: dict[str, Case] = {}
    for name in (PAIR, HALF, FIFTH):
        least = round(base.least * (1 - NOISES[name].rate), 3)
        cases |= {study: _with(base, dense, least) for study in (plain(name), taught(name))}
        for share in SHARES:
            cases[taught_cp(name, share)] = _with(base, cp.format(share), least)
    return cases


def _with(base: Case, model: str, least: float) -> Case:
    return replace(base, model=model, least=least)


CORRUPTED: Mapping[str, Preset] = MappingProxyType(
    {
        # Sizes at which both networks learn all labels by heart, the wrong ones too, in seconds.
        "quick": Preset(
            about="small networks of the same families on the first 600 training images of Fashion-MNIST",
            data=("fashion_mnist", "mnist", "digits"),
            cases=_corrupted(
                Case(model="", limit=600, epochs=30, batch_size=40, learning_rate=0.005, least=0.9),
                "vgg:11-4-1",
                "cp-vgg:11-4-100-1",
            ),
            tested=1000,
        ),
        "full": Preset(
            about="VGG-16 and CP-VGG-16 of as many weights on CIFAR-10 for 300 epochs, as appendix A.1 says",
            data=("cifar10",),
            cases=_corrupted(
                Case(model="", limit=0, epochs=300, recipe="li-vgg", least=0.99), "vgg:16-64-1", "cp-vgg:16-64-100-1"
            ),
            tested=10_000,
        ),
        # To see that everything runs.
        "digits": Preset(
            about="tiny networks on 8 x 8 digits: a trial of the program, too small for a finding to be judged",
            data=("digits",),
            cases=_corrupted(
                Case(model="", limit=100, epochs=2, batch_size=25, least=1.0), "resnet:8-2-1", "cp-resnet:8-2-100-1"
            ),
            tested=100,
        ),
    }
)

TAUGHT: Mapping[str, Preset] = MappingProxyType(
    {
        "quick": Preset(
            about="small networks on the first 2,000 training images of MNIST",
            data=("mnist", "fashion_mnist", "digits"),
            cases=_taught(
                Case(model="", limit=2000, epochs=12, batch_size=100, learning_rate=0.005, least=0.7),
                "vgg:11-4-1",
                "cp-vgg:11-4-{}-1",
            ),
            tested=1000,
        ),
        # Han et al. 2018 have a network of nine layers with drop-out and leaky ReLUs, which is not among ours.
        "full": Preset(
            about="VGG-11 of half the width on MNIST for 200 epochs, in the place of the network of Han et al. 2018",
            data=("mnist",),
            cases=_taught(
                Case(model="", limit=0, epochs=200, recipe="li-noise", least=0.9), "vgg:11-32-1", "cp-vgg:11-32-{}-1"
            ),
            tested=10_000,
        ),
        "digits": Preset(
            about="tiny networks on 8 x 8 digits: a trial of the program, too small for a finding to be judged",
            data=("digits",),
            cases=_taught(
                Case(model="", limit=100, epochs=4, batch_size=25, least=1.0), "resnet:8-2-1", "cp-resnet:8-2-{}-1"
            ),
            tested=100,
        ),
    }
)
