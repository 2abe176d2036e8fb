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
# # 1. The proof in ten minutes
#
# Transformers can approximate every continuous function from sequences to sequences. The proof of
# [Yun et al.](https://arxiv.org/abs/1912.10077) is a recipe: it says which weights to take. Here we follow a short
# version of the recipe by hand, in plain NumPy, and then let the package build the real network.
#
# The function multiplies every token by the mean of all tokens. There are three tokens, each a number in [0, 1].

# %%
from itertools import combinations_with_replacement, product

import numpy as np

import anyformer as af


def f(x):
    """Every token times the mean: (batch, tokens, width) in, the same shape out."""
    return x * x.mean(axis=1, keepdims=True)


# %% [markdown]
# ## Step 1: cells
#
# Cut [0, 1] into three cells. A sequence then falls into one of 3³ = 27 boxes, and on a small box a continuous function
# is nearly constant. So a *table* with 27 entries is already an approximation.

# %%
CELLS = 3
x = np.array([0.15, 0.8, 0.4])
cells = np.floor(x * CELLS).astype(int)
cells

# %% [markdown]
# ## Step 2: a number that says everything
#
# Attention must now tell every token what the others are. One layer that averages can do that, if the *sum* of what the
# tokens hold says which cells are there. With the cell numbers 0, 1, 2 it does not: 0 + 2 + 0 = 1 + 1 + 0. With the
# codes 0, 1, 4 it does. Such numbers are called a Sidon set.

# %%
codes = np.array([0, 1, 4])


def sums(codes):
    """All sums of three codes, with repetition."""
    return [sum(chosen) for chosen in combinations_with_replacement(codes.tolist(), 3)]


assert len(set(sums(np.arange(3)))) < len(sums(np.arange(3)))  # cell numbers collide
assert len(set(sums(codes))) == len(sums(codes)) == 10  # codes never do

# %% [markdown]
# A token keeps its own code and gets the sum. The *context id* combines both: 3·code + 2·sum. It is different for every
# pair of a sequence and a token that needs its own answer.

# %%
every = np.array(list(product(range(CELLS), repeat=3)))
ids = 3 * codes[every] + 2 * codes[every].sum(axis=1, keepdims=True)
own = 3 * codes[cells] + 2 * codes[cells].sum()
assert own.tolist() == [10, 22, 13]
assert len(np.unique(ids)) == 18  # 3 cells of the token times 6 pairs of others

# %% [markdown]
# The papers call this a *contextual mapping*. On sequences of different tokens the package can check the definition for
# us:

# %%
apart = np.array([row for row in every if len(set(row)) == 3])
report = af.check_contextual_map(apart, 3 * codes[apart] + 2 * codes[apart].sum(axis=1, keepdims=True))
assert report.is_contextual
report.reason

# %% [markdown]
# ## Step 3: look the answer up
#
# Every id gets the mean of f over its box. Feed-forward layers can do that: one ReLU step per id moves the token that
# holds it to its value. That is the whole network. Now the package does the same with real weights:

# %%
model = af.construct(f, 0.15, tokens=3, method="averaging")
[(stage.name, len(stage)) for stage in model.network.stages]

# %%
print("network", model(x[:, None]).ravel())
print("wanted ", f(x[None, :, None]).ravel())

# %% [markdown]
# The network is constant on every box: another point of the same box gives the same bits. That is why finitely many
# checks can prove something about infinitely many inputs.

# %%
neighbour = np.array([0.2, 0.9, 0.5])
assert (np.floor(neighbour * CELLS) == cells).all()
assert (model(neighbour[:, None]) == model(x[:, None])).all()

# %% [markdown]
# ## Step 4: the proof
#
# The error is proved from the weights, by a checker that knows nothing of how they were made.

# %%
found = model.verify()
assert found.verdict is af.Verdict.PROVED
assert found.bound.upper <= 0.15
print(found.reason)

# %% [markdown]
# That was the theorem, on one function. [Averaging](../averaging.md) has it for all of them, with every detail.
