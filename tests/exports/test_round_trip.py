import json
import os
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

import anyformer as af
from anyformer.exports import load_folder, save_folder
from anyformer.networks import AttentionStage, BlockShape, FeedForwardStage, Network, ReLU, Softmax
from anyformer.networks.digest import digest
from anyformer.networks.layers import weights

FILES = {"config.json", "model.safetensors", "certificate.json"}


def assert_same_bits(one, other):
    assert one.dtype == other.dtype == np.float64
    assert one.shape == other.shape
    assert one.tobytes() == other.tobytes()


def assert_same_network(one, other):
    assert (one.tokens, one.width, one.shape) == (other.tokens, other.width, other.shape)
    assert [(s.name, s.kind, len(s)) for s in one.stages] == [(s.name, s.kind, len(s)) for s in other.stages]
    for here, there in zip(one.stages, other.stages, strict=True):
        for name, array in weights(here).items():
            assert_same_bits(array, weights(there)[name])
    assert (one.positional_encoding is None) == (other.positional_encoding is None)
    if one.positional_encoding is not None:
        assert_same_bits(one.positional_encoding, other.positional_encoding)
    assert one.has_embedding == other.has_embedding
    if one.has_embedding:
        for name in ("W_E", "W_R", "b_R"):
            assert_same_bits(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("which", range(6))
def test_a_built_model_comes_back_bit_for_bit(models, originals, which):
    network, certificate = load_folder(originals[which])
    assert_same_network(network, models[which].network)
    assert digest(network) == models[which].certificate.weights_digest
    assert certificate.to_json() == models[which].certificate.to_json()
    stated = models[which].certificate
    assert {type(value) for value in (stated.certified_error, *stated.terms.values())} == {float}
    assert {path.name for path in originals[which].iterdir()} == FILES


@pytest.mark.parametrize("which", [0, 3])
def test_loaded_networks_are_soft(originals, which):
    network, _ = load_folder(originals[which])
    assert {stage.probability_map for stage in network.stages if isinstance(stage, AttentionStage)} == {Softmax()}
    assert {stage.activation for stage in network.stages if isinstance(stage, FeedForwardStage)} == {ReLU()}


@pytest.mark.parametrize("which", [1, 4])
def test_the_model_saves_and_loads(models, tmp_path, which):
    model = models[which]
    x = np.random.default_rng(0).random((5, model.network.tokens, 1))
    assert model.save(str(tmp_path / "a" / "b")) == tmp_path / "a" / "b"
    again = af.load(str(tmp_path / "a" / "b"))
    assert_same_bits(again(x), model(x))
    assert again.verify().verdict is af.Verdict.PROVED


# Any float but NaN and infinity: subnormals, the largest, and the sign of zero must survive too.
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
# Lone surrogates, control characters and quotation marks included.
NAMES = st.text(st.characters(), max_size=200) | st.sampled_from(["../../x", "W_Q", "\0", "same", "same", "\ud800"])


@st.composite
def networks(draw):
    """Small networks in which no two axes need have the same size."""
    tokens, width, heads, head_size, hidden = draw(st.permutations([2, 3, 4, 5, 6]))
    tensors = {"width": width, "heads": heads, "head_size": head_size, "hidden_size": hidden}
    stages = []
    for kind in draw(st.lists(st.sampled_from([AttentionStage, FeedForwardStage]), min_size=1, max_size=3)):
        sizes = tensors | {"layers": draw(st.sampled_from([1, 7]))}
        shapes = {name: tuple(sizes[axis] for axis in axes) for name, axes in kind.AXES.items()}
        stages.append(
            kind(
                draw(NAMES),
                **{name: draw(arrays(np.float64, shape, elements=NUMBERS)) for name, shape in shapes.items()},
            )
        )
    encoding = draw(st.none() | arrays(np.float64, (tokens, width), elements=NUMBERS))
    return Network(tokens, width, BlockShape(heads, head_size, hidden), tuple(stages), encoding)


@given(network=networks())
def test_any_network_comes_back_bit_for_bit(certificate_for, tmp_path_factory, network):
    folder = tmp_path_factory.mktemp("random") / "model"
    certificate = certificate_for(network)
    loaded, its_certificate = load_folder(save_folder(folder, network, certificate))
    assert_same_network(loaded, network)
    assert its_certificate.to_json() == certificate.to_json()


def test_memory_order_does_not_matter(certificate_for, tmp_path):
    encoding = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    sizes = {"layers": 5, "hidden_size": 4, "width": 3}
    shapes = {name: [sizes[axis] for axis in axes] for name, axes in FeedForwardStage.AXES.items()}
    numbers = {
        name: np.asfortranarray(np.arange(np.prod(shape) * 1.0).reshape(shape)) for name, shape in shapes.items()
    }
    network = Network(2, 3, BlockShape(hidden_size=4), (FeedForwardStage("one", **numbers),), encoding)
    loaded, _ = load_folder(save_folder(tmp_path / "model", network, certificate_for(network)))
    assert loaded.positional_encoding.tolist() == encoding.tolist()
    assert {name: getattr(loaded.stages[0], name).tolist() for name in numbers} == {
        name: array.tolist() for name, array in numbers.items()
    }


def test_the_config_says_what_it_should(originals):
    text = (originals[1] / "config.json").read_text()
    assert json.loads(text) == {
        "format": "anyformer-model-2",
        "tokens": 2,
        "width": 1,
        "heads": 2,
        "head_size": 1,
        "hidden_size": 4,
        "stages": [
            {"name": stage.name, "role": stage.role.name.lower(), "kind": stage.kind, "layers": len(stage)}
            for stage in load_folder(originals[1])[0].stages
        ],
        "positional_encoding": True,
    }
    assert text.startswith('{\n  "format"')
    assert (originals[1] / "certificate.json").read_text().startswith('{\n  "format"')


def test_others_may_read_what_the_umask_allows(models, tmp_path):
    before = os.umask(0o022)
    try:
        folder = models[1].save(tmp_path / "model")
    finally:
        os.umask(before)
    assert oct(folder.stat().st_mode & 0o777) == "0o755"
    assert {oct(path.stat().st_mode & 0o777) for path in folder.iterdir()} == {"0o644"}


def test_relative_paths_dots_and_links_to_parents(models, tmp_path, monkeypatch):
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path / "real" / "inner")
    assert models[1].save(Path("..") / "model") == Path("..") / "model"
    models[1].save(tmp_path / "link" / "model", overwrite=True)
    assert_same_network(load_folder(tmp_path / "real" / "model")[0], models[1].network)
    (tmp_path / "shortcut").symlink_to(tmp_path / "real" / "model")
    assert_same_network(load_folder(tmp_path / "shortcut")[0], models[1].network)
    models[1].save(Path("."))
    assert_same_network(load_folder(tmp_path / "real" / "inner")[0], models[1].network)
