"""Who computes sparse attention: ours, both ways, and what else can be had for PyTorch on a CPU.

Each is called as it likes best: with tensors in its own layout, without projections, dropout or attention weights that
nobody asked for. Those that compute the same function as ours are checked against it.
"""

import importlib.util
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import torch
from torch import Tensor, nn

from anyformer.attention import sparse_attention
from anyformer.patterns import SlidingWindow, SparsityPattern, block_mask
from benchmarks.attention_cases import (
    BIRD,
    BLOCK,
    GLOBALS,
    HALF_WIDTH,
    HEAD_SIZE,
    HEADS,
    RANDOM_BLOCKS,
    WINDOW,
    Case,
    neighbours,
    pattern,
)  # fmt: skip
from benchmarks.peers.names import BIG_BIRD, DENSE, FLEX, GATHER, LOCAL, LONGFORMER, MASKED, OURS

Call: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]

# Above these lengths a mask or a table of all pairs is too large, or a call takes too long.
LONGEST_MASK: Final = 4096
SHORTEST_BIRD: Final = BLOCK * (6 + 2 * RANDOM_BLOCKS)  # below it, it is dense
LONGEST_BIRD: Final = 8192  # it makes 8·n² attention weights, used or not
FLEX_LENGTHS: Final = (1024, 4096)  # it is compiled anew for each, which takes longer than all its rounds


@final
@dataclass(frozen=True, eq=False)
class Contender:
    """A way to compute attention."""

    name: str
    call: Call
    same_as: SparsityPattern | None = None
    """The pattern on which ours is the same function, if there is one."""
    tokens_first: bool = False
    """Whether it takes (1, tokens, heads·head_size) rather than (1, heads, tokens, head_size)."""
    can_train: bool = True


Make: TypeAlias = Callable[[], Contender]


def contenders(case: Case, tokens: int, beside: Path | None = None) -> dict[str, Make]:
    """All that can make use of this pattern, at this length; `beside` is a file with one more, see `_beside`."""
    its = pattern(case, tokens)
    found: dict[str, Make] = {
        OURS: lambda: Contender(OURS, lambda q, k, v: sparse_attention(q, k, v, its), its),
        GATHER: lambda: Contender(GATHER, lambda q, k, v: sparse_attention(q, k, v, its, backend="gather"), its),
    }
    if beside is not None:
        found[name_of(beside)] = lambda: _beside(beside, case, tokens)
    if tokens in FLEX_LENGTHS:
        # PyTorch refuses its backward on CPUs.
        found[FLEX] = lambda: Contender(FLEX, _flex(case, tokens), its, can_train=False)
    if case is WINDOW:
        found[LONGFORMER] = lambda: Contender(LONGFORMER, _longformer(tokens), its, tokens_first=True)
        # It has no global tokens.
        found[LOCAL] = lambda: Contender(LOCAL, _local(), SlidingWindow(HALF_WIDTH).at(tokens))
    if case is BIRD and SHORTEST_BIRD <= tokens <= LONGEST_BIRD:
        # As many random blocks, but others.
        found[BIG_BIRD] = lambda: Contender(BIG_BIRD, _big_bird(tokens), tokens_first=True)
    return found


def dense(tokens: int) -> dict[str, Make]:
    """Those that compute all pairs; what they take does not depend on the pattern."""
    found: dict[str, Make] = {DENSE: lambda: Contender(DENSE, nn.functional.scaled_dot_product_attention)}
    if tokens <= LONGEST_MASK:
        found[MASKED] = lambda: Contender(MASKED, _masked(WINDOW, tokens), pattern(WINDOW, tokens))
    return found


def name_of(beside: Path) -> str:
    """What the contender in this file is called."""
    return str(_loaded(beside).NAME)


def in_its_layout(contender: Contender, x: Tensor) -> Tensor:
    """A tensor (1, heads, tokens, head_size) as the contender takes it, contiguous."""
    return x.transpose(1, 2).flatten(2).contiguous() if contender.tokens_first else x


def heads_first(contender: Contender, x: Tensor) -> Tensor:
    """What a contender gives as (1, heads, tokens, head_size)."""
    return x.unflatten(-1, (HEADS, HEAD_SIZE)).transpose(1, 2) if contender.tokens_first else x


