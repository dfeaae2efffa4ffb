"""Candidates that learn all their weights: trained plainly, then under a price for the message's bits."""

from __future__ import annotations

from dataclasses import replace

import torch

from netpact.coding.format import Compressed
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.exploration.tensor_candidates import parse_candidate
from netpact.exploration.trials import Notebook, Tried
from netpact.methods import RateAware, compress
from netpact.network import trace
from netpact.training import TrainOptions, train

LEARNED_RATES = (8.0,)
_FREE_EPOCHS, _EPOCHS = 4, 24
_FREE_RATE, _RATE = 5e-3, 0.05
_LEVELS = 3


def learn(notebook: Notebook, name: str, rate: float, *, share: float, decomposed: bool = False) -> Tried | None:
    """decomposed: of a CP candidate, its layers are decomposed after the plain training instead of before it.

    Run in float64, in which near ties are rare, and in one thread: the same bits need the same order of sums.

    A network that is half trained is worth nothing: when the budget ends before it does, the trial is given up.
    """

    def in_time(progress: Progress) -> Progress:
        def tell(done: int, total: int) -> None:
            notebook.refuse_overtime()
            progress(done, total)

        return tell

    def run(progress: Progress) -> Compressed:
        data, seed = notebook.data, Seed(notebook.seed)
        plan = parse_candidate(name, data)
        module = plan.build() if decomposed else plan.with_cp(plan.build(), start="random", seed=seed)
        options = TrainOptions(epochs=_FREE_EPOCHS, learning_rate=_FREE_RATE, seed=seed)
        trained = train(module, data.train, options, progress=lambda _: notebook.refuse_overtime()).module
        trained = plan.with_cp(trained, start="decompose", seed=seed) if decomposed else trained
        method = RateAware(epochs=_EPOCHS, rate=rate, learning_rate=_RATE, levels=_LEVELS, seed=notebook.seed)
        small = compress(trace(trained, data), method, samples=data.train, progress=in_time(progress))
        return replace(plan.message(small), arithmetic="float64")

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return notebook.trial(f"{name}{' decomposed' if decomposed else ''} rate {rate:g}", run, share=share)
    finally:
        torch.set_num_threads(threads)
