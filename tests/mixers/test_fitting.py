"""Mixers that are named without sizes fit their network, and sizes that no sequence can use are refused."""

from dataclasses import dataclass

import pytest
import torch

from anyformer.errors import MixerError
from anyformer.mixers import (
    CATALOGUE,
    Attention,
    Bilinear,
    BilinearProjection,
    Convolution,
    DepthwiseConvolution,
    Mixer,
    MixerBertConfig,
    PatternAttention,
    PlainConvolution,
    hybrid,
)
from anyformer.mixers.fitting import NetworkSizes, fitting
from anyformer.patterns import Star
from anyformer.training import SIZES, Architecture, parse_mixers, read_recipe

SMALL = NetworkSizes(width=40, heads=5, longest=96)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", CATALOGUE)
def test_every_mixer_can_be_named_at_every_size(name, size):
    architecture = SIZES[size]
    (mixer,) = parse_mixers([name], architecture)
    with torch.device("meta"):
        built = mixer.build(architecture.width)
    assert getattr(built, "heads", architecture.heads) == architecture.heads
    assert getattr(mixer, "max_length", architecture.longest) == architecture.longest


@pytest.mark.parametrize(
    ("written", "mixer"),
    [
        ("attention", Attention(5)),
        ({"kind": "attention"}, Attention(5)),
        ("attention:heads=4", Attention(4)),
        ("attention:8", Attention(8)),
        ("sparse-attention", PatternAttention(5)),
        ("sparse_attention:pattern=star", PatternAttention(5, Star())),
        ({"kind": "sparse-attention", "heads": 2, "pattern": "star"}, PatternAttention(2, Star())),
        ("bilinear", Bilinear(96)),
        ("bilinear:50", Bilinear(50)),
        ("convolution", Convolution(kernel=128, filters=10)),
        ("plain-convolution:kernel=7", PlainConvolution(kernel=7, filters=10)),
        ("convolution:filters=16", Convolution(filters=16)),
    ],
)
def test_what_is_left_out_fits_and_what_is_named_stays(written, mixer):
    assert fitting(written, SMALL) == mixer


def test_mixers_of_one_s_own_follow_too(monkeypatch):
    @dataclass(frozen=True)
    class Own(Mixer):
        taps: int
        heads: int = 3
        filters: int = 12

        def build(self, width, dropout=0.0):
            raise NotImplementedError

    monkeypatch.setattr(
        "anyformer.mixers.fitting.CATALOGUE", made := type(CATALOGUE)("mixer", {"own": Own}, MixerError)
    )
    monkeypatch.setattr("anyformer.mixers.fitting.from_json", lambda told: made.make(told.pop("kind"), **told))
    assert fitting("own:taps=9", SMALL) == Own(taps=9, heads=5, filters=10)


def test_toml_recipes_and_configs_follow_their_own_heads(tmp_path):
    place = tmp_path / "recipe.toml"
    place.write_text(
        'size = "tiny"\n[architecture]\nwidth = 36\nheads = 3\nlongest = 256\n'
        'mixers = ["attention", {kind = "bilinear"}]\n'
    )
    assert read_recipe(place).architecture.stack == (Attention(3), Bilinear(256))
    config = MixerBertConfig(
        hidden_size=36, num_attention_heads=3, num_hidden_layers=1, mixers=[{"kind": "sparse-attention"}]
    )
    assert config.layer_mixers == (PatternAttention(3),)


def test_hybrids_take_heads():
    assert hybrid(2, 1, heads=2) == (Convolution(), Attention(2))


@pytest.mark.parametrize(("heads", "nearest"), [(12, 8), (3, 2), (500, 128)])
def test_heads_that_do_not_fit_are_refused_with_a_number_that_does(heads, nearest):
    with pytest.raises(MixerError, match=rf"got heads = {heads} and width = 128\. Choose {nearest}, for example"):
        Attention(heads).build(128)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Convolution(kernel=10**9), "kernel must be at most 65536; got 1000000000"),
        (lambda: PlainConvolution(filters=10**12), "filters must be at most 65536"),
        (lambda: Attention(heads=10**9), "heads must be at most 65536"),
        (lambda: PatternAttention(heads=10**9), "heads must be at most 65536"),
        (lambda: Bilinear(max_length=10**6), "max_length must be at most 32768"),
        (lambda: DepthwiseConvolution(6, 10**9, 2), "kernel must be at most"),
        (lambda: BilinearProjection(6, 10**6), "max_length must be at most"),
        (lambda: Architecture(longest=100, mixers=(Convolution(kernel=200),)), "kernel must be at most 199 .* 100 tok"),
        (lambda: Architecture(longest=400, mixers=(Bilinear(401),)), "max_length must be at most 400 where .*got 401"),
        (lambda: MixerBertConfig(mixers=[Convolution(kernel=1024)]), "kernel must be at most 1023 .* 512 tokens"),
        (
            lambda: MixerBertConfig(max_position_embeddings=600, mixers=[{"kind": "bilinear", "max_length": 601}]),
            "max_length must be at most 600",
        ),
    ],
)
def test_absurd_sizes_are_refused_before_anything_is_allocated(monkeypatch, make, message):
    monkeypatch.setattr(torch, "empty", lambda *sizes: pytest.fail(f"{sizes} were allocated"))
    with pytest.raises(MixerError, match=message):
        make()


def test_sizes_up_to_the_longest_sequence_and_the_usual_ones_are_allowed():
    Architecture(longest=100, mixers=(Convolution(kernel=199),))
    Architecture(longest=400, mixers=(Bilinear(400),))
    # The defaults are the paper's; saved models of shorter sequences have them.
    MixerBertConfig(max_position_embeddings=16, mixers=[Convolution(), Bilinear(), PlainConvolution()])


def test_a_tap_beyond_the_longest_sequence_touches_nothing():
    """The bound is exact: of 2·5 + 1 taps the outermost never matter for 5 tokens, and of 2·5 − 1 they do."""
    hidden = torch.randn(1, 5, 6)
    for kernel, matters in ((9, True), (11, False)):
        built = PlainConvolution(kernel, filters=2).build(6)
        before = built(hidden)
        with torch.no_grad():
            built.W_C[:, [0, -1]] += 1.0
        assert torch.equal(built(hidden), before) is not matters


def test_as_many_filters_as_usual_where_they_divide_the_width():
    assert fitting("convolution", NetworkSizes(width=128, heads=2, longest=64)).filters == 16
