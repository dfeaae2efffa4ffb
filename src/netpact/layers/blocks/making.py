"""From an outline to layers, for sequences, images or volumes; and what all blocks check."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from torch import Tensor, nn

from netpact.core.checks import check_choice, check_integer
from netpact.layers.blocks.outline import Outline, outline_projection

_CONVOLUTIONS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
_NORMS = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
SHORTCUTS = ("identity", "projection", "none")


def make_chain(
    outline: Outline, *, dimensions: int = 2, activation: Callable[[], nn.Module] = nn.ReLU
) -> nn.Sequential:
    """conv1, conv1_norm, conv1_relu, conv2, ...: the names that architectures have for them."""
    check_integer(dimensions, where="dimensions", least=1, most=3)
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for step in outline:
        layers[step.name] = _CONVOLUTIONS[dimensions](
            step.inputs, step.outputs, step.kernel, step.stride, step.padding, groups=step.groups, bias=False
        )
        layers[f"{step.name}_norm"] = _NORMS[dimensions](step.outputs)
        if step.relu:
            layers[f"{step.name}_relu"] = activation()
    return nn.Sequential(layers)


def make_shortcut(
    shortcut: str | None, inputs: int, outputs: int, *, stride: int, dimensions: int
) -> nn.Sequential | None:
    """None: the identity where the shapes allow it, a projection where not. Of "none" nothing is added."""
    same = inputs == outputs and stride == 1
    chosen = check_choice(shortcut or ("identity" if same else "projection"), SHORTCUTS, where="shortcut")
    if chosen == "identity":
        check_integer(inputs, where="inputs, which are added to the outputs", least=outputs, most=outputs)
        check_integer(stride, where="stride of a block with an identity", least=1, most=1)
        return nn.Sequential()
    if chosen == "none":
        return None
    return make_chain(outline_projection(inputs, outputs, stride=stride), dimensions=dimensions)


def check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        check_integer(size, where=name, least=1)


class Shortcut(nn.Module):
    """body(x) + shortcut(x), or body(x) alone; then a ReLU where asked."""

    def __init__(self, body: nn.Module, shortcut: nn.Module | None, *, relu: bool) -> None:
        super().__init__()
        self.body, self.shortcut, self.relu = body, shortcut, nn.ReLU() if relu else nn.Identity()

    def forward(self, images: Tensor) -> Tensor:
        made: Tensor = self.body(images)
        if self.shortcut is not None:
            made = made + self.shortcut(images)
        return self.relu(made)
