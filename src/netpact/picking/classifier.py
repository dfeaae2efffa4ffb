"""PickedClassifier: the kernel machine of a selection as a torch module."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.picking.base import FeatureBase
from netpact.picking.features import Given, read_inputs
from netpact.picking.kernel import Kernel
from netpact.picking.learner import Integers
from netpact.picking.recipe import PickRecipe


class PickedClassifier(nn.Module):
    """Images in, scores out: integers as float64. Where two scores are equal the classifier does not decide.

    features      (picks, features) of the picked samples
    coefficients  (picks, classes)
    base          the integer network whose activations are the features, where the recipe needs one
    """

    features: Tensor
    coefficients: Tensor

    def __init__(
        self,
        recipe: PickRecipe,
        features: NDArray[np.float32],
        coefficients: Integers,
        base: FeatureBase | None = None,
    ) -> None:
        super().__init__()
        self.recipe, self.base = recipe, base
        self.register_buffer("features", torch.from_numpy(np.ascontiguousarray(features)))
        self.register_buffer("coefficients", torch.from_numpy(np.ascontiguousarray(coefficients)))

    @torch.no_grad()
    def forward(self, images: Tensor) -> Tensor:
        inputs = np.asarray(images.detach().numpy(), dtype=np.float32)
        return torch.from_numpy(self.score(read_inputs(self.recipe, inputs, self.base)))

    def score(self, given: Given) -> NDArray[np.float64]:
        """Products and sums of integers far below 2^53: exact in any order."""
        kernel = Kernel(given.features, halving_distance=self.recipe.halving_distance)
        similar = kernel.block(self.features.numpy().astype(np.float64))
        scores = np.asarray(similar.astype(np.float64) @ self.coefficients.numpy().astype(np.float64))
        start = given.start(self.recipe)
        return scores if start is None else scores + start

    def extra_repr(self) -> str:
        return f"{len(self.features):,} picked samples; {self.recipe}"


def count_wrong(scores: NDArray[np.float64], labels: Integers) -> NDArray[np.bool_]:
    """Which samples are not right: another score is as large as that of the label."""
    places = np.arange(len(labels))
    own = scores[places, labels]
    others = scores.copy()
    others[places, labels] = -np.inf
    return np.asarray(others.max(axis=1) >= own)
