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
_COLUMNS = ("pointwise_out.weight", "out_rows.weight")  # the layers that sum over the components
_STEEP = 2.0**-20


def round_components(found: CPDecomposition, shell: CPShell, target: Tensor, grid: Grid) -> Coded:
    """The weights of the shell, a CP layer of as many components, in the better of two ways to share lambda."""
    shell = shell.double()
    is_steep = float(found.weights[-1]) < _STEEP * float(found.weights[0])  # powers of lambda might overflow
    shares = [equal_shares] if is_steep else SHARES.values()
    return best_coded([share(found, shell, grid) for share in shares], shell, target)


def equal_shares(found: CPDecomposition, shell: CPShell, grid: Grid) -> Coded:
    """lambda^(1/N) in each factor, one step for all components: small ones are rounded more coarsely."""
    weights = _arrange(found, shell, [1 / len(found.factors)] * len(found.factors))
    return {name: grid.round(values) for name, values in weights.items()}


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
    {"equal": equal_shares, "by weight": steps_by_weight}
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
