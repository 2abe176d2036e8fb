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
# # 5. Is my attention pattern universal?
#
# Sparse attention lets every token look at a few others. Can such a network still approximate everything?
# [Paper B](https://arxiv.org/abs/2006.04862) has conditions for that, and `check_universality` tests them on your
# pattern, with reasons.

# %%
import numpy as np

import anyformer as af
from anyformer import patterns

report = patterns.check_universality(patterns.named("sliding-window"), tokens=12)
assert report.verdict is patterns.Universality.PAPER_B
print(report)

# %% [markdown]
# ## Your own mask
#
# Rows are queries, columns are keys. Here the tokens form two groups. Each looks at its own group, and the first group
# also at the second.

# %%
mask = np.zeros((8, 8), dtype=bool)
mask[:4, :4] = mask[4:, 4:] = True
mask[:4, 4:] = True
mine = patterns.from_matrix(mask)
report = patterns.check_universality(mine, tokens=8)
assert report.verdict is patterns.Universality.REFUTED
print(report)

# %% [markdown]
# *Refuted* is final: there is an output that can never depend on some input, however many layers there are. The report
# names the two tokens. You can see it by hand:

# %%
reach = mask.copy()
for _ in range(8):
    reach = reach | (reach.astype(int) @ mask.astype(int) > 0)
assert not reach[4:, :4].any()

# %% [markdown]
# ## Repair it
#
# The report says what to add, and whether fewer connections could do.

# %%
repaired = report.repair.applied(mine)
again = patterns.check_universality(repaired, tokens=8)
assert again.is_universal
print(report.repair)
print(again.verdict.value)

# %% [markdown]
# ## Build on it
#
# Universal is a theorem about all functions. Here is one function on one pattern: sorting three tokens, where each sees
# only its neighbours. The network is proved like any other.

# %%
line = patterns.from_matrix(np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], dtype=bool))
assert patterns.check_universality(line, tokens=3).is_universal
model = af.construct(af.targets.sort(tokens=3), 0.3, pattern=line, method="sparse-averaging")
assert model.verify().verdict is af.Verdict.PROVED
assert model.network.attention_layer_count == 2  # the ends are two hops apart
model

# %% [markdown]
# [Sparse Transformers](../sparse.md) has both constructions and their proofs.
