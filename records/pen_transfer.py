"""Make the transfer record with a base from generated digits: python records/pen_transfer.py FONTS OUT_FOLDER (MNIST).

FONTS is a folder with the fonts that records/pen_fonts.txt names by package and version, where
`npm install --prefix FONTS $(cat records/pen_fonts.txt)` puts them. The base is trained on images made of them
(pen_digits.py), or taken from OUT_FOLDER where it is there already; its file holds its weights in 8 bits and names the
images by fingerprint. It tells the ten digits itself; signs are added to its last layer where that lowers the bound.

How images are made, the architectures and the training were judged on scikit-learn's digits and on fonts left out,
never on MNIST. Before MNIST was looked at there were two bases, one for each of two architectures, so that the message
says which: convnet:1-5-16-32-64, made as here, and convnet:1-3-24-48-96-64 from 300,000 images in 6 epochs. The first
was the better one on scikit-learn's digits (6.0 % errors, 7.2 % the second), and then on MNIST too (4.6 %, 5.8 %).
"""

import sys
from pathlib import Path

import torch
from pen_digits import make_digits, read_glyphs

import netpact

torch.set_num_threads(1)  # the same bits need the same number of threads
fonts, folder, model = sys.argv[1], Path(sys.argv[2]), "convnet:1-5-16-32-64"
data, ground = netpact.load_data("mnist"), folder / "pen_base.pact"
made = make_digits(read_glyphs(fonts), 250_000, seed=0, name="pen-digits")
start = netpact.build(netpact.parse_model(model, input_shape=data.input_shape, classes=data.classes))
if not ground.is_file():
    trained = netpact.train(start, made, netpact.TrainOptions(epochs=4, learning_rate=2e-3))
    told = netpact.compress(netpact.trace(trained.module, made), netpact.Quantize(bits=8), arithmetic="float64")
    netpact.certify(netpact.seal(told), made).write(ground)
base = netpact.open_base(ground)
method = netpact.HeadOnBase(base, steps=1500, restarts=1, keep_head=True)
small = netpact.compress(netpact.trace(start, data), method, samples=data.train, arithmetic="float64")
netpact.certify(netpact.seal(small), data, base=base, base_data=made).write(folder / "mnist-transfer-pen.pact")
