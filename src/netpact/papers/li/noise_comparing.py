"""Accuracies under label noise compared: differences in points, and cells of tables."""

from __future__ import annotations

from collections.abc import Mapping

from netpact.experiments import Experiment
from netpact.papers.li.noise_studying import NoiseStudy
from netpact.reports.charts.curves import Curve

Seeded = Mapping[str, NoiseStudy]  # the networks of one seed


def points(one: Seeded, better: str, worse: str) -> float:
    """Test accuracy of one study minus that of another, in points of a percent."""
    return 100 * (one[better].test_accuracy - one[worse].test_accuracy)


def cells(found: Experiment, study: str) -> list[str]:
    return [f"{100 * one.test_accuracy:.2f}" for one in found.chosen(study)]


def learning_curve(name: str, study: NoiseStudy) -> Curve:
    return Curve(name, tuple((float(epoch), accuracy) for epoch, accuracy in enumerate(study.curve, start=1)))
