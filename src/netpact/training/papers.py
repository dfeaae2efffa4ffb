"""How the papers trained their networks, as far as they say so.

What a paper leaves open stands in `silent`, with what is taken here. Shin et al. 2021 have no entry: they compress the
final layers of networks that others had trained (section 6, appendix E).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from netpact.training.augmentation import Augmentation
from netpact.training.options import TrainOptions
from netpact.training.schedules import Decay


@dataclass(frozen=True, kw_only=True)
class PaperRecipe:
    """options: the training; source: paper and section; silent: what the paper does not say, and what is taken."""

    options: TrainOptions
    source: str
    silent: str

    def __str__(self) -> str:
        return f"{self.source}. Not said there: {self.silent}."


# Section 6: "Optimization used SGD with mini-batch size 128, weight decay 5e-4, momentum 0.9 and initial learning rate
# 0.05, but decayed by factor 2 every 30 epochs. Drop-out was used in fully-connected layers. We trained both networks
# for 299 epochs" (VGG-19 and AlexNet, CIFAR-10). Drop-out is a layer of the network.
_ARORA_VGG = PaperRecipe(
    options=TrainOptions(
        epochs=299,
        batch_size=128,
        optimizer="sgd",
        learning_rate=0.05,
        momentum=0.9,
        weight_decay=5e-4,
        schedule=Decay(factor=0.5, every=30),
    ),
    source="Arora et al. 2018, section 6, VGG-19 and AlexNet on CIFAR-10",
    silent="augmentation (none is used)",
)

# Appendix A.1: "We use a SGD optimizer with momentum=0.9, weight decay=5e-4, and initial learning rate=0.05 [...]
# divided by 2 every 30 epochs for VGG-16 and CP-VGG-16 [...] We run 300 epochs to train each VGG-16 and CP-VGG-16".
_LI_VGG = PaperRecipe(
    options=replace(_ARORA_VGG.options, epochs=300),
    source="Li et al. 2020, appendix A.1, VGG-16 and CP-VGG-16",
    silent="batch size (128 is used), augmentation (none is used)",
)

# Appendix A.1, of all four networks: "initial learning rate=0.05"; "for WRN-28-10 and CP-WRN-28-10, the learning rate
# is scheduled to be divided by 5 at the 60th, 120th and 160th epoch [...] we run 200 epochs". Zagoruyko and Komodakis
# 2016, whose network this is, start from 0.1: write --learning-rate 0.1 for theirs.
_LI_WRN = PaperRecipe(
    options=replace(_LI_VGG.options, epochs=200, schedule=Decay(factor=0.2, at=(60, 120, 160))),
    source="Li et al. 2020, appendix A.1, WRN-28-10 and CP-WRN-28-10",
    silent="batch size (128 is used), augmentation (none is used)",
)

# Section 4.2: "stochastic gradient descent with weight decay 10-4, momentum 0.9 and mini-batch size 128. The learning
# rate starts from 0.1 and is divided by 10 for every 100 epochs. We stop training after 300 epochs"; "Standard data
# pre-processing and augmentation techniques are adopted to all three datasets (He et al., 2016; [...])". He et al.
# 2016, section 4.2: 4 pixels padded on each side, a 32x32 crop of the image or its horizontal flip.
_RETHINKING_RESNET = PaperRecipe(
    options=TrainOptions(
        epochs=300,
        batch_size=128,
        optimizer="sgd",
        learning_rate=0.1,
        momentum=0.9,
        weight_decay=1e-4,
        schedule=Decay(factor=0.1, every=100),
        augmentation=Augmentation(crop=4, flip=True),
    ),
    source="Rethinking Compressed Convolutional Neural Networks 2021, section 4.2, 41-layer ResNet on CIFAR-10, SVHN",
    silent="the augmentation in numbers (that of He et al. 2016, to which it refers)",
)

# Section 7: "We train our algorithm with a learning rate of 0.02 with the Adam optimizer [...] for 300 epochs".
# Appendix A: "a batch size of 256 for our experiments on MNIST and a batch size of 4 for CIFAR10".
_GUHA_MNIST = PaperRecipe(
    options=TrainOptions(
        epochs=300, batch_size=256, optimizer="adam", learning_rate=0.02, weight_decay=0.0, schedule="constant"
    ),
    source="Guha et al. 2023, section 7 and appendix A, 5-layer MLP on MNIST",
    silent="schedule (constant is used), weight decay and augmentation (none is used)",
)
_GUHA_CIFAR = PaperRecipe(
    options=replace(_GUHA_MNIST.options, batch_size=4),
    source="Guha et al. 2023, section 7 and appendix A, 5-layer MLP on CIFAR-10",
    silent="schedule (constant is used), weight decay and augmentation (none is used)",
)

PAPER_RECIPES: Mapping[str, PaperRecipe] = MappingProxyType(
    {
        "arora-vgg": _ARORA_VGG,
        "li-vgg": _LI_VGG,
        "li-wrn": _LI_WRN,
        "rethinking-resnet": _RETHINKING_RESNET,
        "guha-mlp": _GUHA_MNIST,
        "guha-mlp-cifar10": _GUHA_CIFAR,
    }
)
