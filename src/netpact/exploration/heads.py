"""Candidates whose only weights are a linear head: signs are trained, then changed one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from netpact.exploration.trials import Notebook, Tried
from netpact.format import Compressed, Pact
from netpact.methods import Quantize
from netpact.methods.flips import COLD, HOT, Flips, anneal
from netpact.methods.sign_training import train_signs
from netpact.methods.ternary_search import head_image, head_inputs, replace_head
from netpact.progress import Progress
from netpact.seed import Seed

if TYPE_CHECKING:
    from netpact.datasets import Data
    from netpact.network import Network

HEAD_RATES = (4.0, 6.0, 8.0)
ROUND_STEPS = 4000
_COOLING = 0.8  # each round starts cooler than the last


class Head:
    """A candidate with its features, which are computed once and only when they are needed."""

    def __init__(self, name: str, network: Network, data: Data) -> None:
        self.name, self._network, self._data = name, network, data
        self._layer = network.layers[-1]
        self._flips: Flips | None = None

    def screen(self, notebook: Notebook, rate: float) -> Tried:
        """Signs trained by gradient at this rate."""

        def run(progress: Progress) -> Compressed:
            seed = Seed(notebook.seed).child("search", self.name, rate)
            columns, labels = self._known.columns, self._known.labels
            start = np.zeros(self._layer.shape)
            signs = train_signs(
                columns.T, labels, start, code=self._known.code, rate=rate, seed=seed, progress=progress
            )
            return self._compressed(signs)

        return notebook.trial(f"{self.name} rate {rate:g}", run)

    def improve(self, notebook: Notebook, found: Tried, round_number: int) -> Tried:
        """One round of annealing from what was found."""

        def run(progress: Progress) -> Compressed:
            random = Seed(notebook.seed).child("search", self.name, "round", round_number).numpy()
            hot = max(COLD, HOT * _COOLING**round_number)
            start = self._signs(found.pact)
            best = anneal(
                self._known, start, steps=ROUND_STEPS, bit_price=1.0, random=random, progress=progress, hot=hot
            )
            return self._compressed(best.signs)

        return notebook.trial(f"{found.trial.name} round {round_number + 1}", run)

    @property
    def _known(self) -> Flips:
        if self._flips is None:
            features, labels = head_inputs(self._network.module, self._layer.name, self._data.train)
            image = head_image(self._network.architecture, self._layer.name)
            self._flips = Flips(features, labels, classes=self._layer.shape[0], image=image)
        return self._flips

    def _compressed(self, signs: NDArray[np.int8]) -> Compressed:
        return replace_head(Quantize().compress(self._network), self._layer.name, signs)

    def _signs(self, pact: Pact) -> NDArray[np.int8]:
        tensor = pact.decode().tensors[f"{self._layer.name}.weight"]
        return tensor.symbols.reshape(tensor.shape).astype(np.int8)
