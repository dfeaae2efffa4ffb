"""Make the record by sample compression from a base: python records/pen_picks.py FONTS FOLDER (MNIST, some minutes).

FONTS and FOLDER/pen_base.pact are those of pen_transfer.py. The base becomes an integer network; ranges of its
activations come from the generated images that it was trained on. None of these is in MNIST, and all that is chosen by
looking at MNIST is in the recipe.
"""

import sys
from pathlib import Path

import torch
from pen_digits import make_digits, read_glyphs

import netpact
from netpact.exploration import search_picks

torch.set_num_threads(1)
fonts, folder = sys.argv[1], Path(sys.argv[2])
made, ground = make_digits(read_glyphs(fonts), 250_000, seed=0, name="pen-digits"), folder / "pen_base_whole.pact"
if not ground.is_file():
    base = netpact.Pact.read(folder / "pen_base.pact")
    module = netpact.build(base.architecture)  # float32, which holds weights of 8 bits exactly
    module.load_state_dict({name: weights.float() for name, weights in base.to_module().state_dict().items()})
    network = netpact.trace(module, made)
    netpact.seal(netpact.compress(network, netpact.WholeNumber(bits=8), samples=made)).write(ground)
found = search_picks("mnist", out=folder / "pen-picks", base=ground, base_data=made, rounds=4)
found.picked.write(folder / "mnist-pen.pick")
