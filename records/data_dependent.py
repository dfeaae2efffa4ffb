"""Make the record with a data-dependent prior: python records/data_dependent.py OUT_FOLDER (MNIST, minutes).

The helper is trained on half of the training samples, and the message says "the helper itself". The recipe was written
down before any sample of the other half was looked at.
"""

import sys
from pathlib import Path

import torch

import netpact
from netpact.pacts.priors import helper_module, save_helper

torch.set_num_threads(1)  # the same bits need the same number of threads
folder = Path(sys.argv[1])
data = netpact.load_data("mnist")
options = netpact.TrainOptions(epochs=8, learning_rate=2e-3)
recipe = netpact.Recipe("lenet5", options, netpact.Split(percent=50, counter=0))
helper = netpact.train_helper(data, recipe, name="mnist_helper")
save_helper(helper, data, folder / "mnist_helper.safetensors")
network = netpact.trace(helper_module(helper, recipe, data), data)
same = netpact.compress(network, netpact.QuantizeDifference(helper), arithmetic="float64")
netpact.certify(netpact.seal(same), data, base=helper).write(folder / "mnist-data-dependent.pact")
