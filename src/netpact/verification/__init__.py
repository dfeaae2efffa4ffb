"""verify, and the verdict that it gives."""

from netpact.verification.checking import verify
from netpact.verification.verdict import Verdict

__all__ = ["Verdict", "verify"]
