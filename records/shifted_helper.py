"""Make the records of a helper trained for longer: python records/shifted_helper.py OUT_FOLDER (MNIST, half an hour).

The helper is a LeNet-5 trained on half of the training samples, shifted at random. The original is the same network
trained further on all training samples, shifted too: it was warm-started from the helper, so the two rarely disagree.
Recipe and split were written down before this helper was certified, but after the first record of this kind was known,
which has the same split. No other recipe was tried on these samples. The test images are used as in original.py.

The file is the helper itself, so the bound on the original takes the helper's hold-out bound (mnist-hold-out-original).
The older statement, with the bits of the message, is written as well. Weights that are in the folder are taken from it.
"""

import sys
from dataclasses import replace
from pathlib import Path

import torch

import netpact
from netpact.certificates import add_bounds
from netpact.pacts.priors import helper_module, save_helper
from netpact.training import Augmentation

torch.set_num_threads(1)  # the same bits need the same number of threads
folder, name = Path(sys.argv[1]), "mnist-data-dependent-shifted"
data = netpact.load_data("mnist")
shifts = Augmentation(crop=2, flip=False)
options = netpact.TrainOptions(epochs=20, batch_size=64, learning_rate=2e-3, augmentation=shifts)
recipe = netpact.Recipe("lenet5", options, netpact.Split(percent=50, counter=0))
weights = folder / "mnist_shifted_helper.safetensors"
if not weights.is_file():
    save_helper(netpact.train_helper(data, recipe, name=weights.stem), data, weights)
helper = netpact.open_base(weights)
module = helper_module(helper, recipe, data)
small = netpact.compress(netpact.trace(module, data), netpact.QuantizeDifference(helper), arithmetic="float64")
certified = netpact.certify(netpact.seal(small), data, base=helper)
certified.write(folder / f"{name}.pact")

further = netpact.TrainOptions(epochs=3, batch_size=64, learning_rate=1e-4, augmentation=shifts)
trained = folder / "mnist_shifted_original.safetensors"
if not trained.is_file():
    netpact.save_weights(netpact.train(module, data.train, further).module, trained)
original = netpact.load_model(trained)
unlabelled, data = data.test, replace(data, test=None)
stated = netpact.certify_original(certified, original, data, unlabelled, base=helper)
bare = netpact.certify(certified.with_certificate(None), data, base=helper)
bare.with_original(stated).write(folder / "mnist-hold-out-original.pact")

coded = add_bounds(compressed_bound=stated.compressed.bound, disagreement_bound=stated.disagreement_bound)
older = replace(stated, bound=coded, hold_out_bits=None, hold_out_bound=None)
bare.with_original(older).write(folder / f"{name}-original.pact")
