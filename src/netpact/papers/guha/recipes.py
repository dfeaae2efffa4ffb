"""How the paper trained its networks."""

from __future__ import annotations

from dataclasses import replace

from netpact.training import PAPER_RECIPES, PaperRecipe, TrainOptions

# Section 7: "We train our algorithm with a learning rate of 0.02 with the Adam optimizer [...] for 300 epochs".
# Appendix A: "a batch size of 256 for our experiments on MNIST and a batch size of 4 for CIFAR10".
_MNIST = PAPER_RECIPES.add(
    PaperRecipe(
        name="guha-mlp",
        options=TrainOptions(
            epochs=300, batch_size=256, optimizer="adam", learning_rate=0.02, weight_decay=0.0, schedule="constant"
        ),
        source="Guha et al. 2023, section 7 and appendix A, 5-layer MLP on MNIST",
        silent="schedule (constant is used), weight decay and augmentation (none is used)",
    )
)

PAPER_RECIPES.add(
    PaperRecipe(
        name="guha-mlp-cifar10",
        options=replace(_MNIST.options, batch_size=4),
        source="Guha et al. 2023, section 7 and appendix A, 5-layer MLP on CIFAR-10",
        silent="schedule (constant is used), weight decay and augmentation (none is used)",
    )
)
