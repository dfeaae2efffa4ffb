"""Anonymous 2021: Rethinking compressed convolutional neural networks from a statistical perspective."""
