"""Figure 7: CP spectra of the last convolution, well-trained, corrupted and random (appendix A.5)."""

from __future__ import annotations

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.papers.li.comparing import Seeded, spectrum_panel
from netpact.papers.li.presets import CORRUPTED, NOISE, RANDOM, TRAINED
from netpact.papers.li.study import TensorStudy
from netpact.papers.li.studying import PaperPlan

_MEAN = "mean of amplitude / largest at the last convolution"


def _mean(study: TensorStudy) -> float:
    return study.layers[-1].mean


def _leading(one: Seeded) -> float:
    """Of the corrupted network, over the smaller of the other two."""
    sizes = {name: study.layers[-1].amplitudes[0] for name, study in one.items()}
    return sizes[CORRUPTED] / min(sizes[TRAINED], sizes[RANDOM])


def _trained_against_corrupted(one: Seeded) -> float:
    return _mean(one[TRAINED]) / _mean(one[CORRUPTED])


def _corrupted_against_random(one: Seeded) -> float:
    return _mean(one[CORRUPTED]) / _mean(one[RANDOM])


def _show(found: Experiment) -> list[Panel]:
    labels = {TRAINED: "well-trained", CORRUPTED: f"{NOISE:.0%} label noise", RANDOM: "random"}
    layers = {label: found.chosen(name)[0].layers[-1] for name, label in labels.items()}
    first: TensorStudy = found.chosen(TRAINED)[0]
    words = f"{first.model}, {first.layers[-1].name}. Seed {first.seed}."
    return [
        spectrum_panel("Spectra as they are", words, layers, name="spectra-raw", normalised=False),
        spectrum_panel("Over the largest amplitude", words, layers, name="spectra-normalised"),
    ]


EXPERIMENTS.add(
    PaperPlan(
        name="li-fig7",
        title="Figure 7: CP spectra of well-trained, corrupted and random networks",
        studies=(TRAINED, CORRUPTED, RANDOM),
        questions=(
            Question(
                "The largest amplitude of the corrupted network is much smaller than those of the others (A.5, "
                "Figure 7a)",
                "largest amplitude at the last convolution, corrupted / the smaller of the other two: < 0.5",
                _leading,
            ),
            Question(
                "Normalised, the well-trained network has the spectrum of lowest rank (A.5, Figure 7b)",
                f"{_MEAN}, well-trained / corrupted: < 1",
                _trained_against_corrupted,
            ),
            Question(
                "The random network has the spectrum of highest rank (A.5, Figure 7b)",
                f"{_MEAN}, corrupted / random: < 1",
                _corrupted_against_random,
            ),
        ),
        show=_show,
    )
)
