from netpact.algebra.stream.gaussian_table import GAUSSIAN_UNIT as GAUSSIAN_UNIT
from netpact.algebra.stream.helper_stream import MAX_SEED as MAX_SEED
from netpact.algebra.stream.helper_stream import Stream as Stream
