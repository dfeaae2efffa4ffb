from netpact.layers.affine import ChannelAffine as ChannelAffine
from netpact.layers.factored import Factored as Factored
from netpact.layers.oriented import OrientedEdges as OrientedEdges
from netpact.layers.oriented import count_features as count_features
from netpact.layers.oriented import orient as orient
from netpact.layers.skips import DenseStep as DenseStep
from netpact.layers.skips import Residual as Residual
from netpact.layers.skips import ZeroPaddedShortcut as ZeroPaddedShortcut
