"""measure_tails: the tails of every linear layer and convolution of a module, from its weights alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from netpact.core.checks import check_instance
from netpact.core.errors import PactError, wrong_kind
from netpact.core.progress import Progress
from netpact.core.version import __version__
from netpact.measurements.tails.eigenvalues import Spectrum, layer_spectrum
from netpact.measurements.tails.fitting import fit_signed, fit_spectrum, fit_weights
from netpact.measurements.tails.options import TailOptions
from netpact.measurements.tails.records import LayerTails, Tails
from netpact.network import Network

_TYPES = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
FoundT = TypeVar("FoundT")


def measure_tails(
    model: nn.Module | Network, options: TailOptions | None = None, *, progress: Progress | None = None
) -> Tails:
    """Fit power laws to the weights and to the eigenvalues of each linear layer and convolution, layer by layer.

    The weights are those that are stored: batch norm is not folded (netpact.measure folds it). Weights that several
    layers share are measured once. A layer without a fit has the reason in its `missing`.

    progress  called with (done, total) weights
    """
    chosen = TailOptions() if options is None else check_instance(options, TailOptions, where="options")
    module = model.module if isinstance(model, Network) else model
    if not isinstance(module, nn.Module):
        raise wrong_kind(model, needed="a torch module or a netpact.Network", where="model")
    parts = list(_find(module))
    if not parts:
        raise PactError("no linear layers or convolutions to measure", where=type(module).__name__)
    total, done, layers = sum(weight.numel() for _, _, weight in parts), 0, []
    for name, part, weight in parts:
        report = None if progress is None else _within(progress, done, weight.numel(), total)
        layers.append(measure_layer(name, type(part).__name__.lower(), weight, chosen, report))
        done += weight.numel()
        if progress is not None:
            progress(done, total)
    told = model.name if isinstance(model, Network) else type(module).__name__
    return Tails(tuple(layers), told, chosen.convolution, chosen.repeats, chosen.seed.number, __version__)


def _find(module: nn.Module) -> Iterator[tuple[str, nn.Module, Tensor]]:
    seen: set[int] = set()
    for name, part in module.named_modules():
        weight = getattr(part, "weight", None)
        if isinstance(part, _TYPES) and isinstance(weight, Tensor) and weight.data_ptr() not in seen:
            if weight.is_meta:
                raise PactError("its weights have no values", where=name or "model", hint="load them first")
            seen.add(weight.data_ptr())
            yield name or type(part).__name__.lower(), part, weight.detach().cpu()


def measure_layer(
    name: str, kind: str, weight: Tensor, options: TailOptions, report: Progress | None = None
) -> LayerTails:
    """The fits that the options ask for; report: called with the candidates for the start of the weights' tail."""
    if not bool(torch.isfinite(weight).all()):
        raise PactError("it holds NaN or infinity", where=f"layer {name}", hint="the training may have diverged")
    missing: dict[str, str] = {}
    seed, repeats = options.seed.child("tails", name), options.repeats

    def attempt(what: str, work: Callable[[], FoundT]) -> FoundT | None:
        if not getattr(options, what):
            return None
        try:
            return work()
        except PactError as error:  # a layer of zeros, say: the others are measured all the same
            missing[what] = error.what
            return None

    spectrum = layer_spectrum(weight, options.convolution) if options.eigenvalues else Spectrum(np.zeros(0), 0)
    return LayerTails(
        name,
        kind,
        tuple(weight.shape),
        attempt("weights", lambda: fit_weights(weight, repeats=repeats, seed=seed.child("weights"), progress=report)),
        attempt("eigenvalues", lambda: fit_spectrum(spectrum, repeats=repeats, seed=seed.child("eigenvalues"))),
        attempt("stable", lambda: fit_signed(weight)),
        # The sum of all eigenvalues is |W|_F^2; those that count as 0 are too small to be seen in it.
        float(spectrum.values.sum() / spectrum.values[-1])
        if len(spectrum.values) and options.convolution == "matrix"
        else None,
        missing,
    )


def _within(progress: Progress, done: int, size: int, total: int) -> Progress:
    """The candidates of one fit as a part of all weights."""
    return lambda seen, of: progress(done + size * seen // max(of, 1), total)
