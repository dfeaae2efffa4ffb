"""Table 3: VGG against CP-VGG when a share of the labels is random (section 5.2)."""

from __future__ import annotations

from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Question
from netpact.papers.li.noise_comparing import Seeded, cells, points
from netpact.papers.li.noise_presets import RATES, plain, plain_cp
from netpact.papers.li.noise_studying import CorruptedPlan
from netpact.reports.frame import frame_table

# As printed, CIFAR-10, in percent: VGG-16, CP-VGG-16.
_PRINTED = {20: (68.76, 71.09), 40: (44.26, 51.76), 60: (24.89, 35.60), 80: (13.21, 20.06)}


def _gain(rate: int, one: Seeded) -> float:
    return points(one, plain_cp(f"random-{rate}"), plain(f"random-{rate}"))


def _worst_step(one: Seeded) -> float:
    """How much accuracy each further fifth of random labels costs VGG at least."""
    return min(points(one, plain(f"random-{rate}"), plain(f"random-{rate + 20}")) for rate in RATES[:-1])


def _show(found: Experiment) -> list[str]:
    rows = []
    for rate in RATES:
        for name, study, printed in zip(
            ("VGG", "CP-VGG"), (plain(f"random-{rate}"), plain_cp(f"random-{rate}")), _PRINTED[rate], strict=True
        ):
            rows.append((f"{name}, {rate} %", f"{printed:.2f}", *cells(found, study)))
    heads = ("network, random labels", "paper, CIFAR-10", *(f"seed {seed}" for seed in found.seeds))
    return [frame_table("Test accuracy in percent, mean of the last epochs", heads, rows)]


EXPERIMENTS.add(
    CorruptedPlan(
        name="li-table3",
        title="Table 3: VGG against CP-VGG when a share of the labels is random",
        studies=tuple(study(f"random-{rate}") for rate in RATES for study in (plain, plain_cp)),
        questions=(
            *(
                Question(
                    f"CP-VGG generalizes better than VGG with {rate} % random labels (5.2, Table 3)",
                    "test accuracy of CP-VGG minus that of VGG, in points: > 0",
                    partial(_gain, rate),
                    published=round(_PRINTED[rate][1] - _PRINTED[rate][0], 2),
                )
                for rate in RATES
            ),
            Question(
                "Random labels that are learned by heart cost test accuracy (5.2, Table 3)",
                "test accuracy of VGG that 20 % more random labels cost at least, in points: > 0",
                _worst_step,
                published=round(min(_PRINTED[rate][0] - _PRINTED[rate + 20][0] for rate in RATES[:-1]), 2),
            ),
        ),
        show=_show,
    )
)
