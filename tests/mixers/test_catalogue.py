"""Mixers as values: JSON, hybrids, and what is refused."""

import pytest

from anyformer.mixers import Attention, Average, Bilinear, Convolution, Mixer, MixerError, from_json, hybrid, to_json
from tests.mixers.samples import MIXERS
from tests.test_house import loaded_after


@pytest.mark.parametrize("mixer", MIXERS.values(), ids=MIXERS)
def test_json_gives_the_mixer_back(mixer):
    assert from_json(to_json(mixer)) == mixer


def test_hybrids_have_convolutions_below():
    assert hybrid(3, 2) == (Convolution(), Convolution(), Attention())
    assert hybrid(2, 0, above=Average()) == (Average(), Average())
    assert hybrid(2, 1, below=Bilinear(9)) == (Bilinear(9), Attention())
    with pytest.raises(MixerError, match="from 0 to layers = 2; got 3"):
        hybrid(2, 3)


@pytest.mark.parametrize(
    ("described", "message"),
    [
        (
            {"kind": "wavelet"},
            "convolution, fourier, plain-convolution, sparse-attention.*; got 'wavelet'. A mixer of your own must be",
        ),
        ({"heads": 2}, "got None"),
        ({"kind": "average", "heads": 2}, "the mixer 'average' must get no parameters; got 'heads'"),
        ({"kind": "attention", "name": "x", "self": 1}, "no parameters but heads; got 'name'"),
        ({"kind": "attention", "heads": 0}, "heads must be a whole number from 1; got 0"),
        ({"kind": "convolution", "kernel": 2.5}, "kernel must be a whole number"),
        ({"kind": "bilinear", "max_length": True}, "max_length must be a whole number"),
    ],
)
def test_wrong_descriptions_are_refused(described, message):
    with pytest.raises(MixerError, match=message):
        from_json(described)


@pytest.mark.parametrize(("mixer", "name"), [(Attention(heads=4), "heads"), (Convolution(3, filters=4), "filters")])
def test_parts_must_divide_the_width(mixer, name):
    with pytest.raises(MixerError, match=f"{name} must divide the width; got {name} = 4 and width = 6"):
        mixer.build(6)


def test_a_mixer_of_one_s_own_has_no_json():
    class Own(Mixer):
        def build(self, width, dropout=0.0):
            raise NotImplementedError

    with pytest.raises(
        MixerError, match=r"must be of a registered class; .*Own.*Call register_mixer\('its-name', Own\)"
    ):
        to_json(Own())


def test_mixers_without_bert_do_not_wait_for_transformers():
    assert "transformers" not in loaded_after("import anyformer.mixers")
