"""Small networks whose norms and cushions can be worked out by hand or by loops."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from netpact.algebra import polyadic_form
from netpact.bounds import EstimateOptions
from netpact.bounds.facts import Facts
from netpact.bounds.norms import LayerNorms
from netpact.datasets import Data, as_data
from netpact.measurements.tensors import LayerTensor, TensorProperties, TensorProvenance
from netpact.papers.arora.stability import LayerStability, Stability
from netpact.papers.guha.theory import TheoryLayer

Matrix = NDArray[np.float64]

FIRST = np.array([[3.0, 0.0], [0.0, 4.0]])
SECOND = np.array([[1.0, -2.0], [2.0, 0.0]])


def chain(*matrices: Matrix, biases: tuple[Matrix, ...] = ()) -> nn.Sequential:
    """Linear layers with these matrices and ReLU between them; without biases where none are given."""
    parts: list[nn.Module] = []
    for place, matrix in enumerate(matrices):
        layer = nn.Linear(matrix.shape[1], matrix.shape[0], bias=bool(biases))
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(matrix))
            if biases:
                layer.bias.copy_(torch.from_numpy(biases[place]))
        parts += [layer, nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def some_data(*, inputs: int, classes: int, count: int, seed: int = 0) -> Data:
    generator = np.random.default_rng(seed)
    x = generator.uniform(0.1, 1.0, (count, inputs)).astype(np.float32)
    return as_data((x, np.arange(count) % classes), classes=classes)


def norms_by_loops(matrix: Matrix, *, name: str = "") -> LayerNorms:
    """Every norm from its definition, entry by entry."""
    rows = [[abs(float(entry)) for entry in row] for row in matrix]
    return LayerNorms(
        name=name,
        kind="linear",
        outputs=len(rows),
        spectral=float(np.linalg.svd(matrix, compute_uv=False)[0]),
        frobenius=sum(entry**2 for row in rows for entry in row) ** 0.5,
        l1_inf=max(sum(row) for row in rows),
        l1_l2=sum(sum(row) ** 2 for row in rows) ** 0.5,
        l2_l1=sum(sum(entry**2 for entry in row) ** 0.5 for row in rows),
        largest_row=max(sum(entry**2 for entry in row) ** 0.5 for row in rows),
    )


def make_facts(*matrices: Matrix, gamma: float = 0.5, stability: Stability | None = None, samples: int = 100) -> Facts:
    known = {
        "norms": tuple(norms_by_loops(matrix) for matrix in matrices),
        "stability": stability,
        "tensors": make_tensors(*matrices),
        "pruned_layers": make_pruned_layers(*matrices),
        "input_size": matrices[0].shape[1],
        "layer_weights": matrices,
        "depth": len(matrices),
        "parameters": sum(matrix.size for matrix in matrices),
        "classes": len(matrices[-1]),
        "samples": samples,
        "input_norm": 2.0,
        "output_norm": 3.0,
        "foreign": (),
        "is_chain": True,
        "is_fully_connected": True,
        "has_biases": False,
    }
    return Facts(EstimateOptions(), known=known, gamma=gamma)


def make_tensors(*matrices: Matrix) -> TensorProperties:
    """As if each cushion was 1/2 and the largest output of length 3."""
    layers = tuple(
        LayerTensor(
            name=f"layer{place}",
            kind="linear",
            components=(found := polyadic_form(torch.from_numpy(matrix))),
            gains=torch.ones(found.rank, dtype=torch.float64),
            residual=0.0,
            frobenius=float(np.linalg.norm(matrix)),
            cushion=0.5,
            reshaping=1.0,
            places=1,
            skip=False,
        )
        for place, matrix in enumerate(matrices)
    )
    told = TensorProvenance("0", "chain", "made up", "sha256:0", 0, folded=False, decomposition="exact")
    return TensorProperties(layers, 3.0, 100, told)


def make_pruned_layers(*matrices: Matrix) -> tuple[TheoryLayer, ...]:
    return tuple(
        TheoryLayer(
            name=f"layer{place}",
            rows=len(matrix),
            columns=matrix.shape[1],
            variance=float(matrix.var()),
            norm=float(np.linalg.svd(matrix, compute_uv=False)[0]),
            kurtosis=float(((matrix - matrix.mean()) ** 4).mean() / matrix.var() ** 2) if matrix.var() else math.nan,
            largest=float(np.abs(matrix).max()),
        )
        for place, matrix in enumerate(matrices)
    )


def change_facts(facts: Facts, **known: object) -> Facts:
    return Facts(facts.options, known={**facts.known, **known}, gamma=facts.gamma)


def make_stability(*layers: LayerStability, smoothness: float | None = None, biased: bool = False) -> Stability:
    return Stability(
        layers=layers,
        contraction=max(layer.contraction for layer in layers),
        smoothness=smoothness,
        biased=biased,
        jacobian_samples=10,
    )


def make_layer(
    *,
    cushion: float,
    interlayer: float,
    contraction: float = 1.0,
    units: int = 4,
    well_distributed: float = 1.0,
    overlap: int = 1,
) -> LayerStability:
    return LayerStability(
        name="layer",
        kind="linear",
        weights=units * units,
        units=units,
        cushion=cushion,
        interlayer=interlayer,
        contraction=contraction,
        well_distributed=well_distributed,
        overlap=overlap,
    )
