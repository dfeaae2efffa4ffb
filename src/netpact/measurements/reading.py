"""Measures out of their JSON: as a file has them, who wrote it is not known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from netpact.core.checks import check_flag, check_instance, check_integer, check_number, told
from netpact.core.errors import PactError
from netpact.core.json import check_fields, check_object
from netpact.measurements.definition import PAIR, QUANTITIES
from netpact.measurements.quantity import LEAST, SHARES, Quantity
from netpact.measurements.records import LayerMeasures, MeasureProvenance, Measures

_LAYER = ("index", "name", "kind", "shape", "parameters", "units", "places", "follows", "alone")
_NETWORK = ("depth", "logits", "is_chain", "has_biases")
_MOST_LAYERS = 10_000


@dataclass(frozen=True, eq=False)
class Quantiles(Quantity):
    """A quantity of which a file keeps no sample: `samples` are its quantiles at quantity.SHARES."""


def read_measures(record: object, *, where: str) -> Measures:
    """The inverse of Measures.to_json. Quantities that this netpact does not know are left out."""
    content = check_fields(
        record, ("layers", "network", "provenance"), where=where, optional=("warnings", "against", "zeta")
    )
    layers = check_instance(content["layers"], list, where=f"{where}, layers")
    if not 1 <= len(layers) <= _MOST_LAYERS:
        raise PactError(f"must have from 1 to {_MOST_LAYERS:,} layers, got {len(layers):,}", where=where)
    network = check_object(content["network"], where=f"{where}, network")
    _need(network, _NETWORK, where=f"{where}, network")
    warnings = check_instance(content.get("warnings", []), list, where=f"{where}, warnings")
    return Measures(
        layers=tuple(_read_layer(layer, where=f"{where}, layer {place}") for place, layer in enumerate(layers)),
        logits=check_integer(network["logits"], where=f"{where}, logits", least=0),
        provenance=_read_provenance(content["provenance"], where=f"{where}, provenance"),
        has_biases=check_flag(network["has_biases"], where=f"{where}, has_biases"),
        found=_quantities(network, where=f"{where}, network"),
        warnings=tuple(_text(words, where=f"{where}, warnings") for words in warnings),
    )


def _read_layer(record: object, *, where: str) -> LayerMeasures:
    content = check_object(record, where=where)
    _need(content, _LAYER, where=where)
    shape = check_instance(content["shape"], list, where=f"{where}, shape")
    follows = content["follows"]
    pairs = {
        name: {
            _place(end, where=f"{where}, {name}"): _read_quantity(one, where=f"{where}, {name}")
            for end, one in check_object(content[name], where=f"{where}, {name}").items()
        }
        for name in content
        if name in QUANTITIES and PAIR in QUANTITIES[name].scopes
    }
    return LayerMeasures(
        index=check_integer(content["index"], where=f"{where}, index", least=0),
        name=_text(content["name"], where=f"{where}, name"),
        kind=_text(content["kind"], where=f"{where}, kind"),
        shape=tuple(check_integer(side, where=f"{where}, shape", least=0) for side in shape),
        parameters=check_integer(content["parameters"], where=f"{where}, parameters", least=0),
        units=check_integer(content["units"], where=f"{where}, units", least=0),
        places=check_integer(content["places"], where=f"{where}, places", least=0),
        follows=None if follows is None else _text(follows, where=f"{where}, follows"),
        alone=check_flag(content["alone"], where=f"{where}, alone"),
        found=_quantities({name: value for name, value in content.items() if name not in pairs}, where=where),
        pairs=pairs,
    )


def _place(end: str, *, where: str) -> int:
    if not (end.isascii() and end.isdigit() and len(end) < 10):
        raise PactError(f"must be the index of a layer or a component, got {told(end)}", where=where)
    return int(end)


def _text(value: object, *, where: str) -> str:
    """It may be empty, as the name of a module that is a layer itself is."""
    return check_instance(value, str, where=where, needed="a text")


def _quantities(content: Mapping[str, Any], *, where: str) -> dict[str, Quantity]:
    return {
        name: _read_quantity(value, where=f"{where}, {name}") for name, value in content.items() if name in QUANTITIES
    }


def _read_quantity(record: object, *, where: str) -> Quantity:
    content = check_fields(
        record, ("value", "exact", "stderr"), where=where, optional=("side", "count", "quantiles", "samples")
    )
    stderr = content["stderr"]
    known = {
        "value": _number(content["value"], where=where),
        "exact": check_flag(content["exact"], where=f"{where}, exact"),
        "stderr": None if stderr is None else float(check_number(stderr, where=f"{where}, stderr")),
        "side": content.get("side", LEAST),
    }
    if "samples" in content:
        numbers = check_instance(content["samples"], list, where=f"{where}, samples")
        return Quantity(**known, samples=np.array([_number(one, where=where) for one in numbers]))
    if "quantiles" in content:
        shares = check_fields(content["quantiles"], [f"{share:g}" for share in SHARES], where=f"{where}, quantiles")
        return Quantiles(**known, samples=np.array([_number(shares[f"{share:g}"], where=where) for share in SHARES]))
    return Quantity(**known)


def _number(value: object, *, where: str) -> float:
    """Infinite numbers are null in JSON."""
    return math.inf if value is None else float(check_number(value, where=where))


def _read_provenance(record: object, *, where: str) -> MeasureProvenance:
    content = check_fields(record, [entry.name for entry in fields(MeasureProvenance)], where=where)
    for name in ("version", "model", "data_name", "data_fingerprint"):
        _text(content[name], where=f"{where}, {name}")
    for name in ("samples", "jacobian_samples", "seed"):
        check_integer(content[name], where=f"{where}, {name}", least=0)
    check_flag(content["folded"], where=f"{where}, folded")
    return MeasureProvenance(**content)


def _need(content: Mapping[str, Any], names: tuple[str, ...], *, where: str) -> None:
    missing = [name for name in names if name not in content]
    if missing:
        raise PactError(f"missing: {', '.join(missing)}", where=where)
