"""How loose deviation bounds are: the median over the samples of bound / measured, for every family of networks.

Each network is trained on scikit-learn's digits, every pixel doubled (16 x 16), and then compressed in three ways. The
bound is for the first samples of the test part. A ratio of 1 would say that the calculus knows the difference itself.

Run: OMP_NUM_THREADS=1 python benchmarks/deviation_ratio.py [--quick]      (about five minutes; --quick: ten seconds)
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from recording import Row, keep_rows
from torch import nn

import netpact
from netpact.datasets import ArraySamples, Data
from netpact.deviations import deviation_bound

SAMPLES = 64
FAMILIES = (
    *("linear", "mlp:64-32", "lenet5", "conv:16-32", "convnet:2-5-6-12", "alexnet:8", "vgg:11-8-1", "resnet:8-8-1"),
    *("preresnet:8-8-1", "wrn:10-1-1", "densenet:10-6-1"),
)
QUICK = ("linear", "mlp:16")
WAYS = ("8 bits", "4 bits", "half pruned")


def doubled(name: str) -> Data:
    """The digits with every pixel in four places: large enough for all families."""
    digits = netpact.load_data("digits")
    assert digits.test is not None
    parts = []
    for samples in (digits.train, digits.test):
        x, y = next(iter(samples.batches(samples.count)))
        parts.append(ArraySamples(x.repeat(2, axis=2).repeat(2, axis=3), y, name, digits.classes))
    return Data(name, digits.classes, parts[0], parts[1])


def prune(module: nn.Module) -> nn.Module:
    """Half of each weight tensor set to 0, the smallest entries."""
    other = copy.deepcopy(module)
    with torch.no_grad():
        for parameter in other.parameters():
            if parameter.dim() > 1:
                parameter.mul_(parameter.abs() >= parameter.abs().median())
    return other


def ratios(module: nn.Module, data: Data, few: Data) -> tuple[int, list[float]]:
    network = netpact.trace(module, data)
    ways = (
        netpact.compress(network, netpact.Quantize(bits=8)),
        netpact.compress(network, netpact.Quantize(bits=4)),
        prune(module),
    )
    return len(network.layers), [deviation_bound(network, compressed, few).looseness for compressed in ways]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    data = doubled("digits 16 x 16")
    assert data.test is not None
    x, y = next(iter(data.test.batches(SAMPLES)))
    few = Data("first test samples", data.classes, ArraySamples(x, np.asarray(y), "first test samples", data.classes))
    options = netpact.TrainOptions(epochs=2 if quick else 10, learning_rate=0.005)
    keep_rows(__file__, rows(data, few, options, QUICK if quick else FAMILIES), quick=quick)


def rows(data: Data, few: Data, options: netpact.TrainOptions, families: Sequence[str]) -> Iterator[Row]:
    for name in families:
        start = netpact.build(netpact.parse_model(name, input_shape=data.input_shape, classes=data.classes))
        module = netpact.train(start, data.train, options).module.eval()
        forms = {f"`{name}`": module}
        if any(isinstance(part, nn.BatchNorm2d) for part in module.modules()):
            forms[f"`{name}` folded"] = netpact.fold_batch_norm(module)
        for label, form in forms.items():
            layers, found = ratios(form, data, few)
            yield {"family": label, "layers": layers, **dict(zip(WAYS, found, strict=True))}


if __name__ == "__main__":
    main()
