"""Watching a training run: bounds, margins and cushions after each epoch, beside training and test error."""

from netpact.monitoring.monitor import Monitor
from netpact.monitoring.observation import LayerObservation, Observation

__all__ = ["LayerObservation", "Monitor", "Observation"]
