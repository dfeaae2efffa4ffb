"""The experiments of Arora et al. 2018, made again: which of their findings appear in networks trained here."""

from netpact.experiments.experiment import Experiment
from netpact.experiments.findings import Finding
from netpact.experiments.forecasting import Forecast
from netpact.experiments.presets import PRESETS, Case, Preset
from netpact.experiments.questions import EXPERIMENTS
from netpact.experiments.records import Study
from netpact.experiments.running import run_experiment

__all__ = ["EXPERIMENTS", "PRESETS", "Case", "Experiment", "Finding", "Forecast", "Preset", "Study", "run_experiment"]
