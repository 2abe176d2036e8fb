# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 4. A proved model as ground truth
#
# Methods that explain networks are hard to judge: nobody knows what a trained network really computes. In a compiled
# network everything is known. Here a small probe is put to the test.

# %%
import numpy as np

import anyformer as af
from anyformer.labels import labels_of


def stand_out(x):
    """How far a token is from the mean, squared."""
    return (x - x.mean(axis=1, keepdims=True)) ** 2


model = af.construct(stand_out, 1e-3, tokens=6, p=np.inf)
labels = labels_of(model)
for channel in labels.of_kind("channel"):
    print(tuple(channel.first), channel.text)

# %% [markdown]
# These labels are no guesses. They are read off the weights after the checker has accepted them. Each says which step
# of the function a channel holds, and how far off it can be at most, for any input.

# %%
x = np.random.default_rng(0).random((400, 6, 1))
values = labels.values(x)
(mean,) = labels.of_kind("channel", "mean")
held = values.of(mean.first)
assert held.largest_difference <= mean.proved
assert np.allclose(held.exact, x.mean(axis=1))
print(f"{mean.text}: off by {held.largest_difference:.1e}, proved {mean.proved:.1e}")

# %% [markdown]
# ## A probe without peeking
#
# A linear probe asks: can this quantity be read from the stream by a linear map? Fit one for the mean and one for the
# product of the first two tokens, on half of the inputs, and try the other half.


# %%
def probe(stream, wanted):
    """How much of the variance of `wanted` a linear map of the stream explains on inputs that it has not seen."""
    half = len(stream) // 2
    rows = np.concatenate([stream, np.ones_like(stream[..., :1])], axis=-1)
    fitted, *_ = np.linalg.lstsq(rows[:half, 0], wanted[:half], rcond=None)
    left = wanted[half:] - rows[half:, 0] @ fitted
    return 1 - left.var() / wanted[half:].var()


last = len(model.network.stages) - 1
stream = values.network_stream(last, len(model.network.stages[last]))
found = probe(stream, x[:, :, 0].mean(axis=1))
absent = probe(stream, x[:, 0, 0] * x[:, 1, 0])
print(f"mean of all tokens: {found:.4f}; product of two tokens: {absent:.4f}")

# %% [markdown]
# The mean is there, and the label says in which channel. The product of two tokens is nowhere in this function, yet the
# probe explains a good part of it: it is correlated with the mean. A probe that succeeds shows that something *can* be
# read, not that the network computes it. Ground truth tells the two apart.

# %%
assert found > 0.999
assert 0.2 < absent < 0.95
assert not labels.of_kind("channel", "product")

# %% [markdown]
# ## The right head
#
# Which head averages? Its attention is uniform for every input. The labels agree.

# %%
(head,) = labels.of_kind("head", "mean")
weights = values.attention(head.first).network
assert np.allclose(weights, 1 / 6)
print(tuple(head.first), head.text)

# %% [markdown]
# The [zoo](../zoo.md) has 31 such models, from one head to hundreds of layers.
# [Interpretability](../interpretability.md) plays the same game with TransformerLens.
