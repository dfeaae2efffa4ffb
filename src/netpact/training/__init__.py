"""Training a classifier and testing it as it is."""

from netpact.training.augmentation import Augmentation, parse_augmentation
from netpact.training.epoch import Epoch
from netpact.training.evaluation import error_rate
from netpact.training.options import OPTIMIZERS, TrainOptions
from netpact.training.papers import PAPER_RECIPES, PaperRecipe
from netpact.training.plain import Trained, train
from netpact.training.recipe import Recipe
from netpact.training.schedules import SCHEDULES, Decay, parse_schedule

__all__ = [
    "OPTIMIZERS",
    "PAPER_RECIPES",
    "SCHEDULES",
    "Augmentation",
    "Decay",
    "Epoch",
    "PaperRecipe",
    "Recipe",
    "TrainOptions",
    "Trained",
    "error_rate",
    "parse_augmentation",
    "parse_schedule",
    "train",
]
