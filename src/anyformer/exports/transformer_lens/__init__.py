"""A model in TransformerLens, for `TransformerBridge.boot_native`: every head, unit and channel behind a named hook.

>>> import anyformer as af
>>> from anyformer.exports.transformer_lens import to_transformer_lens
>>> model = af.construct("mean-scale", 1e-2, tokens=3, p=float("inf"))
>>> lens = to_transformer_lens(model)
>>> outputs, cache = lens.run_with_cache([[[0.25], [0.5], [1.0]]])
>>> lens.hook((0, 0, "head", 0))
Hook(name='blocks.0.attn.hook_pattern', index=0)
>>> lens.value(cache, (0, 0, "head", 0))[0, 1].tolist()  # a mean: the same weight for every token
[0.3333333333333333, 0.3333333333333333, 0.3333333333333333]
>>> lens.described()["blocks.0.attn.hook_pattern"][0].text
'v1 = mean over tokens of x0'
"""

from anyformer.exports.transformer_lens.files import load_transformer_lens, write
from anyformer.exports.transformer_lens.lens import MOST_BLOCKS, Lens, to_transformer_lens
from anyformer.exports.transformer_lens.places import Hook

__all__ = ["MOST_BLOCKS", "Hook", "Lens", "load_transformer_lens", "to_transformer_lens", "write"]
