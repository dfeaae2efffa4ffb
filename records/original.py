"""Make a record about a network before compression: python records/original.py G.pact OUT_FOLDER [BASE] (MNIST).

The original is trained plainly on all training samples, or taken from OUT_FOLDER where it is there already. Its bound
is that of the network in G.pact plus how often the two disagree on MNIST's test images; their labels are not looked at.
BASE is the base or helper network that G.pact is told relative to. If G.pact holds the helper itself, its hold-out
bound is added; mnist-data-dependent-original.pact was made before that, with the bits of the message.

Test images that may have guided a choice are not fresh, so the program refuses to take a data set's own test part for
unlabelled inputs. Here they guide none: both networks come from the training samples alone. The data are handed over
without their test part, and the file states no test error.
"""

import sys
from dataclasses import replace
from pathlib import Path

import torch

import netpact

torch.set_num_threads(1)  # the same bits need the same number of threads
g, folder = netpact.Pact.read(sys.argv[1]), Path(sys.argv[2])
base = netpact.open_base(sys.argv[3]) if len(sys.argv) > 3 else None
data = netpact.load_data("mnist")
unlabelled, data = data.test, replace(data, test=None)
weights = folder / "mnist_original.safetensors"
if not weights.is_file():
    start = netpact.build(netpact.parse_model("lenet5", input_shape=data.input_shape, classes=data.classes))
    options = netpact.TrainOptions(epochs=8, learning_rate=2e-3)
    netpact.save_weights(netpact.train(start, data.train, options).module, weights)
original = netpact.load_model(weights)
stated = netpact.certify_original(g, original, data, unlabelled, base=base)
pact = netpact.certify(g.with_certificate(None), data, base=base).with_original(stated)
pact.write(folder / f"{Path(sys.argv[1]).stem}-original.pact")
