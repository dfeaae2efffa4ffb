"""Lemmas D.4, E.8 and F.3 for one network whose layers keep given numbers of components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from netpact.core.checks import check_flag, check_integer
from netpact.core.errors import PactError
from netpact.measurements.tensors import LayerTensor, TensorProperties
from netpact.papers.li.lemmas.terms import LayerTerm, LemmaBound


def state_lemma(properties: TensorProperties, ranks: Sequence[int], *, as_printed: bool = False) -> LemmaBound:
    """A bound on |f - f^| / |f| for the network f^ that keeps the `ranks` largest components of its layers:

        |f - f^| <= |f| sum_k L_k (rho_k xi_k + residual_k) / (zeta_k |M_k|_F) prod_{l > k} L_l t_l / (zeta_l |M_l|_F)

    for every sample that the properties were measured on. This is Lemma D.4 (convolutions), E.8 (linear layers alone,
    with rho) and F.3 (layers with something around them have L_l t_l + 1). t_l is that of the layer that is left:

        M X - M^ X^  =  M^ (X - X^) + (M - M^) X

    Equation (59) has M in the place of the first M^, with which it is no identity. L is the Lipschitz constant of what
    lies between the layers, 1 for ReLU and for pooling without overlap. Biases may be there, the same in both networks.

    as_printed  with the paper's conventions: c_r and zeta both miss the factor sqrt(HW), E.8 has no |A_l|_F, no
                decomposition leaves a residual, and nothing between the layers enlarges an error
    """
    check_flag(as_printed, where="as_printed")
    layers = properties.layers
    if len(ranks) != len(layers):
        raise PactError(f"must be one rank for each of {len(layers)} layers, got {len(ranks)}", where="ranks")
    connected = all(layer.kind == "linear" for layer in layers)
    name = "F.3" if any(layer.skip for layer in layers) else "E.8" if connected else "D.4"
    state = partial(_state_printed, lemma=name) if as_printed else _state
    terms = tuple(state(layer, rank) for layer, rank in zip(layers, ranks, strict=True))
    return LemmaBound(name=name, printed=as_printed, layers=terms)


def _state(layer: LayerTensor, rank: int) -> LayerTerm:
    check_integer(rank, where=f"ranks, {layer.name}", least=0, most=layer.rank)
    return LayerTerm(
        name=layer.name,
        rank=rank,
        components=layer.rank,
        noise=layer.lipschitz * layer.reshaping * float(layer.noise()[rank]),
        gain=layer.lipschitz * float(layer.tensorization()[rank]) + layer.skip,
        signal=layer.cushion * layer.frobenius,
    )


def _state_printed(layer: LayerTensor, rank: int, *, lemma: str) -> LayerTerm:
    """rho is in E.8 alone, which divides t by zeta without |A|_F; F.3 has t + 1 at every layer."""
    shown = layer.as_printed()
    term = _state(replace(shown, skip=lemma == "F.3", reshaping=shown.reshaping if lemma == "E.8" else 1.0), rank)
    return replace(term, gain=term.gain * layer.frobenius) if lemma == "E.8" else term
