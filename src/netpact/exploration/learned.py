"""Candidates that learn all their weights: trained plainly, then under a price for the message's bits."""

from __future__ import annotations

from dataclasses import replace

import torch

from netpact.coding.format import Compressed
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.exploration.trials import Notebook, Tried
from netpact.methods import RateAware, compress
from netpact.models import build, parse_model
from netpact.network import trace
from netpact.training import TrainOptions, train

LEARNED_RATES = (8.0,)
_FREE_EPOCHS, _EPOCHS = 4, 24
_FREE_RATE, _RATE = 5e-3, 0.05
_LEVELS = 3


def learn(notebook: Notebook, name: str, rate: float, *, share: float) -> Tried | None:
    """Run in float64, in which near ties are rare, and in one thread: the same bits need the same order of sums.

    A network that is half trained is worth nothing: when the budget ends before it does, the trial is given up.
    """

    def in_time(progress: Progress) -> Progress:
        def tell(done: int, total: int) -> None:
            notebook.refuse_overtime()
            progress(done, total)

        return tell

    def run(progress: Progress) -> Compressed:
        data = notebook.data
        module = build(parse_model(name, input_shape=data.input_shape, classes=data.classes))
        options = TrainOptions(epochs=_FREE_EPOCHS, learning_rate=_FREE_RATE, seed=Seed(notebook.seed))
        trained = train(module, data.train, options, progress=lambda _: notebook.refuse_overtime())
        method = RateAware(epochs=_EPOCHS, rate=rate, learning_rate=_RATE, levels=_LEVELS, seed=notebook.seed)
        small = compress(trace(trained.module, data), method, samples=data.train, progress=in_time(progress))
        return replace(small, arithmetic="float64")

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return notebook.trial(f"{name} rate {rate:g}", run, share=share)
    finally:
        torch.set_num_threads(threads)
