"""What to compare, on how many samples, and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass

from netpact.certificates.inputs import failure_probability
from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.methods import METHODS

COUNTED = 2000  # samples for the table where the data have more


@dataclass(frozen=True)
class CompareOptions:
    """methods    names of those to compare; none for all
    sizes      settings of each size knob of a method, from large files to small ones
    samples    that errors, fidelity and estimates are taken from, of the training and of the test set each, evenly
               spread over them; 0: all, at most 2,000. A certificate always counts all training samples
    certified  how many files get a certificate: those that are recommended, then those that promise the lowest bounds;
               None: three, and up to eight where that takes a small share of the time
    minutes    that all may take, roughly: it decides how long methods train, not how many are tried
    tolerance  how much larger an error may be for a file to count as accurate
    delta      the certificates hold with probability 1 - delta each
    seed       of the measurements
    """

    methods: tuple[str, ...] = ()
    sizes: int = 3
    samples: int = 0
    certified: int | None = None
    minutes: float = 30.0
    tolerance: float = 0.01
    delta: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        for name in self.methods:
            METHODS.look_up(name)
        if len(set(self.methods)) < len(self.methods):
            raise PactError("a method is named twice", where="methods")
        check_integer(self.sizes, where="sizes", least=1)
        check_integer(self.samples, where="samples", least=0)
        if self.certified is not None:
            check_integer(self.certified, where="certified", least=0)
        check_number(self.minutes, where="minutes", above=0)
        check_number(self.tolerance, where="tolerance", least=0, most=1)
        failure_probability(self.delta)
        Seed(self.seed)

    def counted(self, count: int) -> int:
        """Of so many samples."""
        return min(self.samples or COUNTED, count)
