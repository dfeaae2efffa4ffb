"""verify, and the verdict that it gives."""

from netpact.pacts.verification.checking import check_risk, verify
from netpact.pacts.verification.verdict import Verdict

__all__ = ["Verdict", "check_risk", "verify"]