def _beside(path: Path, case: Case, tokens: int) -> Contender:
    """From a file with `NAME` and `attention(neighbours)`, which gives a function of q, k and v as ours take them."""
    loaded = _loaded(path)
    return Contender(loaded.NAME, loaded.attention(neighbours(case, tokens)), pattern(case, tokens))


@cache
def _loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None, path  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _masked(case: Case, tokens: int) -> Call:
    its = neighbours(case, tokens)
    mask = torch.zeros(tokens, tokens, dtype=torch.bool)
    mask[torch.from_numpy(its.queries()), torch.from_numpy(its.indices.copy())] = True
    return lambda q, k, v: nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@cache
def _flex(case: Case, tokens: int) -> Call:
    """Compiled, with small blocks and the pattern as a formula: both make it several times as fast."""
    from torch.nn.attention.flex_attention import BlockMask

    size = BLOCK if case is BIRD else 32
    mask = block_mask(pattern(case, tokens), block_size=size, most_share=1.0)
    if case.formula is not None:
        formula = case.formula(tokens)
        counted = mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks, mask.full_kv_indices
        mask = BlockMask.from_kv_blocks(
            *counted, BLOCK_SIZE=size, mask_mod=lambda b, h, i, j: formula(i, j), seq_lengths=(tokens, tokens)
        )
    compiled = _compiled_flex()
    return lambda q, k, v: compiled(q, k, v, block_mask=mask)


@cache
def _compiled_flex() -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", tempfile.mkdtemp(prefix="inductor-"))
    torch._dynamo.config.recompile_limit = 256
    return torch.compile(flex_attention, dynamic=False)


class _Given(nn.Module):
    """Stands where a projection would, and gives what is already there."""

    tensor: Tensor

    def forward(self, hidden: Tensor) -> Tensor:
        return self.tensor


def _longformer(tokens: int) -> Call:
    from transformers import LongformerConfig
    from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

    width = HEADS * HEAD_SIZE
    config = LongformerConfig(hidden_size=width, num_attention_heads=HEADS, attention_window=[2 * HALF_WIDTH])
    layer = LongformerSelfAttention(config, 0).eval()
    layer.query = queries = _Given()
    layer.key = layer.key_global = keys = _Given()
    layer.value = layer.value_global = values = _Given()
    layer.query_global = nn.Identity()
    mask = torch.zeros(1, tokens)
    mask[:, :GLOBALS] = 10_000.0  # how the model marks global tokens
    marks = {"attention_mask": mask, "is_index_masked": mask < 0, "is_index_global_attn": mask > 0}

    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        # It divides its queries in place, as it may with the result of a projection.
        queries.tensor = q.transpose(0, 1).clone()
        keys.tensor, values.tensor = k.transpose(0, 1), v.transpose(0, 1)
        return layer(q, **marks, is_global_attn=True)[0]

    return call


def _local() -> Call:
    from local_attention import LocalAttention

    layer = LocalAttention(
        window_size=HALF_WIDTH, look_backward=1, look_forward=1, exact_windowsize=True, use_rotary_pos_emb=False
    )
    return lambda q, k, v: layer(q, k, v)


def _big_bird(tokens: int) -> Call:
    """Without gradients as it is evaluated, which saves it drawing its random blocks."""
    from transformers import BigBirdConfig, BigBirdModel
    from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention

    config = BigBirdConfig(
        hidden_size=HEADS * HEAD_SIZE, num_attention_heads=HEADS, block_size=BLOCK, num_random_blocks=RANDOM_BLOCKS,
        max_position_embeddings=tokens,
    )  # fmt: skip
    layer = BigBirdBlockSparseAttention(config, seed=0)
    layer.query = nn.Identity()
    layer.key, layer.value = keys, values = _Given(), _Given()
    names = ("blocked", "band_mask", "from_mask", "to_mask")
    masks = dict(zip(names, BigBirdModel.create_masks_for_block_sparse_attn(torch.ones(1, tokens), BLOCK), strict=True))
    blocked = masks.pop("blocked")

    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        keys.tensor, values.tensor = k, v
        layer.train(torch.is_grad_enabled())
        return layer(q, **masks, from_blocked_mask=blocked, to_blocked_mask=blocked)[0]

    return call
