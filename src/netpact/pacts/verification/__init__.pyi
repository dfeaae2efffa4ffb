from netpact.pacts.verification.checking import check_risk as check_risk
from netpact.pacts.verification.checking import verify as verify
from netpact.pacts.verification.verdict import Verdict as Verdict
