"""Training a classifier and testing it as it is."""

from netpact.training.epoch import Epoch
from netpact.training.evaluation import error_rate
from netpact.training.options import OPTIMIZERS, SCHEDULES, TrainOptions
from netpact.training.plain import Trained, train
from netpact.training.recipe import Recipe

__all__ = ["OPTIMIZERS", "SCHEDULES", "Epoch", "Recipe", "TrainOptions", "Trained", "error_rate", "train"]
