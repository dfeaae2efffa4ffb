"""From what the passes found to the records: each quantity that is wanted, computed by its row of the table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np
import torch

from netpact.measurements.definition import QUANTITIES, Definition, FromParts, OfLayer, OfNetwork, OfPairs, OverLayers
from netpact.measurements.passes import Context
from netpact.measurements.quantity import LEAST, Quantity, of_weights, over_samples
from netpact.measurements.records import LayerMeasures, MeasureProvenance, Measures
from netpact.measurements.structure import WeightLayer


def assemble(context: Context, rows: Sequence[Definition], provenance: MeasureProvenance) -> Measures:
    """rows: what is wanted and what that is computed from, in the order of the table."""
    layers = [_assemble_layer(layer, rows, context) for layer in context.structure.layers]
    network: dict[str, Quantity] = {}
    for row in rows:
        found = None
        if isinstance(row, OfNetwork):
            found = row.compute(context)
        elif isinstance(row, OverLayers):
            found = _over_layers([layer[row.name] for layer in layers if row.name in layer.found], side=row.side)
        if found is not None:
            network[row.name] = found
    wanted = context.options.only or [row.name for row in rows]
    return Measures(
        tuple(_keep(layer, wanted) for layer in layers),
        context.structure.logits,
        provenance,
        has_biases=any(_has_bias(part) for part in context.network.module.modules()),
        found={name: found for name, found in network.items() if name in wanted},
        warnings=_warnings(context, [row for row in rows if row.name in wanted]),
    )


def _warnings(context: Context, rows: Sequence[Definition]) -> tuple[str, ...]:
    """What is left out, and what the rows say of each layer, each sentence once."""
    layers, others = context.structure.layers, context.network.others
    left_out = [f"left out: {', '.join(others)}; what is over all layers is over those listed"] if others else []
    said = (f"{layer.name}: {words}" for layer in layers for row in rows for words in row.warn(layer, context))
    return (*left_out, *dict.fromkeys(said))


def _has_bias(part: torch.nn.Module) -> bool:
    bias = getattr(part, "bias", None)
    return isinstance(bias, torch.Tensor) and bool(bias.any())


def _assemble_layer(layer: WeightLayer, rows: Sequence[Definition], context: Context) -> LayerMeasures:
    followed = next((other.name for other in context.structure.layers if other.index == layer.follows), None)
    measured = {row.name: row.compute(layer, context) for row in rows if isinstance(row, OfLayer)}
    pairs = {row.name: row.compute(layer, context) for row in rows if isinstance(row, OfPairs)}
    record = LayerMeasures(
        layer.index,
        layer.name,
        layer.kind,
        tuple(layer.weight.shape),
        layer.layer.parameters,
        layer.units,
        layer.places,
        followed,
        layer.alone,
        layer.cover,
        {name: quantity for name, quantity in measured.items() if quantity is not None},
        {name: ends for name, ends in pairs.items() if ends},
    )
    return derive(record, rows)


def derive(layer: LayerMeasures, rows: Iterable[Definition]) -> LayerMeasures:
    """The record with the quantities that are computed from others, where these are known."""
    found = dict(layer.found)
    for row in rows:
        if isinstance(row, FromParts) and found.keys() >= set(row.parts):
            found[row.name] = row.compute(replace(layer, found=found))
    return replace(layer, found={name: found[name] for name in QUANTITIES if name in found})


def _keep(layer: LayerMeasures, wanted: Collection[str]) -> LayerMeasures:
    found = {name: quantity for name, quantity in layer.found.items() if name in wanted}
    return replace(layer, found=found, pairs={name: ends for name, ends in layer.pairs.items() if name in wanted})


def _over_layers(quantities: Sequence[Quantity], *, side: str) -> Quantity | None:
    """The worst of the layers for each sample."""
    if not quantities:
        return None
    samples = [quantity.samples for quantity in quantities if quantity.samples is not None]
    if not samples:
        values = [quantity.value for quantity in quantities]
        return of_weights(min(values) if side == LEAST else max(values))
    worst = np.min(samples, axis=0) if side == LEAST else np.max(samples, axis=0)
    return over_samples(worst, side=side, complete=all(quantity.exact for quantity in quantities))
