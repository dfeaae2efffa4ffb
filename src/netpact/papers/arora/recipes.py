"""How the paper trained its networks."""

from __future__ import annotations

from netpact.training import PAPER_RECIPES, Decay, PaperRecipe, TrainOptions

# Section 6: "Optimization used SGD with mini-batch size 128, weight decay 5e-4, momentum 0.9 and initial learning rate
# 0.05, but decayed by factor 2 every 30 epochs. Drop-out was used in fully-connected layers. We trained both networks
# for 299 epochs" (VGG-19 and AlexNet, CIFAR-10). Drop-out is a layer of the network.
PAPER_RECIPES.add(
    PaperRecipe(
        name="arora-vgg",
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
)
