"""Factors of a CP decomposition as the weights of layers, in any grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from torch import Tensor

from netpact.algebra import CPDecomposition
from netpact.layers import CPConv2d, CPLinear
from netpact.methods.chain_rounding import Coded, best_coded, chain_weights
from netpact.methods.fitting import Array
from netpact.methods.grids import Grid, PerChannel

CPShell = CPConv2d | CPLinear
# Which axis of a weight has the components: rows where nothing else is said. Those of out_columns are groups of rows.
_COLUMNS = ("pointwise_out.weight", "out_rows.weight")
_GROUPS = ("out_columns.weight",)


def round_components(found: CPDecomposition, shell: CPShell, target: Tensor, grid: Grid) -> Coded:
    """The weights of the shell, a CP layer of as many components, in the best of three ways to share lambda."""
    shell = shell.double()
    return best_coded([share(found, shell, grid) for share in SHARES.values()], shell, target)


def equal_shares(found: CPDecomposition, shell: CPShell, grid: Grid) -> Coded:
    """lambda^(1/N) in each factor, one step for all components: small ones are rounded more coarsely."""
    weights = _arrange(found, shell, [1 / len(found.factors)] * len(found.factors))
    return {name: grid.round(values) for name, values in weights.items()}


def own_scales(found: CPDecomposition, shell: CPShell, grid: Grid) -> Coded:
    """A scale for each component in each factor: all components are rounded alike, relative to their size."""
    count = len(found.factors)
    shares = [1 / count] * 3 if count == 3 else [1 / 3, 0.0, 1 / 3, 1 / 3]  # groups of rows can have no scale
    coded = {}
    for name, values in _arrange(found, shell, shares).items():
        scaled = PerChannel(grid, columns=name in _COLUMNS)
        coded[name] = (grid if name in _GROUPS else scaled).round(values)
    return coded


def steps_by_weight(found: CPDecomposition, shell: CPShell, grid: Grid) -> Coded:
    """Every rounding moves the tensor by as much: steps of unit factors are proportional to 1 / lambda.

    Factors of norm lambda in one step have that, without scales; the one that is summed over takes what is left,
    lambda^(2 - N), and the step lambda^(1 - N).
    """
    count = len(found.factors)
    sizes = (found.weights / found.weights[0]).double().numpy() ** (1 - count)
    coded = {}
    for name, values in _arrange(found, shell, [2.0 - count, *[1.0] * (count - 1)]).items():
        if name in _COLUMNS:
            [coded[name]] = PerChannel(grid, columns=True).round_scaled([values], [sizes])
        else:
            coded[name] = grid.round(values)
    return coded


SHARES: Mapping[str, Callable[[CPDecomposition, CPShell, Grid], Coded]] = MappingProxyType(
    {"equal": equal_shares, "scales": own_scales, "by weight": steps_by_weight}
)


def _arrange(found: CPDecomposition, shell: CPShell, powers: Sequence[float]) -> dict[str, Array]:
    """The shell's weights for factors with these powers of lambda (over the largest) as norms.

    What the powers of the largest are short of is spread evenly over the factors.
    """
    relative = (found.weights / found.weights[0]).double()
    even = float(found.weights[0].double()) ** (1 / len(powers))
    pairs = zip(found.factors, powers, strict=True)
    shell.set_factors([factor.double() * (even * relative**power) for factor, power in pairs])
    return {name: tensor.detach().numpy().copy() for name, tensor in chain_weights(shell).items()}
