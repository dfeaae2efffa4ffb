"""A network of five linear layers of which 95 % of the weights were pruned: netpact's file beside nncodec's.

Run: OMP_NUM_THREADS=1 python benchmarks/peers/pruned.py --work FOLDER [--seed 0] [--quick] [--with-nncodec]
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import sys
from pathlib import Path

import nnc
import numpy as np
import torch
from netpact_files import method_rows
from rows import file_table, to_json
from run import say, versions
from scipy.special import gammaln
from subjects import Subject, measure_test_error, train_subject
from torch import nn
from torch.nn import functional

import netpact
from netpact.algebra.pruning import magnitude_masks
from netpact.core.files import write_atomically

KEEP = 0.05
_BATCH, _RATE = 256, 1e-3
_DEFAULT = netpact.MagnitudePrune(keep=1.0)


def methods() -> list[netpact.MagnitudePrune]:
    """Of a network that is pruned already, keep=1 writes what is left; a rate prunes further, as nncodec does."""
    rates = {4: (0.0, 0.05, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2), 5: (0.3, 0.4, 0.5, 0.6, 0.8, 1.0)}
    found = [netpact.MagnitudePrune(keep=1.0, bits=bits, rate=rate) for bits in rates for rate in rates[bits]]
    return [_DEFAULT, *found]


def nncodec_settings() -> list[nnc.Setting]:
    levels = range(-22, -13)
    return [
        {},
        *({"qp": qp, "nonweight_qp": -40} for qp in levels),
        *({"qp": qp, "nonweight_qp": -40, "use_dq": False} for qp in levels[::2]),
        *({"qp": qp, "nonweight_qp": -20} for qp in levels),
    ]


def prune_and_tune(subject: Subject, *, epochs: int, seed: netpact.Seed, folder: Path) -> Subject:
    """The largest weights of all layers together, trained further with the others at 0."""
    module = copy.deepcopy(subject.module)
    weights = [part.weight for part in module.modules() if isinstance(part, nn.Linear)]
    masks = magnitude_masks([weight.detach().numpy() for weight in weights], keep=KEEP, together=True)
    kept = [torch.from_numpy(mask).float() for mask in masks]
    stored = folder / f"{subject.data.name}-pruned-{epochs}.pt"
    if stored.exists():
        module.load_state_dict(torch.load(stored, weights_only=True))
    else:
        _tune(module, list(zip(weights, kept, strict=True)), subject.data.train, epochs, seed)
        torch.save(module.state_dict(), stored)
    pruned = Subject(f"{subject.name}, {1 - KEEP:.0%} pruned", module, subject.data, 0.0)
    return Subject(pruned.name, module, subject.data, measure_test_error(module, pruned))


def _tune(
    module: nn.Module,
    masked: list[tuple[nn.Parameter, torch.Tensor]],
    samples: netpact.datasets.Samples,
    epochs: int,
    seed: netpact.Seed,
) -> None:
    x, y = (torch.from_numpy(part) for part in next(iter(samples.batches(samples.count))))
    adam = torch.optim.Adam(module.parameters(), lr=_RATE)
    order = seed.child("tuning").torch()
    module.train()
    for epoch in range(epochs):
        for batch in torch.randperm(len(x), generator=order).split(_BATCH):
            with torch.no_grad():
                for weight, mask in masked:
                    weight.mul_(mask)
            adam.zero_grad()
            functional.cross_entropy(module(x[batch]), y[batch]).backward()
            adam.step()
        for group in adam.param_groups:
            group["lr"] = _RATE * (1 - (epoch + 1) / epochs)
    with torch.no_grad():
        for weight, mask in masked:
            weight.mul_(mask)
    module.eval()


def ideal_bytes(pact: netpact.Pact) -> float:
    """log2 C(n, k) of every tensor, and the entropy of its k values by their own frequencies."""
    bits = 0.0
    for tensor in pact.decode().tensors.values():
        flat = tensor.weights().ravel()
        kept = flat[flat != 0]
        if kept.size:
            logs = gammaln(np.array([flat.size, kept.size, flat.size - kept.size]) + 1) / math.log(2)
            counts = np.unique(kept, return_counts=True)[1]
            bits += float(logs[0] - logs[1] - logs[2] - (counts * np.log2(counts / kept.size)).sum())
    return bits / 8


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="mnist")
    parser.add_argument("--seed", type=int, default=0, help="of initial weights and the order of samples")
    parser.add_argument("--work", required=True, help="where the environment and the trained networks are kept")
    parser.add_argument("--quick", action="store_true", help="a small network and short training, to see that it runs")
    parser.add_argument("--with-nncodec", action="store_true", help="build an environment for nncodec and compare")
    parser.add_argument("--out", help="write all results to this JSON file")
    asked = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    torch.set_num_threads(1)
    data, folder, seed = netpact.load_data(asked.data), Path(asked.work), netpact.Seed(asked.seed)
    trained = folder / f"seed-{asked.seed}"
    trained.mkdir(parents=True, exist_ok=True)
    name, epochs = ("mlp:64-64-64-64", 1) if asked.quick else ("mlp:784-784-784-784", 4)
    dense = train_subject(name, data, epochs=epochs, seed=seed, folder=trained)
    say(f"{name}: test error {100 * dense.test_error:.2f} %")
    subject = prune_and_tune(dense, epochs=epochs, seed=seed, folder=trained)
    say(f"{subject.name}: test error {100 * subject.test_error:.2f} %")
    rows, pacts = method_rows(subject, "netpact MagnitudePrune", methods())
    more = method_rows(subject, "netpact MagnitudePrune, with samples", methods()[1:], samples=data.train)
    rows, pacts = rows + more[0][1:], pacts + more[1][1:]
    shares = [len(pact.message) / ideal_bytes(pact) for pact in pacts]
    say(f"bytes over log2 C(n, k) and entropy: {', '.join(f'{share:.4f}' for share in shares)}")
    if asked.with_nncodec:
        rows += nnc.nnc_rows(subject, folder, nncodec_settings())
    say(file_table(rows))
    result = {
        "data": data.name,
        "seed": asked.seed,
        "dense test error": dense.test_error,
        "quick": asked.quick,
        "versions": versions(),
        "bytes over ideal": shares,
        "files": to_json(rows),
    }
    if asked.out:
        write_atomically(asked.out, (json.dumps(result, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
