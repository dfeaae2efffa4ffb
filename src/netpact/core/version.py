"""The version, in one place that needs nothing else."""

__version__ = "0.1.0"
