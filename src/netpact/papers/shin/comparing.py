"""compare_with_proposition: what noise did to dense layers, beside Proposition 1.1, what is proven, and the outputs."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from netpact.core.checks import check_number
from netpact.core.progress import Progress
from netpact.datasets import as_data
from netpact.deviations import DeviationBound, deviation_bound
from netpact.methods import HeavyTail
from netpact.methods.tail_split import TailSplit
from netpact.network import Network, stream_activations, trace
from netpact.network.naming import weight_name
from netpact.papers.shin.proposition import proven_error, stated_error
from netpact.papers.shin.repeats import put_weights

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LayerError:
    """One dense layer. Errors are those of u^T (W - W^) v / (|u| |v|), u an axis and v an input of the layer.

    measured   the 1 - eta quantile over axes and samples
    exceeding  the share that is above `stated`; the proposition says: at most eta, over the noise
    stated     Proposition 1.1 by its own algebra: an estimate
    proven     |A|_2 + sqrt(2 t log(2/eta)), over the noise; of Table 1's recipe the mean that is put in is part of A
    frobenius  |W|_F, which Theorem 2 assumes to be 1 or more
    """

    name: str
    kept: int
    weights: int
    tau: float
    t: float
    frobenius: float
    measured: float
    exceeding: float
    stated: float
    proven: float


@dataclass(frozen=True, kw_only=True)
class PropositionReport:
    """layers: dense ones that the method splits; promise: the deviation bound of the whole network."""

    method: str
    eta: float
    layers: tuple[LayerError, ...]
    promise: DeviationBound

    def to_json(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "eta": self.eta,
            "layers": [asdict(layer) for layer in self.layers],
            "promise": self.promise.to_json(),
        }

    def __str__(self) -> str:
        errors = f"{'measured':>9} {'Prop. 1.1':>9} {'proven':>8} {'above':>7}"
        heads = f"{'layer':12} {'kept':>15} {'tau':>8} {'|W|_F':>7} {errors}"
        lines = [f"{self.method}, eta = {self.eta:g}; Prop. 1.1 is an estimate, and does not hold", heads]
        for one in self.layers:
            kept = f"{one.kept:,}/{one.weights:,}"
            errors = f"{one.measured:9.3g} {one.stated:9.3g} {one.proven:8.3g} {one.exceeding:7.2%}"
            lines.append(f"{one.name[:12]:12} {kept:>15} {one.tau:8.3g} {one.frobenius:7.3g} {errors}")
        return "\n".join([*lines, str(self.promise)])


def compare_with_proposition(
    model: nn.Module | Network,
    method: HeavyTail,
    data: object,
    *,
    eta: float = 0.05,
    progress: Progress | None = None,
) -> PropositionReport:
    """Measured errors of the dense layers, Proposition 1.1 of Shin 2021, what is proven, and the deviation bound.

    Kept entries are not rounded here, as in the paper. data: what netpact takes; its training part is used.
    """
    check_number(eta, where="eta", above=0, below=1)
    source = as_data(data)
    network = model if isinstance(model, Network) else trace(model, source)
    splits = method.split(network, source.train)
    dense = {weight_name(layer.name): layer for layer in network.layers if layer.kind == "linear"}
    chosen = {layer.index: (layer.name, splits[name]) for name, layer in dense.items() if name in splits}
    found: dict[int, list[Array]] = {index: [] for index in chosen}
    changes = {index: split.values - split.weights() for index, (_, split) in chosen.items()}
    for batch in stream_activations(network, source.train):
        for index, change in changes.items():
            given = batch.inputs[index].double().numpy().reshape(-1, change.shape[1])
            sizes = np.linalg.norm(given, axis=1)
            used = sizes > 0
            found[index].append(np.abs(given[used] @ change.T) / sizes[used, None])
    other = put_weights(network.module, {name: split.weights() for name, split in splits.items()})
    return PropositionReport(
        method=repr(method),
        eta=eta,
        layers=tuple(
            _state(name, split, np.concatenate(found[index]).ravel(), eta) for index, (name, split) in chosen.items()
        ),
        promise=deviation_bound(network, other, source.train, progress=progress),
    )


def _state(name: str, split: TailSplit, errors: Array, eta: float) -> LayerError:
    small = np.where(split.kept, 0.0, split.values)
    mean, std = split.noise
    tau, t = float(np.abs(small).max(initial=0.0)), std**2
    stated = stated_error(tau=tau, t=t, eta=eta)
    # Noise of Table 1 has a mean, and is not on the kept entries, which makes its effect smaller, not larger.
    centred = small if split.everywhere else np.where(split.kept, 0.0, split.values - mean)
    return LayerError(
        name=name,
        kept=split.kept_count,
        weights=split.values.size,
        tau=tau,
        t=t,
        frobenius=float(np.linalg.norm(split.values)),
        measured=float(np.quantile(errors, 1 - eta)) if errors.size else math.nan,
        exceeding=float(np.mean(errors > stated)) if errors.size else math.nan,
        stated=stated,
        proven=proven_error(centred, t=t, eta=eta),
    )
