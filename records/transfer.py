"""Make the record with a base from other data: python records/transfer.py OUT_FOLDER (MNIST, at most half an hour).

The base is trained on Fashion-MNIST, or taken from OUT_FOLDER where it is there already; its file holds its weights in
8 bits and names its data. MNIST's head of signs is searched for on its features. There is one base for each
architecture, always trained like this, and the message says which architecture it is.
"""

import sys
from pathlib import Path

import torch

import netpact
from netpact.methods import compress, make_method

torch.set_num_threads(1)  # the same bits need the same number of threads
folder, model = Path(sys.argv[1]), "convnet:2-5-16"
other, data = netpact.load_data("fashion_mnist"), netpact.load_data("mnist")
start = netpact.build(netpact.parse_model(model, input_shape=data.input_shape, classes=data.classes))
ground = folder / "fashion_base.pact"
if not ground.is_file():
    trained = netpact.train(start, other.train, netpact.TrainOptions(epochs=5, learning_rate=2e-3))
    told = netpact.compress(netpact.trace(trained.module, other), netpact.Quantize(bits=8))
    netpact.certify(netpact.seal(told), other).write(ground)
base = netpact.open_base(ground)
method = make_method("head-on-base", {"restarts": "1"}, base=base)
small = compress(netpact.trace(start, data), method, samples=data.train, arithmetic="float64")
pact = netpact.certify(netpact.seal(small), data, base=base, base_data=other.train)
pact.write(folder / "mnist-transfer.pact")
