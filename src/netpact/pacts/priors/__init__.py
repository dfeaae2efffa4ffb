"""What was there before the certified samples were looked at: base networks, and helpers trained on other samples."""

from netpact.pacts.priors.ground import Ground, find_ground
from netpact.pacts.priors.preparation import helper_module, retrain_helper, save_helper, train_helper
from netpact.pacts.priors.subject import Subject, open_subject

__all__ = [
    "Ground",
    "Subject",
    "find_ground",
    "helper_module",
    "open_subject",
    "retrain_helper",
    "save_helper",
    "train_helper",
]
