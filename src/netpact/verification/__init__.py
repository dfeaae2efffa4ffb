"""verify, and the verdict that it gives."""

from netpact.verification.checking import check_risk, verify
from netpact.verification.verdict import Verdict

__all__ = ["Verdict", "check_risk", "verify"]
