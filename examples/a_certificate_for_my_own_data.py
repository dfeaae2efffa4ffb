# %% [markdown]
# # A certificate for my own data
#
# A table with measurements, a small network, a file that somebody else can check. The data are scikit-learn's
# breast cancer table (569 patients, 30 numbers each, two classes). Replace `table` and `labels` by your own.

# %%
import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from torch import nn

import netpact

table, labels = load_breast_cancer(return_X_y=True)
print(table.shape, np.bincount(labels))

# %% [markdown]
# ## Decide before you look
#
# - `delta`: 0.05, the probability that the statement is false because of an unlikely sample.
# - The split: at random, with a seed.
# - The scaling. The columns range from 0.001 to 4,000. Subtracting the column means of *these* patients would
#   be a choice made by looking at them, and no message contains it. There are two honest ways: let the network
#   do it, with batch norm whose numbers are in the message; or use a function that was fixed beforehand.
#   Lengths and areas are positive and spread over orders of magnitude, so the logarithm is a choice that needs
#   no look at the data.

# %%
order = np.random.default_rng(0).permutation(len(table))
train, test = order[:455], order[455:]


def as_samples(inputs, name):
    x = inputs.astype(np.float32)
    return netpact.as_data((x[train], labels[train]), test=(x[test], labels[test]), name=name)


raw = as_samples(table, "patients")
logs = as_samples(np.log(table + 0.01), "patients, logarithms")
for data in (raw, logs):
    for problem in netpact.check_data(data):
        print(problem)
logs

# %% [markdown]
# ## First try: batch norm
#
# A function makes the module, without weights: they come from the file.


# %%
def with_norm():
    return nn.Sequential(nn.BatchNorm1d(30, affine=False), nn.Linear(30, 2))


torch.manual_seed(0)
first = netpact.train(with_norm(), raw, netpact.TrainOptions(epochs=40, learning_rate=0.02), test=raw)
print(first)
pact = netpact.certify(netpact.compress(first.module, netpact.Quantize(bits=3), samples=raw), raw, model=with_norm)
pact.certificate

# %% [markdown]
# A good network, and a vacuous bound: "at most 97 %" where guessing errs on 50 %. The reason is on the table:
# the message has 277 bytes. The statistics of batch norm, 60 numbers, are stored exactly and take most of it.
# 455 samples cannot pay for 2,231 bits.

# %%
assert pact.certificate.is_vacuous
print(pact)

# %% [markdown]
# ## Second try: a fixed function, and a short message
#
# On logarithms a plain linear classifier will do. `RateAware` trains on with the length of the message as part
# of the loss. Trying several rates is allowed: every message pays for itself.


# %%
def linear():
    return nn.Sequential(nn.Linear(30, 2))


second = netpact.train(linear(), logs, netpact.TrainOptions(epochs=100, learning_rate=0.02), test=logs)
print(second)
tried = []
for rate in (1.0, 3.0, 6.0):
    method = netpact.RateAware(epochs=60, rate=rate)
    tried.append(netpact.certify(netpact.compress(second.module, method, samples=logs), logs, model=linear))
    stated = tried[-1].certificate
    print(
        f"rate {rate}: {len(tried[-1].message):3} bytes, train {stated.train_error:.1%}, test {stated.test_error:.1%}, bound {stated.bound:.1%}"
    )

# %%
best = min(tried, key=lambda one: one.certificate.bound)
assert best.certificate.bound < 0.35
best.certificate

# %% [markdown]
# A bound of about a quarter from some ten bytes and 455 patients, without any test set. If labelled patients
# can be held out, they prove more: the 114 of the test part alone give the *hold-out bound*. It holds if they
# were used in no choice, and here the best rate was chosen by the bound, not by the test error, so it does.

# %%
print(
    f"certificate {best.certificate.bound:.1%}, hold-out bound {best.certificate.test_bound:.1%}, test error {best.certificate.test_error:.1%}"
)

# %% [markdown]
# ## Hand it on
#
# The file has the weights and the statement, never code. Whoever checks it needs the file, the data and the
# function `linear`.

# %%
best.write("patients.pact")
verdict = netpact.verify("patients.pact", logs, model=linear)
assert verdict.agreed
verdict

# %% [markdown]
# What the certificate assumes, and what you vouch for:

# %%
for text in (*best.certificate.assumptions, *best.certificate.declarations):
    print("-", text)
