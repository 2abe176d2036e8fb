"""Out to FlexAttention and back, on tensors."""

import numpy as np
import pytest

from anyformer.patterns import (
    BigBird,
    Blocked,
    Causal,
    Full,
    Multihead,
    PatternError,
    Random,
    Ring,
    SlidingWindow,
    Strided,
    block_mask,
    from_mask_mod,
    from_matrix,
    mask_mod,
    to_dense,
)
from anyformer.patterns.exchange import flex_attention
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
            ours = block_mask(pattern, layer, heads=4, block_size=16, most_share=1)
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
    out = flex.flex_attention(query, key, value, block_mask=block_mask(pattern, heads=4, block_size=16, most_share=1))
    mask = torch.from_numpy(np.concatenate([to_dense(pattern)[0]] * 2))
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(out, expected)


def test_a_scattered_pattern_is_no_block_mask_without_a_word():
    scattered = Random(keys=16).at(16_384)
    message = (
        r"at most 50% of the blocks of 128 × 128 pairs.* layer 0 touches 100.0% of them, and only 0.10% of the pairs"
    )
    with pytest.raises(PatternError, match=message):
        block_mask(scattered)
    assert block_mask(scattered, most_share=1).kv_num_blocks.sum() == 128**2
    for pattern in (SlidingWindow(128).at(4096), Blocked(Random(keys=4), 128).at(4096)):
        assert block_mask(pattern).kv_num_blocks.sum() + block_mask(pattern).full_kv_num_blocks.sum() < 32 * 8


def test_dense_patterns_are_dense_on_purpose():
    for family in (Full(), Causal(Full())):
        assert block_mask(family.at(300), block_size=16).sparsity() < 50


def test_tiles_of_every_size_hold_the_same_mask(monkeypatch):
    pattern = Multihead((Random(keys=3), Ring())).at(150)
    expected = to_dense(pattern)[0]
    for size in (64, 32, 16, 8):
        monkeypatch.setattr(flex_attention, "_TILES", (size,))
        assert from_mask_mod(mask_mod(pattern), 150, heads=2) == pattern
        mask = flex.create_mask(mask_mod(pattern), 1, 2, 150, 150, device="cpu")
        np.testing.assert_array_equal(mask[0].numpy(), expected)


def test_scattered_connections_take_small_tiles():
    scattered, near = Random(keys=2).at(4096), SlidingWindow(40).at(4096)
    sizes = [flex_attention._tile_size(pattern.layers[0]) for pattern in (scattered, near)]
    assert sizes[0] < sizes[1]
    for pattern, size in zip((scattered, near), sizes, strict=True):
        tiles, bits = flex_attention._tiles(pattern.layers[0], size)
        assert tiles.nbytes + bits.nbytes == flex_attention._bytes_of_tiles(pattern.layers[0], size)
    assert flex_attention._bytes_of_tiles(scattered.layers[0], sizes[0]) * 2 < flex_attention._bytes_of_tiles(
        scattered.layers[0], 64
    )


def test_a_mask_that_takes_too_much_memory_is_refused(monkeypatch):
    with pytest.raises(PatternError, match=r"at most 1,073,741,824 bytes; that of 2,000,000 tokens would take 3,"):
        mask_mod(Random(keys=1).at(2_000_000))


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
