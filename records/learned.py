"""Make the record with learned features only: python records/learned.py OUT.pact (MNIST, minutes on one core)."""

import sys

import torch

import netpact

torch.set_num_threads(1)  # the same bits need the same number of threads
data = netpact.load_data("mnist")
start = netpact.build(netpact.parse_model("convnet:2-5-6-12", input_shape=data.input_shape, classes=data.classes))
trained = netpact.train(start, data.train, netpact.TrainOptions(epochs=4, learning_rate=5e-3))
method = netpact.RateAware(epochs=24, rate=7.0, learning_rate=0.05, levels=3)
small = netpact.compress(netpact.trace(trained.module, data), method, samples=data.train, arithmetic="float64")
netpact.certify(netpact.seal(small), data).write(sys.argv[1])
