"""Candidates that learn all their weights: as signs from the start, or plainly and then under a price for bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from netpact.coding.format import Compressed, Pact
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.exploration.sign_candidates import parse_sign_candidate
from netpact.exploration.tensor_candidates import parse_candidate
from netpact.exploration.trials import Notebook, Tried
from netpact.methods import RateAware, compress
from netpact.methods.network_signs import train_network_signs
from netpact.models import build
from netpact.network import trace
from netpact.training import TrainOptions, train
from netpact.training.memory import gather

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

    return _in_one_thread(notebook, f"{name}{' decomposed' if decomposed else ''} rate {rate:g}", run, share)


def learn_signs(notebook: Notebook, name: str, rate: float, *, steps: int | None, share: float) -> Tried | None:
    """All weights as signs, under the candidate's symmetry. When the budget ends, the signs are taken as they are."""
    plan, counted = parse_sign_candidate(name, notebook.data), list[int]()

    def run(progress: Progress) -> Compressed:
        found = train_network_signs(
            build(plan.architecture),
            plan.layers,
            gather(notebook.data.train),
            rate=rate,
            seed=Seed(notebook.seed).child("search", name, rate),
            steps=steps,
            progress=progress,
            stop=notebook.clock.is_over,
        )
        counted.append(found.errors)
        return plan.message(found.tensors)

    length = "" if steps is None else f", {steps} steps"
    return _in_one_thread(notebook, f"{name} rate {rate:g}{length}", run, share, count=lambda _: counted[0])


def _in_one_thread(
    notebook: Notebook,
    name: str,
    run: Callable[[Progress], Compressed],
    share: float,
    *,
    count: Callable[[Pact], int | None] | None = None,
) -> Tried | None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return notebook.trial(name, run, share=share, count=count)
    finally:
        torch.set_num_threads(threads)
