"""A new head on a network that was there before: the whole classifier, from images to logits."""

from __future__ import annotations

from torch import Tensor, nn

from netpact.core.checks import check_instance, check_integer
from netpact.core.errors import PactError
from netpact.layers.preprocessing import Preprocess


class Headed(nn.Module):
    """preprocess, backbone, mean over the places of a map, linear head.

    Tensors of the backbone are called backbone.NAME here, and a base that calls them NAME is understood.
    """

    def __init__(self, backbone: nn.Module, *, features: int, classes: int, before: nn.Module) -> None:
        super().__init__()
        self.before = before
        self.backbone = backbone
        self.head = nn.Linear(features, classes)

    def forward(self, inputs: Tensor) -> Tensor:
        found = self.backbone(self.before(inputs))
        if found.dim() == 4:
            found = found.mean((2, 3))
        if found.dim() != 2 or found.shape[1] != self.head.in_features:
            raise PactError(
                f"the backbone gives {tuple(found.shape)}, expected {self.head.in_features} features a sample",
                where="with_head",
                hint="give features=... as the backbone has them; its own last layer may be replaced by nn.Identity()",
            )
        logits: Tensor = self.head(found)
        return logits


def with_head(
    backbone: nn.Module,
    *,
    features: int,
    classes: int,
    size: tuple[int, int] | int | None = None,
    mean: tuple[float, ...] | None = None,
    std: tuple[float, ...] | None = None,
) -> nn.Module:
    """A classifier: images, a fixed preprocessing, a backbone, a new linear head.

    backbone   returns features (n, features) or maps (n, features, rows, columns), whose mean is taken
    classes    of the new task
    size, mean, std  the preprocessing that the backbone was trained with; see Preprocess. None of them: none
    """
    check_instance(backbone, nn.Module, where="backbone")
    for name, value, least in (("features", features, 1), ("classes", classes, 2)):
        check_integer(value, where=name, least=least)
    plain = size is None and mean is None and std is None
    given = mean if mean is not None else (0.0,) * len(std or (1.0,))
    scale = std if std is not None else (1.0,) * len(given)
    before = nn.Identity() if plain else Preprocess(size=size, mean=given, std=scale)
    return Headed(backbone, features=features, classes=classes, before=before)
