"""What runs the experiments of papers: networks trained as keyed tasks, rules stated beforehand, findings, a page."""

from netpact.experiments.experiment import Experiment
from netpact.experiments.findings import Finding, Question
from netpact.experiments.forecasting import Forecast
from netpact.experiments.pages import Panel
from netpact.experiments.plan import EXPERIMENTS, Plan
from netpact.experiments.presets import Case, Preset
from netpact.experiments.running import forecast_experiment, run_experiment
from netpact.experiments.study import Setting, Study
from netpact.experiments.studying import train_network

__all__ = [
    "EXPERIMENTS",
    "Case",
    "Experiment",
    "Finding",
    "Forecast",
    "Panel",
    "Plan",
    "Preset",
    "Question",
    "Setting",
    "Study",
    "forecast_experiment",
    "run_experiment",
    "train_network",
]
