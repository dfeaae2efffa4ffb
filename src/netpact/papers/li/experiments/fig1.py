"""Figure 1: CP spectra of dense networks, decomposed, and of CP networks trained from scratch (section 1)."""

from __future__ import annotations

from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.papers.li.comparing import Seeded, mean_over_layers, spectrum_panel
from netpact.papers.li.presets import CP_VGG, CP_WRN, VGG, WRN
from netpact.papers.li.spectrum import LayerSpectrum
from netpact.papers.li.study import TensorStudy
from netpact.papers.li.studying import PaperPlan

_MEAN = "mean of amplitude / largest, over components and layers"


def _mean(layer: LayerSpectrum) -> float:
    return layer.mean


def _spiky(cp: str, dense: str, one: Seeded) -> float:
    return mean_over_layers(one[cp], _mean) / mean_over_layers(one[dense], _mean)


def _flat(study: str, one: Seeded) -> float:
    return mean_over_layers(one[study], _mean)


def _show(found: Experiment) -> list[Panel]:
    panels = []
    for cp, dense in ((CP_VGG, VGG), (CP_WRN, WRN)):
        studies: tuple[TensorStudy, ...] = (found.chosen(cp)[0], found.chosen(dense)[0])
        names = [layer.name for layer in studies[0].layers]
        for place in (len(names) // 2, len(names) - 1):
            panels.append(
                spectrum_panel(
                    f"{names[place]} of {studies[1].model}",
                    f"The dense layer is decomposed; the CP layer is as training left it. Seed {studies[0].seed}.",
                    {one.model: one.layers[place] for one in studies},
                    name=f"spectrum-{dense}-{place}",
                )
            )
    return panels


EXPERIMENTS.add(
    PaperPlan(
        name="li-fig1",
        title="Figure 1: CP spectra of dense networks and of CP networks",
        studies=(VGG, CP_VGG, WRN, CP_WRN),
        questions=(
            Question(
                "CP-VGG trained from scratch has a spikier spectrum than VGG decomposed (1, Figure 1)",
                f"{_MEAN}, CP-VGG / VGG: < 0.5",
                partial(_spiky, CP_VGG, VGG),
            ),
            Question(
                "The same of CP-WRN and WRN (1, Figure 1)",
                f"{_MEAN}, CP-WRN / WRN: < 0.5",
                partial(_spiky, CP_WRN, WRN),
            ),
            Question(
                "The layers of a dense network are not of low rank (1, Figure 1)",
                f"{_MEAN} of VGG: > 0.2",
                partial(_flat, VGG),
            ),
        ),
        show=_show,
    )
)
