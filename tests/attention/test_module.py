"""`SparseAttention` is `nn.MultiheadAttention` under the pattern's mask, with its weights; the rest is refused."""

import pytest
import torch
from torch import nn

from anyformer.attention import AttentionError, SparseAttention
from anyformer.patterns import Causal, Full, Longformer, Multihead, Sequential, SlidingWindow, to_dense

WIDTH, HEADS, TOKENS, BATCH = 12, 3, 17, 5
PATTERN = Longformer(half_width=2, global_tokens=1)
# Sums of at most 17 + 2·12 products of numbers below about ten, in float64, on both sides.
ROUNDING = 2 * 41 * 10 * torch.finfo(torch.float64).eps


def pair(pattern=PATTERN, **options):
    """PyTorch's layer and ours with its weights."""
    torch.manual_seed(3)
    theirs = nn.MultiheadAttention(WIDTH, HEADS, **options).double()
    if theirs.in_proj_bias is not None:
        nn.init.normal_(theirs.in_proj_bias)
        nn.init.normal_(theirs.out_proj.bias)
    ours = SparseAttention(WIDTH, HEADS, pattern, **options).double()
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def hidden(batch_first, seed=0):
    shape = (BATCH, TOKENS, WIDTH) if batch_first else (TOKENS, BATCH, WIDTH)
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def padding():
    return torch.arange(TOKENS) >= torch.tensor([17, 3, 9, 1, 16])[:, None]


def unseen(pattern, layer=0):
    """(heads, tokens, tokens): PyTorch's attn_mask, True = not seen."""
    masks = ~torch.from_numpy(to_dense(pattern.at(TOKENS)))[layer]
    return masks[torch.arange(HEADS) % len(masks)]


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("pattern", [Full(), PATTERN, Multihead((SlidingWindow(1), Full()))], ids=repr)
def test_it_is_pytorch_s_attention_under_the_mask(pattern, batch_first, bias, padded):
    theirs, ours = pair(pattern, batch_first=batch_first, bias=bias)
    given = [hidden(batch_first, seed) for seed in range(3)]
    results = []
    for layer, more in ((theirs, {"attn_mask": unseen(pattern).repeat(BATCH, 1, 1)}), (ours, {})):
        inputs = [x.clone().requires_grad_() for x in given]
        mixed, weights = layer(*inputs, key_padding_mask=padding() if padded else None, need_weights=False, **more)
        real = ~padding() if batch_first else ~padding().T
        mixed[real].pow(2).sum().backward()
        results.append([mixed[real].detach(), *(x.grad for x in inputs), *(p.grad for p in layer.parameters())])
        assert weights is None
    for one, other in zip(*results, strict=True):
        assert (one - other).abs().max() <= ROUNDING * max(1.0, float(one.abs().max())) * TOKENS


def test_one_sequence_without_a_batch():
    theirs, ours = pair(Full())
    x, mask = hidden(False)[:, 0], padding()[1]
    wanted, _ = theirs(x, x, x, key_padding_mask=mask, need_weights=False)
    got, _ = ours(x, x, x, key_padding_mask=mask)
    assert got.shape == (TOKENS, WIDTH)
    assert (got - wanted)[~mask].abs().max() <= ROUNDING


def test_weights_start_and_load_as_pytorch_s_do():
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(WIDTH, HEADS)
    torch.manual_seed(0)
    ours = SparseAttention(WIDTH, HEADS, PATTERN)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert all(torch.equal(one, theirs.state_dict()[name]) for name, one in ours.state_dict().items())
    theirs.load_state_dict(ours.state_dict())
    assert sum(one.numel() for one in ours.parameters()) == sum(one.numel() for one in theirs.parameters())


def test_a_layer_of_a_pattern_that_takes_turns():
    pattern = Sequential((SlidingWindow(1), PATTERN))
    x = hidden(True)
    for layer, alone in enumerate(pattern.parts):
        here = SparseAttention(WIDTH, HEADS, pattern, batch_first=True, layer=layer).double()
        there = SparseAttention(WIDTH, HEADS, alone, batch_first=True).double()
        there.load_state_dict(here.state_dict())
        assert torch.equal(here(x, x, x)[0], there(x, x, x)[0])


def test_a_causal_pattern_hides_what_is_later():
    layer = SparseAttention(WIDTH, HEADS, Causal(PATTERN), batch_first=True).double()
    x = hidden(True)
    other = x.clone()
    other[:, 9:] = 7.0
    before, after = layer(x)[0], layer(other)[0]
    assert torch.equal(before[:, :9], after[:, :9])
    assert not torch.equal(before[:, 9], after[:, 9])


def test_keys_and_values_are_the_queries_if_none_are_given():
    layer, x = SparseAttention(WIDTH, HEADS, PATTERN, batch_first=True).double(), hidden(True)
    assert torch.equal(layer(x)[0], layer(x, x, x)[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dropout": 0.1}, r"dropout must be 0: sparse attention drops no weights; got 0\.1"),
        ({"add_bias_kv": True}, "add_bias_kv must be left out"),
        ({"kdim": 7}, "kdim must be left out"),
        ({"heads": 7}, "options must be .*; got 'heads'"),
        ({"num_heads": 5}, "num_heads must divide embed_dim; got 5 and 12"),
        ({"num_heads": 0}, "num_heads must be at least 1; got 0"),
        ({"pattern": "window"}, "pattern must be a family"),
    ],
)
def test_what_it_cannot_be(options, message):
    with pytest.raises(AttentionError, match=message):
        SparseAttention(**{"embed_dim": WIDTH, "num_heads": HEADS, "pattern": PATTERN, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"need_weights": True}, "need_weights must be False"),
        ({"attn_mask": torch.zeros(TOKENS, TOKENS)}, "attn_mask must be None"),
        ({"is_causal": True}, r"is_causal must be False.*Causal\(pattern\)"),
        ({"key": torch.zeros(BATCH, 4, WIDTH)}, r"must have one shape.*key is \(5, 4, 12\)"),
        ({"query": torch.zeros(BATCH, 4, WIDTH + 1)}, "query must have 2 or 3 axes, the last of 12"),
        ({"key_padding_mask": torch.zeros(BATCH, TOKENS)}, "must be Boolean, True = padding; got torch.float32"),
        ({"key_padding_mask": torch.zeros(BATCH, 4).bool()}, r"must have the shape \(batch, tokens\) = \(5, 17\)"),
    ],
)
def test_what_a_call_may_not_ask(options, message):
    layer = SparseAttention(WIDTH, HEADS, PATTERN, batch_first=True)
    with pytest.raises(AttentionError, match=message):
        layer(**{"query": torch.zeros(BATCH, TOKENS, WIDTH), **options})
