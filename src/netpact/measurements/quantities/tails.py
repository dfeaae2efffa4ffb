"""Heavy tails: exponents of the weights and of the eigenvalues of W^T W, stable distributions of the weights.

Measured where they are named, since each layer is fitted. The weights are those of the folded network, as for all
quantities; netpact.measure_tails takes them as they are stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from netpact.measurements.cost import Cost, Timing
from netpact.measurements.definition import QUANTITIES, OfLayer
from netpact.measurements.passes import Context, Pass
from netpact.measurements.quantity import MOST, Quantity, of_weights
from netpact.measurements.structure import WeightLayer
from netpact.measurements.tails.measuring import measure_layer
from netpact.measurements.tails.options import TailOptions
from netpact.measurements.tails.records import REJECTED, LayerTails, TailFit

_REPEATS = 100  # of the bootstrap, where the options do not say
_SORTING, _SUMMING = 5e-7, 2e-10  # seconds for a weight, and for a weight and a row of the smaller side
_WORDS = {"weights": "tails of the weights", "eigenvalues": "eigenvalues", "stable": "stable distributions"}
Found = dict[int, LayerTails]
_REFERENCE = "Clauset, Shalizi and Newman 2009; Martin and Mahoney 2020"


def _run(what: str, bootstrap: bool, context: Context) -> Found:
    """The fits of one kind, by the layer's index."""
    asked: TailOptions = context.options.tails
    wanted = {name: name == what for name in _WORDS}
    repeats = (asked.repeats or _REPEATS) if bootstrap else 0
    options = replace(asked, **wanted, repeats=repeats)  # type: ignore[arg-type]
    found: Found = {}
    for done, layer in enumerate(context.structure.layers):
        found[layer.index] = measure_layer(layer.name, layer.kind, layer.weight.cpu(), options)
        context.report(done + 1)
    return found


def _forecast(what: str, bootstrap: bool, timing: Timing) -> Cost:
    layers, asked = timing.context.structure.layers, timing.context.options.tails
    seconds = 0.0
    for layer in layers:
        size, side = layer.weight.numel(), min(layer.weight.flatten(1).shape)
        seconds += _SUMMING * size * side if what == "eigenvalues" else _SORTING * size
        if bootstrap:
            seconds += (asked.repeats or _REPEATS) * _SORTING * (side if what == "eigenvalues" else size)
    return Cost(seconds, f"{_WORDS[what]} of {len(layers)} layers" + (", bootstrap" if bootstrap else ""))


def _pass(name: str, what: str, *, bootstrap: bool = False) -> Pass[Found]:
    return Pass(
        name,
        partial(_run, what, bootstrap),
        steps=lambda context: len(context.structure.layers),
        forecast=partial(_forecast, what, bootstrap),
    )


WEIGHT_TAILS, WEIGHT_BOOTSTRAP = _pass("weight tails", "weights"), _pass("weight bootstrap", "weights", bootstrap=True)
EIGENVALUE_TAILS = _pass("eigenvalue tails", "eigenvalues")
EIGENVALUE_BOOTSTRAP = _pass("eigenvalue bootstrap", "eigenvalues", bootstrap=True)
STABLE = _pass("stable distributions", "stable")

Read = Callable[[TailFit], "Quantity | None"]
# The end of the name, the title, what it is.
_ROWS: tuple[tuple[str, str, Read], ...] = (
    ("alpha", "exponent alpha of the density w^-alpha", lambda one: _estimate(one.alpha, one.fit.alpha_stderr)),
    ("tail_index", "tail index, alpha - 1", lambda one: _estimate(one.tail_index, one.fit.alpha_stderr)),
    ("tail_start", "where the tail begins", lambda one: of_weights(one.fit.xmin)),
    ("tail_count", "numbers in the tail", lambda one: of_weights(one.fit.tail_count)),
    ("tail_ks", "KS distance of the power law", lambda one: of_weights(one.fit.ks)),
    *(
        (
            f"tail_over_{name.replace('-', '_')}",
            f"power law against {name}, normalized log-likelihood ratio",
            partial(lambda name, one: of_weights(one.comparisons[name].normalized_ratio), name),
        )
        for name in ("exponential", "laplace", "log-normal", "gaussian")
    ),
)


def _estimate(value: float, stderr: float) -> Quantity:
    return Quantity(value, exact=True, stderr=stderr)


def _of(passed: Pass[Found], what: str, read: Read, layer: WeightLayer, context: Context) -> Quantity | None:
    found: TailFit | None = getattr(context[passed][layer.index], what)
    return None if found is None else read(found)


def _warn(passed: Pass[Found], layer: WeightLayer, context: Context) -> tuple[str, ...]:
    return context[passed][layer.index].warnings


def _warn_of_p(passed: Pass[Found], what: str, layer: WeightLayer, context: Context) -> tuple[str, ...]:
    found: TailFit | None = getattr(context[passed][layer.index], what)
    if found is None or found.p_value is None or found.p_value >= REJECTED:
        return ()
    return (f"no power law established for the {what}: p-value {found.p_value:.3g}",)


def _p_value(found: TailFit) -> Quantity | None:
    return None if found.p_value is None else Quantity(found.p_value, exact=False)


def _of_stable(name: str, error: str, layer: WeightLayer, context: Context) -> Quantity | None:
    found = context[STABLE][layer.index].stable
    if found is None:
        return None
    return Quantity(getattr(found, name), exact=True, stderr=getattr(found, error) if error else None)


for _prefix, _what, _tails, _bootstrap in (
    ("weight", "weights", WEIGHT_TAILS, WEIGHT_BOOTSTRAP),
    ("eigenvalue", "eigenvalues", EIGENVALUE_TAILS, EIGENVALUE_BOOTSTRAP),
):
    for _end, _title, _read in _ROWS:
        QUANTITIES.add(
            OfLayer(
                f"{_prefix}_{_end}",
                partial(_of, _tails, _what, _read),
                title=f"{_what}: {_title}",
                side=MOST,
                logarithmic=False,
                needs=(_tails,),
                asked=True,
                warn=partial(_warn, _tails),
                reference=_REFERENCE,
            )
        )
    QUANTITIES.add(
        OfLayer(
            f"{_prefix}_tail_p_value",
            partial(_of, _bootstrap, _what, _p_value),
            title=f"{_what}: p-value of the power law",
            logarithmic=False,
            needs=(_bootstrap,),
            asked=True,
            warn=partial(_warn_of_p, _bootstrap, _what),
            reference="Clauset, Shalizi and Newman 2009, section 4.1",
        )
    )
for _name, _error in (("alpha", "alpha_stderr"), ("beta", "beta_stderr"), ("scale", "")):
    QUANTITIES.add(
        OfLayer(
            f"stable_{_name}",
            partial(_of_stable, _name, _error),
            title=f"{_name} of the stable distribution of the weights",
            side=MOST,
            logarithmic=False,
            needs=(STABLE,),
            asked=True,
            warn=partial(_warn, STABLE),
            reference="Kogon and Williams 1998",
        )
    )
