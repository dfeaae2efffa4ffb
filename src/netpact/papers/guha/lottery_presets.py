"""The networks of the experiment on lottery tickets, at three sizes, and how each is pruned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from netpact.experiments import Case, Preset
from netpact.training import IterativePruning

TICKET, RATE, TUNED = "ticket", "learning-rate-rewinding", "fine-tuning"


@dataclass(frozen=True)
class Way:
    """What goes back after pruning; sealed: whether the file of each round is measured, which takes as long again."""

    rewind: str
    control: bool = False
    sealed: bool = False


# A study's name says how its networks are pruned. All of one seed have the same dense network.
WAYS: Mapping[str, Way] = MappingProxyType(
    {TICKET: Way("weights", control=True, sealed=True), RATE: Way("rate"), TUNED: Way("none")}
)


def pruning_of(study: str, *, full: bool) -> IterativePruning:
    """Frankle and Carbin 2019 prune a fifth in each round; quick runs a half."""
    way = WAYS[study]
    asked = IterativePruning(rounds=6, rate=0.5, rewind=way.rewind, control=way.control)
    return replace(asked, rounds=22, rate=0.2) if full else asked


def count_epochs(study: str, case: Case) -> int:
    """Of all rounds, with the controls."""
    pruning = pruning_of(study, full=is_full(case))
    return case.epochs * (1 + pruning.round_count * (2 if pruning.control else 1))


def is_full(case: Case) -> bool:
    return case.limit == 0


def _cases(case: Case) -> dict[str, Case]:
    return dict.fromkeys(WAYS, case)


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "quick": Preset(
            about="LeNet-300-100 on the first 5,000 images, 5 epochs in each round, which prunes half of the weights",
            data=("mnist", "digits"),
            cases=_cases(
                Case(model="mlp:300-100", limit=5_000, epochs=5, batch_size=50, learning_rate=0.002, least=0.95)
            ),
            tested=5_000,
        ),
        # Frankle and Carbin 2019, Figure 2: Adam at 0.0012, batches of 60, 50,000 iterations.
        "full": Preset(
            about="LeNet-300-100 on MNIST for 50,000 steps in each round, which prunes a fifth of the weights",
            data=("mnist",),
            cases=_cases(
                Case(model="mlp:300-100", limit=0, epochs=50, batch_size=60, learning_rate=0.0012, least=0.99)
            ),
            tested=10_000,
        ),
        # To see that everything runs.
        "digits": Preset(
            about="a tiny network on 8 x 8 digits: a trial of the program, too small for a finding to be judged",
            data=("digits",),
            cases=_cases(Case(model="mlp:8", limit=60, epochs=1, batch_size=20, least=0.95)),
            tested=100,
        ),
    }
)
