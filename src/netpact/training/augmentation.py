"""Images shifted and mirrored at random while a network is trained. Nothing else ever sees them."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, fields

import torch

from netpact.core.checks import check_flag, check_integer
from netpact.core.errors import PactError, one_of
from netpact.core.json import check_fields

_MOST_PADDING = 64


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """A random crop of the padded image, then a mirror image for every second one (He et al. 2016, section 4.2).

    crop  zeros put on each side before a piece of the old size is cut out: shifts by -crop .. crop; 0 for none
    flip  left and right exchanged with probability 1/2
    """

    crop: int = 4
    flip: bool = True

    def __post_init__(self) -> None:
        check_integer(self.crop, where="augmentation, crop", least=0, most=_MOST_PADDING)
        check_flag(self.flip, where="augmentation, flip")
        if not self.crop and not self.flip:
            raise PactError("it changes nothing", where="augmentation", hint="leave it out: augmentation=None")

    def __str__(self) -> str:
        return "+".join([*([f"crop-{self.crop}"] if self.crop else []), *(["flip"] if self.flip else [])])

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def check_fits(self, input_shape: tuple[int, ...], *, where: str) -> None:
        """Images only, and none that a shift could push out of sight."""
        if len(input_shape) != 3:
            raise PactError(
                f"augmentation needs images of shape (channels, height, width), got {input_shape}",
                where=where,
                hint="leave augmentation out",
            )
        if self.crop >= min(input_shape[1:]):
            raise PactError(
                f"a crop of {self.crop} could show nothing of an image of {input_shape[1]}x{input_shape[2]}",
                where="augmentation, crop",
                hint="choose a smaller one",
            )

    def vary(self, images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """A batch (n, c, h, w) with a shift and a side of its own for each image."""
        count, channels, height, width = images.shape
        down, right = torch.randint(2 * self.crop + 1, (2, count, 1), generator=generator)
        mirrored = torch.randint(2 if self.flip else 1, (count, 1), generator=generator).bool()
        rows, columns = torch.arange(height), torch.arange(width)
        rows = rows + down
        columns = torch.where(mirrored, columns.flip(0), columns) + right
        # One gather for the whole batch: sample, channel, row, column.
        padded = torch.nn.functional.pad(images, [self.crop] * 4)
        sample, channel = torch.arange(count)[:, None, None, None], torch.arange(channels)[None, :, None, None]
        return padded[sample, channel, rows[:, None, :, None], columns[:, None, None, :]]


def parse_augmentation(text: str) -> Augmentation | None:
    """The augmentation that a text names: none, flip, crop-4, crop-4+flip."""
    if text == "none":
        return None
    found = re.fullmatch(r"(?:crop-([0-9]{1,2}))?\+?(flip)?", text, re.ASCII)
    if found is not None and any(found.groups()):
        augmentation = Augmentation(crop=int(found[1] or 0), flip=found[2] is not None)
        if str(augmentation) == text:  # one spelling for each
            return augmentation
    raise one_of(text, ("none", "flip", "crop-4", "crop-4+flip"), option="augmentation")


def read_augmentation(record: object, *, where: str) -> Augmentation:
    """The inverse of Augmentation.to_json, for a record from an untrusted file."""
    return Augmentation(**check_fields(record, [entry.name for entry in fields(Augmentation)], where=where))
