"""Out to FlexAttention and back, on tensors."""

import numpy as np
import pytest

from anyformer.patterns import (
    BigBird,
    PatternError,
    Strided,
    block_mask,
    from_mask_mod,
    from_matrix,
    mask_mod,
    to_dense,
)
from tests.patterns.samples import random_pattern

torch = pytest.importorskip("torch")
flex = pytest.importorskip("torch.nn.attention.flex_attention")


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 2, 1), (33, 3, 2), (20, 2, 3)])
def test_masks_agree_with_the_matrix(shape):
    pattern = random_pattern(np.random.default_rng(sum(shape)), *shape, loops=False)
    tokens, period, heads = shape
    dense = to_dense(pattern)
    for layer in range(period + 1):
        mask = flex.create_mask(mask_mod(pattern, layer), 2, 2 * heads, tokens, tokens, device="cpu")
        expected = np.concatenate([dense[layer % period]] * 2)
        np.testing.assert_array_equal(mask.numpy(), np.stack([expected] * 2))


def test_a_pattern_without_connections_masks_everything():
    mask = mask_mod(from_matrix(np.zeros((3, 3), dtype=bool)))
    assert not flex.create_mask(mask, 1, 1, 3, 3, device="cpu").any()


@pytest.mark.parametrize("tokens", [1, 31, 32, 70])
def test_block_masks_agree_with_create_block_mask(tokens):
    for family in (Strided(arrangement="multihead"), BigBird(half_width=9)):
        pattern = family.at(tokens)
        for layer in range(pattern.period):
            ours = block_mask(pattern, layer, heads=4, block_size=16)
            theirs = flex.create_block_mask(
                mask_mod(pattern, layer), None, 4, tokens, tokens, device="cpu", BLOCK_SIZE=16
            )
            assert torch.equal(ours.to_dense().expand(1, 4, -1, -1), theirs.to_dense())
            assert torch.equal(ours.full_kv_num_blocks.expand(1, 4, -1), theirs.full_kv_num_blocks)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_flex_attention_sees_what_the_pattern_allows():
    pattern, generator = Strided(arrangement="multihead").at(29), torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, 4, 29, 8, generator=generator) for _ in range(3))
    out = flex.flex_attention(query, key, value, block_mask=block_mask(pattern, heads=4, block_size=16))
    mask = torch.from_numpy(np.concatenate([to_dense(pattern)[0]] * 2))
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(out, expected)


def test_heads_must_share_the_lists_evenly():
    with pytest.raises(PatternError, match="multiple of the 2 lists of layer 0; got 3"):
        block_mask(Strided(arrangement="multihead").at(9), heads=3)


def test_masks_written_for_tensors_only_are_read():
    pattern = from_mask_mod(lambda b, h, q, k: torch.logical_and(q >= k, q - k <= 2), 6)
    assert pattern.layer(0).degrees.tolist() == [1, 2, 3, 3, 3, 3]
    document = torch.tensor([0, 0, 1, 1])
    assert from_mask_mod(lambda b, h, q, k: document[q] == document[k], 4).layer(0).connections == 8
    assert from_mask_mod(mask_mod(BigBird().at(19)), 19) == BigBird().at(19)


def test_without_torch_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ImportError, match=r'for FlexAttention; .*pip install "anyformer\[bert\]"'):
        mask_mod(BigBird().at(4))
