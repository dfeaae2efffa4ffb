"""The settings of Table 1 and of A.5.1, at three sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from netpact.experiments import SimulationPreset
from netpact.papers.rethinking.simulation.lines import LineCase, time_line
from netpact.papers.rethinking.simulation.redundancy import KernelCase, time_kernels

PAPER = "Rethinking Compressed CNNs 2021"
PLAIN, VAR, TUCKER = "plain", "var", "tucker"
NUMBERS = (1, 2, 3, 4)
_SMALL = ((7, 5, 7), (2, 2, 2), (3, 2, 3))
_LARGE = ((8, 8, 3), (3, 3, 3), (3, 3, 1))
# Table 1, right: three sizes of kernels of order 4, and four ranks where five are needed. The fourth mode, the
# channels, is the one that has neither a kernel size nor a pooling size: the kernel covers it and has full rank there.
# The four ranks are then those of the three modes that have sizes, and of the output channels.
_FIRST = ((10, 10, 8, 3), (5, 5, 3, 3), (3, 3, 3, 1), (2, 2, 2, 3, 1))
_SECOND = ((12, 12, 6, 3), (7, 7, 3, 3), (3, 3, 2, 1), (2, 3, 2, 3, 1))
_NORM = 0.8  # of the transition matrix: "spectral norm less than 1"


def name_line(number: int, kind: str) -> str:
    return f"s{number}-{kind}"


def _lines(*, sizes: int, plain: int, tucker: int) -> Mapping[str, LineCase]:
    """plain, tucker: replicates."""
    cases = {}
    for number, (table, kernels) in zip(NUMBERS, ((_SMALL, 1), (_SMALL, 3), (_LARGE, 1), (_LARGE, 3)), strict=True):
        for kind, norm in ((PLAIN, 0.0), (VAR, _NORM)):
            cases[name_line(number, kind)] = LineCase(*table, kernels, (), norm, sizes, plain, 0)
    for number, (wide, kernels) in zip(NUMBERS, ((_FIRST, 2), (_FIRST, 3), (_SECOND, 2), (_SECOND, 3)), strict=True):
        shape, kernel, pooling, ranks = wide
        cases[name_line(number, TUCKER)] = LineCase(shape, kernel, pooling, kernels, ranks, 0.0, sizes, tucker, 1)
    return MappingProxyType(cases)


LINES: Mapping[str, SimulationPreset] = MappingProxyType(
    {
        "quick": SimulationPreset(
            about="the settings of Table 1 at 10 sample sizes with 200 training sets each, as in the paper, for plain "
            "networks, and 30 for Tucker networks",
            cases=_lines(sizes=10, plain=200, tucker=30),
            time=time_line,
        ),
        "full": SimulationPreset(
            about="the settings of Table 1 at 10 sample sizes with 200 training sets each, as in the paper",
            cases=_lines(sizes=10, plain=200, tucker=200),
            time=time_line,
        ),
        "digits": SimulationPreset(
            about="the settings of Table 1 with two training sets at three sample sizes: a trial of the program",
            cases=_lines(sizes=3, plain=2, tucker=1),
            time=time_line,
        ),
    }
)

COUNTS = (8, 16, 24, 32)  # K; R = 8


def name_kernels(kernels: int) -> str:
    return f"k{kernels}"


def _kernels(case: KernelCase) -> Mapping[str, KernelCase]:
    return MappingProxyType({name_kernels(kernels): replace(case, kernels=kernels) for kernels in COUNTS})


KERNELS: Mapping[str, SimulationPreset] = MappingProxyType(
    {
        "quick": SimulationPreset(
            about="12 x 12 inputs with 8 channels, kernels 8 x 8 x 8, pooling 2 x 2, noise of standard deviation 0.1, "
            "12 training sets for each size",
            cases=_kernels(KernelCase((12, 12, 8), (8, 8, 8), (2, 2, 1), 8, 8, (800, 1600), 12, 0.1, 20_000)),
            time=time_kernels,
        ),
        "full": SimulationPreset(
            about="32 x 32 inputs with 16 channels and pooling 5 x 5, 50 training sets for each size, as in the paper; "
            "noise of standard deviation 0.1 and the sizes are chosen here",
            cases=_kernels(KernelCase((32, 32, 16), (8, 8, 16), (5, 5, 1), 8, 8, (1000, 2000, 4000), 50, 0.1, 20_000)),
            time=time_kernels,
        ),
        "digits": SimulationPreset(
            about="8 x 8 inputs with 2 channels, one training set of 200 samples: a trial of the program",
            cases=_kernels(KernelCase((8, 8, 2), (4, 4, 2), (2, 2, 1), 2, 2, (200,), 1, 0.1, 20)),
            time=time_kernels,
        ),
    }
)
