"""FlexAttention: only on CUDA and for patterns that are sparse by blocks. What it is told is tested on a CPU."""

import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

from anyformer.attention import explain, flex
from anyformer.attention.reference import dense_masked_attention
from anyformer.errors import PatternError
from anyformer.patterns import Blocked, Longformer, Multihead, Random, Ring, SlidingWindow
from tests.attention.comparing import WITHIN, Sizes, padding, random_inputs

# With blocks that are seen as a whole, and with lists of their own for the heads.
FAMILIES = (Blocked(SlidingWindow(1), block=128), Multihead((Ring(), SlidingWindow(9))))


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_flex_is_told_the_pattern(family, masked):
    sizes = Sizes(batch=2, heads=4, tokens=1000, head_size=16)
    inputs, pattern = random_inputs(sizes)[:3], family.at(1000)
    mask = padding(sizes) if masked else None
    keep = None if mask is None else mask.to(torch.uint8)
    # Uncompiled it computes all pairs: the meaning is the same.
    out = flex.call(flex_attention, *inputs, keep, pattern.layers[0], 0.25)
    wanted = dense_masked_attention(*(x.double() for x in inputs), pattern, mask, 0.25)
    assert (out - wanted).abs().max() <= WITHIN


def test_scattered_patterns_are_refused():
    with pytest.raises(PatternError, match=r"touches 100\.0% of them"):
        explain(Random(keys=16), 16384, device="cuda", backend="flex")


def test_blocks_are_counted():
    told = explain(Longformer(64, 4), 4096, device="cuda", backend="flex")
    assert told.backend == "flex"
    assert told.connections < told.executed < 0.2 * 4096**2
    assert told.executed % 128**2 == 0
