# %% [markdown]
# # Why does my network generalize?
#
# Two networks of the same shape are trained on the same images until they make almost no training errors. One
# gets the true labels, the other one random labels. Counting parameters cannot tell them apart. What can?
#
# Run it cell by cell in an editor or in Jupyter (with jupytext), or from the command line: `python
# examples/why_does_my_network_generalize.py`.

# %%
import numpy as np

import netpact
from netpact import MeasureOptions, Quantize, TernarySearch, TrainOptions

digits = netpact.load_data("digits")
images, labels = next(digits.train.batches(300))
shuffled = np.random.default_rng(0).permutation(labels)
true = netpact.as_data((images, labels), test=digits.test, name="true labels", classes=10)
random = netpact.as_data((images, shuffled), test=digits.test, name="random labels", classes=10)


def train(data, epochs):
    start = netpact.build(netpact.parse_model("mlp:256", input_shape=data.input_shape, classes=data.classes))
    return netpact.train(start, data.train, TrainOptions(epochs=epochs, learning_rate=0.01), test=data.test)


learned, memorised = train(true, 25), train(random, 150)
print(learned)
print(memorised)

# %% [markdown]
# Both have learned their training labels. Only one is right about new images. Now look at the two networks, not
# at the test set.

# %%
assert learned.history[-1].train_error < 0.02 and memorised.history[-1].train_error < 0.05
assert learned.history[-1].test_error < 0.15 < 0.8 < memorised.history[-1].test_error

# %% [markdown]
# ## Margins and cushions
#
# Arora et al. 2018: noise that is put into a layer of a well-trained network is attenuated on its way to the
# output. The *layer cushion* measures how much of a layer's input survives compared to noise of the same size.
# Larger is better. The *margin* is by how much the right class wins, here relative to the size of the output.

# %%
options = MeasureOptions(samples=200, only=("arora_layer_cushion", "stable_rank", "margins", "max_output_norm"))
found = {
    name: netpact.measure(one.module, data, options)
    for name, one, data in (("true", learned, true), ("random", memorised, random))
}
found["true"]

# %%
found["random"]

# %%
for place in (0, 1):
    cushions = {name: one.layers[place].arora_layer_cushion.quantiles[0.5] for name, one in found.items()}
    print(
        f"layer {place + 1}, median cushion: "
        + ", ".join(f"{name} labels {value:.3f}" for name, value in cushions.items())
    )
    assert cushions["true"] > cushions["random"]

# %% [markdown]
# ## Compress both
#
# If noise is attenuated, weights can be rounded. Round both networks to fewer and fewer bits and count the
# training errors.

# %%
for bits in (6, 5, 4, 3, 2):
    row = [f"{bits} bits:"]
    for name, one, data in (("true", learned, true), ("random", memorised, random)):
        pact = netpact.seal(netpact.compress(netpact.trace(one.module, data), Quantize(bits=bits)))
        errors = netpact.measure_margins(pact.to_module(), data.train).share_below(0.0)
        row.append(f"{name} labels {len(pact.message):6,} bytes, train error {errors:6.1%};")
    print(" ".join(row))

# %% [markdown]
# The network with true labels keeps its answers down to 2 bits a weight. Memorised labels need precise weights.
#
# ## From "compressible" to "proven"
#
# A short message that gets most training samples right is evidence about *new* samples. To prove something the
# message must be much shorter than the number of samples in bits, so take the simplest network and all 1,437
# images. `TernarySearch` looks for a short message, and `certify` turns bytes and errors into a bound that
# holds with probability 95 %.

# %%
images, labels = next(digits.train.batches(digits.train.count))
certified = {}
for name, chosen in (("true", labels), ("random", np.random.default_rng(0).permutation(labels))):
    data = netpact.as_data((images, chosen), test=digits.test, name=f"{name} labels", classes=10)
    start = netpact.build(netpact.parse_model("linear", input_shape=data.input_shape, classes=data.classes))
    module = netpact.train(start, data.train, TrainOptions(epochs=20, learning_rate=0.01)).module
    certified[name] = netpact.certify(netpact.compress(module, TernarySearch(steps=60), samples=data), data)
certified["true"].certificate

# %%
certified["random"].certificate

# %% [markdown]
# For random labels no method whatsoever can prove a bound below 90 %: the true error *is* 90 %. For true labels
# the bound is far below it, and was found without any test set. So the answer to the question in the title, for
# this network: because a short description of it fits many samples.
#
# What this is not: an explanation of why *training* finds such networks. And published bounds that rest on
# norms and margins alone are far from saying anything about the network above. Here they are, as estimates; a
# value above 1 says nothing:

# %%
assert certified["true"].certificate.bound < 0.5 and certified["random"].certificate.is_vacuous
netpact.estimate_bounds(
    learned.module, true, measures=netpact.measure(learned.module, true, MeasureOptions(samples=50))
)
