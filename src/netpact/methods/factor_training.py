"""Factors of differences from a base network that are trained as symbols, under the price of their bits."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from netpact.algebra.singular_values import SingularValues
from netpact.coding.forms import CodedTensor, LowRank
from netpact.methods.approximations import beyond_base
from netpact.methods.fitting import Array, zero_tensor
from netpact.methods.rate_symbols import SoftSymbols, first_step

# No parameter of a module has a space in its name.
_LEFT, _RIGHT = "{} left", "{} right"


class SoftFactors(SoftSymbols):
    """weight = base + step * (left symbols) (right symbols); other tensors entry by entry, beside the base or alone.

    ground    the base's tensors, of those that are encoded against it
    products  differences that become products, as they are at the start
    entries   differences, and tensors that the base lacks, that are written entry by entry
    """

    def __init__(
        self,
        ground: Mapping[str, Array],
        products: Mapping[str, SingularValues],
        entries: Mapping[str, Array],
        *,
        levels: int,
        other_bits: int,
    ) -> None:
        self._ground = {name: torch.from_numpy(values).float() for name, values in ground.items()}
        self._products = tuple(products)
        tensors = {name: torch.from_numpy(values) for name, values in entries.items()}
        for name, found in products.items():
            roots = np.sqrt(found.values)
            right = roots[:, None] * found.right
            # One step for both: the right factor's is divided out of it, and multiplied into the left one here.
            tensors[_LEFT.format(name)] = torch.from_numpy(found.left * roots * first_step(right))
            tensors[_RIGHT.format(name)] = torch.from_numpy(right)
        super().__init__(tensors, levels=levels, other_bits=other_bits)

    def weights(self) -> dict[str, Tensor]:
        parts = super().weights()
        steps = dict(zip(self.shapes, self.log_steps.exp(), strict=True))
        for name in self._products:
            left, right = parts.pop(_LEFT.format(name)), parts.pop(_RIGHT.format(name))
            parts[name] = (left @ (right / steps[_RIGHT.format(name)])).view_as(self._ground[name])
        return {name: part + self._ground[name] if name in self._ground else part for name, part in parts.items()}

    def code(self) -> dict[str, CodedTensor]:
        coded = super().code()
        symbols = dict(zip(self.shapes, self._symbols(), strict=True))
        steps = dict(zip(self.shapes, self._steps(), strict=True))
        for name in self._products:
            del coded[_LEFT.format(name)], coded[_RIGHT.format(name)]
            shape = tuple(self._ground[name].shape)
            left, right = (symbols[key].reshape(self.shapes[key]) for key in (_LEFT.format(name), _RIGHT.format(name)))
            kept = left.any(axis=0) & right.any(axis=1)
            if not kept.any():
                coded[name] = zero_tensor(shape)
                continue
            form = LowRank(steps[_LEFT.format(name)], bits_for(self.levels), (int(kept.sum()),))
            coded[name] = CodedTensor(form, np.concatenate([left[:, kept].ravel(), right[kept].ravel()]), shape)
        return {name: beyond_base(tensor) if name in self._ground else tensor for name, tensor in coded.items()}


def bits_for(levels: int) -> int:
    """Of symbols between -levels and levels."""
    return max(2, 1 + math.ceil(math.log2(levels + 1)))
