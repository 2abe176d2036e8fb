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
# # 3. Reading a certificate
#
# Every model comes with a certificate: a claim about its weights that anybody can check again. This tutorial reads one,
# checks it, and then tries to cheat.

# %%
import dataclasses

import numpy as np

import anyformer as af

model = af.construct(af.targets.softmax(tokens=3), 0.1, method="averaging")
certificate = model.certificate
certificate

# %% [markdown]
# ## What is claimed
#
# *The distance between this function and this network is at most the certified error, over the whole domain.* The
# distance is an L^p norm: here p = 2, so it is a root of a mean square. With `p=inf` it would be the largest error of
# any input.

# %%
assert certificate.certified_error <= certificate.tolerance == 0.1
print(f"{certificate.target.name}, p = {certificate.p:g}: {certificate.certified_error:.4f} of {certificate.tolerance}")

# %% [markdown]
# ## What is measured
#
# Random inputs give an estimate. It proves nothing, but it must not be larger than what was proved.

# %%
measured = certificate.measured
assert measured.low <= measured.error <= measured.high
assert measured.error <= certificate.certified_error
print(f"measured {measured.error:.4f}, between {measured.low:.4f} and {measured.high:.4f}")

# %% [markdown]
# ## Where the error comes from
#
# The terms are norms, so their squares add up. *cells*: the function is not constant on a cell. *coincidence*: the
# same, on cells that two tokens share. *rest*: thin walls between the cells, with their volume.

# %%
terms = certificate.terms
for name, size in terms.items():
    print(f"{name:12} {size:.3g}")
total = sum(terms[name] ** 2 for name in ("cells", "coincidence", "rest")) ** 0.5
assert np.isclose(total, certificate.certified_error, rtol=1e-9)

# %% [markdown]
# ## What is relied on
#
# *unconditional*: the function's own formula was run on intervals. Nothing that you declared is trusted.

# %%
assert not certificate.kind.uses_modulus
certificate.kind.value

# %% [markdown]
# ## Check it
#
# `verify` derives everything again, from the weights, the function and the cells. It has three answers, and only
# *proved* counts as yes.

# %%
assert model.verify().verdict is af.Verdict.PROVED

# %% [markdown]
# ## Cheat
#
# Claim a smaller error. The checker derives the bound again and compares.

# %%
boast = af.verify(model.network, dataclasses.replace(certificate, tolerance=0.001, certified_error=0.001))
assert boast.verdict is not af.Verdict.PROVED
print(boast.verdict.name, "—", boast.reason)

# %% [markdown]
# Or change a weight. The bound is derived from the weights as they are now.

# %%
stages = list(model.network.stages)
at = next(k for k, stage in enumerate(stages) if stage.name == "value map")
W_2 = stages[at].W_2.copy()
W_2[0] *= 1.5
stages[at] = dataclasses.replace(stages[at], W_2=W_2)
changed = dataclasses.replace(model.network, stages=tuple(stages))
other = af.verify(changed, certificate)
assert other.verdict is not af.Verdict.PROVED
print(other.verdict.name, "—", other.reason)

# %% [markdown]
# [Certificates](../certificates.md) has every rule of the checker. [The hunt](../results/hunt.md) tells what happened
# when we tried to fool it for an hour.
