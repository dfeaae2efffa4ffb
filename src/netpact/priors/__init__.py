"""What was there before the certified samples were looked at: base networks, and helpers trained on other samples."""

from netpact.priors.ground import Ground, find_ground
from netpact.priors.preparation import helper_module, retrain_helper, save_helper, train_helper

__all__ = ["Ground", "find_ground", "helper_module", "retrain_helper", "save_helper", "train_helper"]
