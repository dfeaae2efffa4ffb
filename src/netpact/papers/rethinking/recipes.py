"""How the paper trained its networks."""

from __future__ import annotations

from netpact.training import PAPER_RECIPES, Augmentation, Decay, PaperRecipe, TrainOptions

# Section 4.2: "stochastic gradient descent with weight decay 10-4, momentum 0.9 and mini-batch size 128. The learning
# rate starts from 0.1 and is divided by 10 for every 100 epochs. We stop training after 300 epochs"; "Standard data
# pre-processing and augmentation techniques are adopted to all three datasets (He et al., 2016; [...])". He et al.
# 2016, section 4.2: 4 pixels padded on each side, a 32x32 crop of the image or its horizontal flip.
PAPER_RECIPES.add(
    PaperRecipe(
        name="rethinking-resnet",
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
        source="Rethinking Compressed Convolutional Neural Networks 2021, section 4.2, 41-layer ResNet on CIFAR-10, "
        "SVHN",
        silent="the augmentation in numbers (that of He et al. 2016, to which it refers)",
    )
)
