"""Figure 4: how many components of each layer are large (section 5.3)."""

from __future__ import annotations

from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.papers.li.comparing import Seeded, compare_layers, layer_panel, mean_over_layers
from netpact.papers.li.presets import CP_VGG, VGG
from netpact.papers.li.spectrum import ABOVE, RECONSTRUCTION, LayerSpectrum
from netpact.papers.li.study import TensorStudy
from netpact.papers.li.studying import PaperPlan

_LARGE = f"components above {ABOVE:g} of the largest"


def _share(layer: LayerSpectrum) -> float:
    return layer.share_above(ABOVE)


def _mean(study: str, one: Seeded) -> float:
    return mean_over_layers(one[study], _share)


def _layers_below(one: Seeded) -> float:
    return compare_layers(one[CP_VGG], one[VGG], _share)


def _worst_error(one: Seeded) -> float:
    return max(layer.error for layer in one[VGG].layers)


def _show(found: Experiment) -> list[Panel]:
    studies: tuple[TensorStudy, ...] = (found.chosen(CP_VGG)[0], found.chosen(VGG)[0])
    return [
        layer_panel(
            "Low rankness of each layer",
            f"Share of the {_LARGE}; the dense network is decomposed up to a relative error of {RECONSTRUCTION:g}. "
            f"Seed {studies[0].seed}.",
            {one.model: [_share(layer) for layer in one.layers] for one in studies},
            name="low-rankness",
            y_title="share",
        )
    ]


EXPERIMENTS.add(
    PaperPlan(
        name="li-fig4",
        title="Figure 4: low rankness of a CP network and of a dense one",
        studies=(CP_VGG, VGG),
        questions=(
            Question(
                "The layers of a CP network have fewer large components than those of a dense one (5.3, Figure 4)",
                f"share of the layers in which CP-VGG has the smaller share of {_LARGE}: >= 0.75",
                _layers_below,
            ),
            # "Low rankness consistently for all layers".
            Question(
                "A CP network is of low rank (5.3, Figure 4)",
                f"share of {_LARGE} in CP-VGG, mean over layers: < 0.5",
                partial(_mean, CP_VGG),
            ),
            Question(
                "A dense network is not (5.3, Figure 4)",
                f"share of {_LARGE} in VGG, mean over layers: > 0.5",
                partial(_mean, VGG),
            ),
            Question(
                "The decompositions of the dense network are near enough (5.3)",
                f"largest relative error of a layer's decomposition: <= {RECONSTRUCTION:g}",
                _worst_error,
                published=RECONSTRUCTION,
            ),
        ),
        show=_show,
    )
)
