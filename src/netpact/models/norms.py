"""Batch norm in plans: as it is trained, or folded into what stands before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from netpact.core.errors import PactError
from netpact.models.plan import Affine, BatchNorm, Conv, CPConv, DenseStep, Layer, Plan, Residual, ShuffleStep, parts_of

AS_TRAINED, FOLDED = 1, 2
NORMS = "norm (1 batch norm as trained, 2 folded)"


def choose_norm(plan: Plan, norm: int, *, family: str) -> Plan:
    """A plan with batch norm, in the form that the family's last size asks for."""
    if norm == AS_TRAINED:
        return plan
    if norm == FOLDED:
        return fold_plan(plan)
    raise PactError(f"the last size of {family} is {NORMS}; got {norm}", where="sizes[2]")


def fold_plan(plan: Plan) -> Plan:
    """A convolution takes in the batch norm that directly follows it; any other batch norm becomes an Affine."""
    folded: list[tuple[str, Layer]] = []
    previous: Layer | None = None
    for name, layer in plan:
        if isinstance(layer, BatchNorm) and isinstance(previous, Conv):
            folded[-1] = (folded[-1][0], replace(previous, bias=True))
        elif isinstance(layer, BatchNorm):
            folded.append((name, Affine(layer.channels)))
        elif isinstance(layer, Residual):
            folded.append((name, Residual(fold_plan(layer.body), fold_plan(layer.shortcut))))
        elif isinstance(layer, DenseStep):
            folded.append((name, DenseStep(fold_plan(layer.body))))
        elif isinstance(layer, ShuffleStep):
            folded.append((name, ShuffleStep(fold_plan(layer.body), fold_plan(layer.branch))))
        else:
            folded.append((name, layer))
        previous = layer
    return tuple(folded)


def list_norms(plan: Plan, prefix: str = "") -> Iterator[tuple[str, str | None]]:
    """The full name of every batch norm, and of the convolution that takes it in, if there is one.

    Of a CP convolution that is the last of its layers, the one that has the bias.
    """
    before: str | None = None
    for name, layer in plan:
        if isinstance(layer, BatchNorm):
            yield prefix + name, before
        for part, inner in parts_of(layer).items():
            yield from list_norms(inner, f"{prefix}{name}.{part}.")
        before = prefix + name if isinstance(layer, Conv) else None
        if isinstance(layer, CPConv):
            before = f"{prefix}{name}.pointwise_out"
