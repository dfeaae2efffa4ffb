"""How the paper trained its networks."""

from __future__ import annotations

from dataclasses import replace

from netpact.training import PAPER_RECIPES, Decay, PaperRecipe, TrainOptions

# Appendix A.1: "We use a SGD optimizer with momentum=0.9, weight decay=5e-4, and initial learning rate=0.05 [...]
# divided by 2 every 30 epochs for VGG-16 and CP-VGG-16 [...] We run 300 epochs to train each VGG-16 and CP-VGG-16".
_VGG = PAPER_RECIPES.add(
    PaperRecipe(
        name="li-vgg",
        options=TrainOptions(
            epochs=300,
            batch_size=128,
            optimizer="sgd",
            learning_rate=0.05,
            momentum=0.9,
            weight_decay=5e-4,
            schedule=Decay(factor=0.5, every=30),
        ),
        source="Li et al. 2020, appendix A.1, VGG-16 and CP-VGG-16",
        silent="batch size (128 is used), augmentation (none is used)",
    )
)

# Appendix A.1, of all four networks: "initial learning rate=0.05"; "for WRN-28-10 and CP-WRN-28-10, the learning rate
# is scheduled to be divided by 5 at the 60th, 120th and 160th epoch [...] we run 200 epochs". Zagoruyko and Komodakis
# 2016, whose network this is, start from 0.1: write --learning-rate 0.1 for theirs.
PAPER_RECIPES.add(
    PaperRecipe(
        name="li-wrn",
        options=replace(_VGG.options, epochs=200, schedule=Decay(factor=0.2, at=(60, 120, 160))),
        source="Li et al. 2020, appendix A.1, WRN-28-10 and CP-WRN-28-10",
        silent="batch size (128 is used), augmentation (none is used)",
    )
)

# Appendix A.4 names no more than the "standard label noise setting (Han et al., 2018)". There: "Adam optimizer
# (momentum=0.9) is with an initial learning rate of 0.001, and the batch size is set to 128 and we run 200 epochs";
# their program lets the rate fall on a straight line from epoch 80 on.
PAPER_RECIPES.add(
    PaperRecipe(
        name="li-noise",
        options=TrainOptions(epochs=200, batch_size=128, learning_rate=0.001, schedule="cosine"),
        source="Han et al. 2018, section 4, which Li et al. 2020, appendix A.4, follow",
        silent="how the learning rate falls (a cosine is used)",
    )
)
