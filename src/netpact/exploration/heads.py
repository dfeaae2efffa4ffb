"""The last linear layer as a matrix of signs: trained by gradient, then changed one by one. All before it stays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from netpact.coding.format import Compressed, Pact
from netpact.coding.format.loading import load_module
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.exploration.trials import Notebook, Tried
from netpact.methods.annealing import anneal
from netpact.methods.flips import Flips
from netpact.methods.sign_training import retrain_signs, train_signs
from netpact.methods.ternary_search import head_image, head_inputs, replace_head
from netpact.network import trace

if TYPE_CHECKING:
    from netpact.datasets import Data
    from netpact.methods.network_signs import SignLayer

HEAD_RATES = (4.0, 6.0, 8.0)
ROUND_STEPS = 1500
_ROUND = " round "


class Head:
    """A network with its features, which are computed once and only when they are needed.

    name   of the trials and of their random numbers
    body   the network as it is coded; its last layer is replaced
    steps  of gradient in a training of signs; None for as many as the number of samples is worth
    signs  the last layer of a network of signs: of its entries only the free ones are trained and changed
    """

    def __init__(
        self, name: str, body: Compressed, data: Data, *, steps: int | None, signs: SignLayer | None = None
    ) -> None:
        self.name, self._body, self._data, self._steps, self._free = name, body, data, steps, signs
        self._network = trace(load_module(body, None).float(), data)
        self._layer = self._network.layers[-1]
        self._shape = self._layer.shape if signs is None else signs.free_shape
        self._flips: Flips | None = None

    def screen(self, notebook: Notebook, rate: float, *, share: float, start: int = 0) -> Tried | None:
        """Signs trained by gradient at this rate; each start has random numbers of its own."""

        def run(progress: Progress) -> Compressed:
            seed = Seed(notebook.seed).child("search", self.name, rate, *((start,) if start else ()))
            signs = train_signs(
                self._known,
                np.zeros(self._shape),
                rate=rate,
                seed=seed,
                steps=self._steps,
                progress=progress,
                stop=notebook.clock.is_over,
            )
            return self._compressed(signs)

        length = "" if self._steps is None else f", {self._steps} steps"
        number = f", start {start + 1}" if start else ""
        return notebook.trial(f"{self.name} signs {rate:g}{length}{number}", run, share=share, count=self._count)

    def improve(self, notebook: Notebook, found: Tried, round_number: int, rate: float) -> Tried | None:
        """Annealing from what was found; in later rounds, which no single change would improve, after a shake."""

        def run(progress: Progress) -> Compressed:
            seed = Seed(notebook.seed).child("search", self.name, "round", round_number)
            signs, known = self._signs(found.pact), self._known
            if round_number:
                signs = retrain_signs(
                    known,
                    signs,
                    rate=rate,
                    seed=seed.child("shake"),
                    steps=self._steps,
                    progress=progress,
                    stop=notebook.clock.is_over,
                )
            best = anneal(
                known,
                signs,
                steps=ROUND_STEPS,
                bit_price=1.0,
                random=seed.numpy(),
                progress=progress,
                stop=notebook.clock.is_over,
            )
            return self._compressed(best.signs)

        # The start is part of the name: it decides where the rounds lead.
        start_name = found.trial.name.partition(_ROUND)[0]
        return notebook.trial(f"{start_name}{_ROUND}{round_number + 1}", run, count=self._count)

    def _count(self, pact: Pact) -> int | None:
        """Errors from the features, where no sum is rounded; otherwise the network is run, to count near ties too.

        Of a network of signs the near ties are left to the certificate: to run it takes longer than a round.
        """
        known = self._known
        if self._free is None and not known.is_exact():
            return None
        return known.errors(known.logits(self._signs(pact)))

    @property
    def _known(self) -> Flips:
        if self._flips is None:
            features, labels = head_inputs(self._network.module, self._layer.name, self._data.train)
            image = head_image(self._body.architecture, self._layer.name)
            if self._free is not None:
                features, image = self._free.add_equals(features), self._free.free_grid[2:]
            self._flips = Flips(features, labels, classes=self._shape[0], image=image)
        return self._flips

    def _compressed(self, signs: NDArray[np.int8]) -> Compressed:
        if self._free is None:
            return replace_head(self._body, self._layer.name, signs)
        return replace(self._body, tensors={**self._body.tensors, self._free.name: self._free.encode(signs)})

    def _signs(self, pact: Pact) -> NDArray[np.int8]:
        tensor = pact.decode().tensors[f"{self._layer.name}.weight"]
        return tensor.symbols.reshape(self._shape).astype(np.int8)
