"""The networks of the experiments, at three sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from netpact.experiments import Case, Preset
from netpact.papers.guha.published import WIDTHS

DEPTH = 5
NAMES = tuple(f"mlp-{width}" for width in WIDTHS)  # by the width that the paper has
COMPARED = "mlp-784"  # Figures 1a and 2
CIFAR = "mlp-cifar10"


def model_of(width: int) -> str:
    return "mlp:" + "-".join([str(width)] * (DEPTH - 1))


def _widths(case: Case, divisor: int, *, every: int) -> dict[str, Case]:
    """Networks whose widths are the paper's over the divisor; the one of Figure 2 is watched."""
    found = {
        name: replace(case, model=model_of(max(width // divisor, 2))) for name, width in zip(NAMES, WIDTHS, strict=True)
    }
    return {**found, COMPARED: replace(found[COMPARED], every=every)}


_QUICK = Case(model="", limit=6000, epochs=12, recipe="guha-mlp", least=0.95)
_FULL = Case(model="", limit=0, epochs=300, recipe="guha-mlp", least=0.97)
_TRIAL = Case(model="", limit=60, epochs=2, batch_size=20, least=0.95)

MNIST: Mapping[str, Preset] = MappingProxyType(
    {
        "quick": Preset(
            about="5-layer MLPs of a tenth of the paper's widths on the first 6,000 images, 12 epochs, else as there",
            data=("mnist", "digits"),
            cases=_widths(_QUICK, 10, every=1),
            tested=10_000,
        ),
        "full": Preset(
            about="5-layer MLPs of hidden dimension 500 to 2,500 on MNIST, as section 7 says",
            data=("mnist",),
            cases=_widths(_FULL, 1, every=10),
            tested=10_000,
        ),
        # To see that everything runs. These networks do not reach the accuracy that a finding needs, and shall not.
        "digits": Preset(
            about="tiny networks on 8 x 8 digits: a trial of the program, too small for a finding to be judged",
            data=("digits",),
            cases=_widths(_TRIAL, 100, every=1),
            tested=100,
        ),
    }
)

CIFAR_10: Mapping[str, Preset] = MappingProxyType(
    {
        # With the learning rate of 0.02, at batch size 256, 40 epochs fit a third of the labels.
        "quick": Preset(
            about="a 5-layer MLP of hidden dimension 78 on the first 1,000 images, adam with 0.002 at batch size 64",
            data=("cifar10", "mnist", "digits"),
            cases={
                CIFAR: Case(model=model_of(78), limit=1000, epochs=100, batch_size=64, learning_rate=0.002, least=0.7)
            },
            tested=10_000,
        ),
        "full": Preset(
            about="a 5-layer MLP of hidden dimension 784 on CIFAR-10, as section 7 and appendix A say",
            data=("cifar10",),
            cases={CIFAR: replace(_FULL, model=model_of(784), recipe="guha-mlp-cifar10", least=0.9)},
            tested=10_000,
        ),
        "digits": Preset(
            about="a tiny network on 8 x 8 digits: a trial of the program, too small for a finding to be judged",
            data=("digits",),
            cases={CIFAR: replace(_TRIAL, model=model_of(8))},
            tested=100,
        ),
    }
)
