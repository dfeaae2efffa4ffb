"""Figure 5: test accuracy of co-teaching against the compression ratio of the CP layers (appendix A.4).

The paper prints the figure without its numbers, and does not say which noise it is for: pair flip 45 % is used.
"""

from __future__ import annotations

from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.papers.li.noise_comparing import Seeded, cells, points
from netpact.papers.li.noise_presets import PAIR, SHARES, taught, taught_cp
from netpact.papers.li.noise_studying import NoiseStudy, TaughtPlan
from netpact.reports.charts.curves import Curve, draw_curves
from netpact.reports.frame import frame_table


def _gain(share: int, one: Seeded) -> float:
    return points(one, taught_cp(PAIR, share), taught(PAIR))


def _least_gain(one: Seeded) -> float:
    return min(_gain(share, one) for share in SHARES)


def _ratio(one: NoiseStudy, dense: NoiseStudy) -> float:
    """Parameters of the dense network for each one of the network with CP layers."""
    return dense.parameters / one.parameters


def _show(found: Experiment) -> list[Panel | str]:
    dense: NoiseStudy = found.chosen(taught(PAIR))[0]
    factored: list[NoiseStudy] = [found.chosen(taught_cp(PAIR, share))[0] for share in SHARES]
    ratios = [_ratio(one, dense) for one in factored]
    curves = [
        Curve("CP layers", tuple((x, one.test_accuracy) for x, one in zip(ratios, factored, strict=True))),
        Curve("dense layers", tuple((x, dense.test_accuracy) for x in (ratios[0], ratios[-1]))),
    ]
    words = f"Co-teaching, {dense.data}, seed {dense.seed}. The dense network is drawn at every ratio."
    rows = [
        (f"CP layers, {share} %", f"{ratio:.2f}", *cells(found, taught_cp(PAIR, share)))
        for share, ratio in zip(SHARES, ratios, strict=True)
    ]
    return [
        Panel(
            "Test accuracy against compression",
            words,
            lambda width: draw_curves(
                curves,
                name="accuracy-against-compression",
                title="Test accuracy against compression",
                x_title="parameters of the dense network / of the CP network",
                y_title="test accuracy",
                width=width,
            ),
        ),
        frame_table(
            "Test accuracy in percent",
            ("layers", "compression", *(f"seed {seed}" for seed in found.seeds)),
            [("dense layers", "1.00", *cells(found, taught(PAIR))), *rows],
        ),
    ]


EXPERIMENTS.add(
    TaughtPlan(
        name="li-fig5",
        title="Figure 5: test accuracy of co-teaching against the compression ratio",
        studies=(taught(PAIR), *(taught_cp(PAIR, share) for share in SHARES)),
        questions=(
            Question(
                "CP layers improve co-teaching at every number of components (5.2, A.4, Figure 5)",
                "least gain in test accuracy over the compression ratios, in points: > 0",
                _least_gain,
            ),
            *(
                Question(
                    f"The same with CP layers of {share} % of the weights",
                    "test accuracy with CP layers minus that without, in points: > 0",
                    partial(_gain, share),
                )
                for share in SHARES
            ),
        ),
        show=_show,
    )
)
