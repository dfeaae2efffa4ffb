"""A fixed preprocessing of images: another size, other units. Nothing in it is learned from the data.

    y = (R x - mean) / std

R interpolates: entry i of a new row of n stands at (2 i + 1) m / (2 n) - 1/2 in the old row of m, cut off at its ends,
and is the mean of the two pixels beside that place, each weighed by its nearness; then the same for columns. It is what
torch's interpolate(mode="bilinear", align_corners=False) computes. All of it is done in float64 and rounded once.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.overrides import handle_torch_function, has_torch_function_unary

from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError

MOST_SIDE = 1 << 12


class Preprocess(nn.Module):
    """The preprocessing as a layer without parameters; its settings are a part of the module that is declared.

    size  (rows, columns) of the images that come out; None: as they are
    mean  taken from the pixels, one number for each channel; grey images become as many channels as there are
    std   what the rest is divided by, one number for each channel
    """

    def __init__(
        self,
        *,
        size: tuple[int, int] | int | None = None,
        mean: tuple[float, ...] = (0.0,),
        std: tuple[float, ...] = (1.0,),
    ) -> None:
        super().__init__()
        sides = (size, size) if isinstance(size, int) else size
        if sides is not None:
            if len(sides) != 2:
                raise PactError(f"must be a number, or rows and columns, got {size!r}", where="size")
            for side in sides:
                check_integer(side, where="size", least=1, most=MOST_SIDE)
        if not mean or len(mean) != len(std):
            raise PactError(f"needs as many numbers as mean, which has {len(mean)}, got {len(std)}", where="std")
        self.size = sides
        self.mean = tuple(check_number(number, where="mean", above=-1e6, below=1e6) for number in mean)
        self.std = tuple(check_number(number, where="std", above=0, below=1e6) for number in std)

    def forward(self, images: Tensor) -> Tensor:
        return preprocess(images, size=self.size, mean=self.mean, std=self.std)

    def extra_repr(self) -> str:
        return f"size={self.size}, mean={self.mean}, std={self.std}"


def preprocess(
    images: Tensor, *, size: tuple[int, int] | None, mean: tuple[float, ...], std: tuple[float, ...]
) -> Tensor:
    """Images (n, channels, rows, columns); with one channel where mean and std have more, that one is repeated."""
    if has_torch_function_unary(images):
        return handle_torch_function(preprocess, (images,), images, size=size, mean=mean, std=std)
    if images.dim() != 4:
        raise PactError(f"takes images (n, channels, rows, columns), got {tuple(images.shape)}", where="preprocess")
    if images.shape[1] not in (1, len(mean)) and len(mean) != 1:
        raise PactError(f"has {len(mean)} means, the images have {images.shape[1]} channels", where="preprocess")
    x = resize(images.double(), size)
    shift, scale = (torch.tensor(numbers, dtype=torch.float64).view(1, -1, 1, 1) for numbers in (mean, std))
    return ((x - shift) / scale).to(images.dtype)


def resize(images: Tensor, size: tuple[int, int] | None) -> Tensor:
    if size is None or tuple(images.shape[-2:]) == size:
        return images
    return _along(_along(images, 2, size[0]), 3, size[1])


def _along(images: Tensor, axis: int, count: int) -> Tensor:
    """One axis interpolated. Places are integers over 2 count, so every machine finds the same neighbours."""
    had = images.shape[axis]
    if had == count:
        return images
    whole = (2 * torch.arange(count) + 1) * had - count
    low = torch.div(whole.clamp(min=0), 2 * count, rounding_mode="floor")
    share = (whole.clamp(min=0) - low * 2 * count).double() / (2 * count)
    high = (low + 1).clamp(max=had - 1)
    shares = share.view(-1, 1) if axis == 2 else share
    return images.index_select(axis, low) * (1 - shares) + images.index_select(axis, high) * shares


def is_dyadic(had: int, count: int) -> bool:
    """Whether all weights are exact in any binary precision, however they are computed: factors of a power of two."""
    larger, smaller = max(had, count), min(had, count)
    factor, rest = divmod(larger, smaller)
    return rest == 0 and factor & (factor - 1) == 0
