"""The settings of the experiments: which networks, on which data, trained how long, measured how closely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from netpact.core.errors import one_of
from netpact.datasets.catalogue import data_folders

VGG, ALEXNET, SHUFFLED = "vgg", "alexnet", "alexnet-shuffled"
STUDIES = (VGG, ALEXNET, SHUFFLED)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One network and how it is trained.

    limit       the first so many training samples; 0 for all
    recipe      name of a paper's recipe, out of netpact.training.PAPER_RECIPES, which brings batch size and learning
                rate along; empty for adam with a cosine
    least       training accuracy that it must reach, or findings about it are not judged
    every       look at the bound at each so many-th epoch; 0 for never
    jacobians   at how many samples Jacobians and noise are looked at
    """

    model: str
    limit: int
    epochs: int
    recipe: str = ""
    batch_size: int = 128
    learning_rate: float = 0.001
    least: float
    every: int = 0
    jacobians: int = 20


@dataclass(frozen=True, kw_only=True)
class Preset:
    """data: the first of these that is on this machine is used; tested: how many test samples there are at most."""

    about: str
    data: tuple[str, ...]
    vgg: Case
    alexnet: Case
    tested: int

    def case(self, study: str) -> Case:
        if study not in STUDIES:
            raise one_of(study, STUDIES, option="study")
        return self.vgg if study == VGG else self.alexnet


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        # Sizes at which both networks fit their labels, the shuffled ones too, in minutes.
        "quick": Preset(
            about="small networks of the same families on the first 2,000 (VGG) and 500 (AlexNet) training images",
            data=("cifar10", "mnist", "digits"),
            vgg=Case(model="vgg:11-8-1", limit=2000, epochs=16, batch_size=64, learning_rate=0.003, least=0.9, every=4),
            alexnet=Case(model="alexnet:16", limit=500, epochs=36, batch_size=20, learning_rate=0.001, least=0.9),
            tested=2000,
        ),
        # Section 6 of the paper. Its drop-out stands in linear layers that these forms for small images do not have.
        "full": Preset(
            about="VGG-19 and AlexNet on CIFAR-10 for 299 epochs, as section 6 says, without drop-out",
            data=("cifar10",),
            vgg=Case(model="vgg:19-64-1", limit=0, epochs=299, recipe="arora-vgg", least=0.99, every=10, jacobians=200),
            alexnet=Case(model="alexnet:64", limit=0, epochs=299, recipe="arora-vgg", least=0.99, jacobians=200),
            tested=10_000,
        ),
        # To see that everything runs. These networks do not reach the accuracy that a finding needs, and shall not.
        "digits": Preset(
            about="tiny networks on 8 x 8 digits: a trial of the program, too small for a finding to be judged",
            data=("digits",),
            vgg=Case(
                model="conv:3-4-4",  # a VGG of this size learns nothing
                limit=100,
                epochs=10,
                batch_size=25,
                learning_rate=0.01,
                least=0.9,
                every=5,
                jacobians=3,
            ),
            alexnet=Case(
                model="alexnet:4", limit=100, epochs=20, batch_size=25, learning_rate=0.002, least=0.9, jacobians=3
            ),
            tested=200,
        ),
    }
)


def find_preset(name: str) -> Preset:
    if not isinstance(name, str) or name not in PRESETS:
        raise one_of(name, PRESETS, option="preset")
    return PRESETS[name]


def choose_data(preset: Preset, folder: str | Path | None) -> str:
    """The name, or the file in `folder`, of the first data set of the preset that is there.

    The last one is taken where none is: it is downloaded, or comes with scikit-learn.
    """
    for name in preset.data:
        if folder is not None and (Path(folder) / f"{name}.npz").is_file():
            return str(Path(folder) / f"{name}.npz")
        if any((place / f"{name}.npz").is_file() for place in data_folders()):
            return name
    return preset.data[-1]
