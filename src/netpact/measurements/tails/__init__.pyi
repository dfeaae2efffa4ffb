from netpact.measurements.tails.measuring import measure_tails as measure_tails
from netpact.measurements.tails.options import CONVOLUTIONS as CONVOLUTIONS
from netpact.measurements.tails.options import TailOptions as TailOptions
from netpact.measurements.tails.records import LayerTails as LayerTails
from netpact.measurements.tails.records import TailFit as TailFit
from netpact.measurements.tails.records import Tails as Tails
