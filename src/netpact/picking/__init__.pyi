from netpact.picking.base import FeatureBase as FeatureBase
from netpact.picking.certifying import pick as pick
from netpact.picking.classifier import PickedClassifier as PickedClassifier
from netpact.picking.file import Picked as Picked
from netpact.picking.learner import Selection as Selection
from netpact.picking.learner import select as select
from netpact.picking.recipe import PickRecipe as PickRecipe
from netpact.picking.verifying import verify_picked as verify_picked
