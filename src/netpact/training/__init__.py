"""Training a classifier and testing it as it is."""

from netpact.training.epoch import Epoch
from netpact.training.evaluation import error_rate
from netpact.training.options import OPTIMIZERS, SCHEDULES, TrainOptions
from netpact.training.plain import Trained, train

__all__ = ["OPTIMIZERS", "SCHEDULES", "Epoch", "TrainOptions", "Trained", "error_rate", "train"]
