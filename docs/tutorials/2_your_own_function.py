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
# # 2. Your own function
#
# Bring any function in plain NumPy. It takes arrays of shape (batch, tokens, width) and returns the same shape.

# %%
import numpy as np

import anyformer as af
from anyformer.errors import AnyformerError


def soft_rank(x):
    """A smooth version of 'how large is this token among all tokens?'"""
    return np.tanh(4 * (x - x.mean(axis=1, keepdims=True)))


model = af.construct(soft_rank, 1e-3, tokens=16, p=np.inf)
assert model.certificate.certified_error <= 1e-3
model

# %% [markdown]
# Nothing was trained. The function was *traced*: it ran once on an array that records what happens to it. Each step
# became a piece of a network, and the errors of the steps add up to a bound for every input in [0, 1]¹⁶.

# %%
x = np.random.default_rng(0).random((1000, 16, 1))
worst = np.abs(model(x) - soft_rank(x)).max()
assert worst <= model.certificate.certified_error
print(f"seen {worst:.2e}, proved {model.certificate.certified_error:.2e}")

# %% [markdown]
# ## Another domain
#
# Say where the inputs live. A *target* is a function with its domain, its number of tokens and its width.

# %%
wide = af.target(soft_rank, tokens=16, domain=af.targets.Box(-1.0, 1.0))
assert af.construct(wide, 1e-3, p=np.inf).certificate.certified_error <= 1e-3

# %% [markdown]
# ## When order matters
#
# A Transformer without positions treats all tokens alike. A function that does not is refused, and the message says
# what to do.


# %%
def differences(x):
    """Every token minus the one before it; the first stays."""
    return np.concatenate([x[:, :1], x[:, 1:] - x[:, :-1]], axis=1)


try:
    af.construct(differences, 0.1, tokens=4)
except AnyformerError as error:
    message = str(error)
assert "equivariant" in message
print(message)

# %%
ordered = af.target(differences, tokens=4, symmetry=af.targets.Symmetry.NONE)
model = af.construct(ordered, 1e-6, p=np.inf)
assert model.network.positional_encoding is not None
assert model.certificate.certified_error <= 1e-6

# %% [markdown]
# ## When it cannot be traced
#
# Some functions look at their values and branch, or leave NumPy. Then there is no program to compile, but there is
# still a *table*. It needs to know how fast the function can change: declare a Lipschitz constant. The certificate then
# says that it relies on it.


# %%
def by_the_loop(x):
    """The mean, added up by Python: nothing for a tracing array."""
    rows = [[sum(float(v) for v in row.ravel()) / row.size] * len(row) for row in x]
    return np.array(rows)[:, :, None]


slow = af.target(by_the_loop, tokens=2, lipschitz=1.0)
model = af.construct(slow, 0.3)
assert model.certificate.construction["method"] != "compile"
assert model.certificate.kind.uses_modulus
print(model.certificate.construction["method"], "·", model.certificate.kind.value)

# %% [markdown]
# ## Keep it
#
# A folder with three files. Loading it runs no code, so to verify it you name your function again.

# %%
folder = af.construct(soft_rank, 1e-3, tokens=16, p=np.inf).save("soft_rank", overwrite=True)
again = af.load(folder).verify(af.target(soft_rank, tokens=16))
assert again.verdict is af.Verdict.PROVED
print(again.reason)
