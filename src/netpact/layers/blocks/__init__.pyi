from netpact.layers.blocks.separable import DepthwiseSeparable as DepthwiseSeparable
from netpact.layers.blocks.separable import InvertedResidual as InvertedResidual
from netpact.layers.blocks.shuffled import ShuffleUnit as ShuffleUnit
from netpact.layers.blocks.tucker_form import Bottleneck as Bottleneck
from netpact.layers.blocks.tucker_form import Funnel as Funnel
from netpact.layers.blocks.tucker_form import ResNeXt as ResNeXt
