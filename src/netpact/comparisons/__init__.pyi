from netpact.comparisons.comparing import compare as compare
from netpact.comparisons.options import CompareOptions as CompareOptions
from netpact.comparisons.recommending import Choice as Choice
from netpact.comparisons.recommending import Recommendation as Recommendation
from netpact.comparisons.recommending import recommend as recommend
from netpact.comparisons.result import Comparison as Comparison
from netpact.comparisons.result import LeftOut as LeftOut
