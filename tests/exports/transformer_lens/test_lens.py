"""A bridge of TransformerLens computes what the network computes, and every place is behind the hook that it names."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates.claims.certificate import Certificate
from anyformer.errors import ExportError
from anyformer.labels import labels_of
from anyformer.networks import AttentionStage, BlockShape, FeedForwardStage, Network, evaluate
from anyformer.networks.dtypes import BFLOAT16, FLOAT32
from anyformer.networks.evaluate import apply_stage
from anyformer.networks.network import cast
from anyformer.networks.probability_maps import Sparsemax
from anyformer.parity.rounding import rounding_bound as apart
from tests.random_networks import attention_stage, embedded_network, feed_forward_stage, random_network

pytest.importorskip("transformer_lens")
torch = pytest.importorskip("torch")

from anyformer.exports.transformer_lens import Hook, to_transformer_lens  # noqa: E402
from anyformer.exports.transformer_lens.places import blocks_of  # noqa: E402


@dataclass(frozen=True)
class Shown:
    """A network with any certificate: nothing here reads it."""

    network: Network
    certificate: Certificate


@pytest.fixture(scope="session")
def shown(compiled_models):
    return lambda network: Shown(network, compiled_models[0].certificate)


def large_heads(seed: int) -> Network:
    """Heads of size 3, filled up to 4 in TransformerLens, and stages that do not pair up."""
    rng = np.random.default_rng(seed)
    stages = (
        attention_stage(rng, layers=2, width=6, heads=2, head_size=3),
        feed_forward_stage(rng, layers=2, hidden=5, width=6),
        attention_stage(rng, layers=1, width=6, heads=1, head_size=2),
    )
    return Network(4, 6, BlockShape(2, 3, 5), stages, rng.normal(size=(4, 6)))


def gentle(network: Network) -> Network:
    """With small weights, so that roundings do not grow: then little else can hide among them."""
    small = {"W_Q", "W_K", "W_V", "W_1", "W_2"}
    stages = tuple(
        replace(stage, **{name: getattr(stage, name) / 4 for name in small & set(stage.AXES)})
        for stage in network.stages
    )
    return replace(network, stages=stages)


NETWORKS = [
    *(gentle(random_network(seed, tokens=4, width=3, positions=bool(seed % 2))) for seed in range(4)),
    *(gentle(embedded_network(seed)) for seed in range(4)),
    *(gentle(large_heads(seed)) for seed in range(4)),
]


def inputs(network: Network, count: int = 7) -> np.ndarray:
    return np.random.default_rng(5).uniform(-1, 1, (count, network.tokens, network.width))


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_the_bridge_computes_the_network(network, kind, shown):
    network = network if kind == "float64" else cast(network, FLOAT32)
    lens, x = to_transformer_lens(shown(network)), inputs(network)
    outputs, allowed = lens(x), apart(network, x)
    assert outputs.dtype == getattr(torch, kind)
    assert (np.abs(outputs.numpy() - evaluate(network, x)) <= allowed).all()
    assert allowed.max() < (1e-9 if kind == "float64" else 0.1)  # so that a wrong weight would show


def test_the_scale_of_scores_is_seen(shown):
    """Without the factor √d_head for queries, the outputs are off by more than roundings."""
    network = NETWORKS[-1]
    lens, x = to_transformer_lens(shown(network)), inputs(network)
    with torch.no_grad():
        for block in lens.bridge.blocks:
            block.attn.q.original_component.weight /= 2
    assert (np.abs(lens(x).numpy() - evaluate(network, x)) > apart(network, x)).any()


def test_a_model_keeps_its_proved_error(compiled_models):
    for model in compiled_models:
        claimed, lens = model.certificate.target, to_transformer_lens(model)
        low, high = claimed.target().domain.lows(claimed.width), claimed.target().domain.highs(claimed.width)
        x = np.random.default_rng(2).uniform(low, high, (200, claimed.tokens, claimed.width))
        off = np.abs(lens(x).numpy() - claimed.target()(x)).max()
        assert off <= model.certificate.terms["largest"]


def test_a_table_is_shown_too(averaged_models, shown):
    model = averaged_models[0]
    x = np.random.default_rng(3).uniform(0, 1, (9, 2, 1))
    lens = to_transformer_lens(model)
    assert len(lens.bridge.blocks) == len(blocks_of(model.network))
    assert (np.abs(lens(x).numpy() - evaluate(model.network, x)) <= apart(model.network, x)).all()


@pytest.mark.parametrize("network", NETWORKS[::3])
def test_blocks_hold_the_layers_that_they_name(network):
    blocks, named = list(network.blocks()), blocks_of(network)
    assert len(blocks) == len(named)
    for block, layers in zip(blocks, named, strict=True):
        for half, at in ((block.attention, layers.attention), (block.feed_forward, layers.feed_forward)):
            if at is None:
                assert not any(getattr(half, name).any() for name in half.AXES)
                continue
            layer = network.stages[at.stage][at.layer]
            for name in layer.AXES:
                given = getattr(layer, name)
                assert np.array_equal(getattr(half, name)[tuple(slice(0, size) for size in given.shape)], given)
    every = {(k, index) for k, stage in enumerate(network.stages) for index in range(len(stage))}
    assert every == {tuple(at) for one in named for at in (one.attention, one.feed_forward) if at is not None}


def states_of(network: Network, x: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    """The stream after every layer, (-1, 0) before the first."""
    from anyformer.networks.evaluate import add_positions, embed

    state = add_positions(network, embed(network, x))
    found = {(-1, 0): state}
    for k, stage in enumerate(network.stages):
        for index in range(len(stage)):
            one = replace(stage, **{name: getattr(stage, name)[index : index + 1] for name in stage.AXES})
            state = found[k, index] = apply_stage(one, state)
    return found


@pytest.mark.parametrize("network", [NETWORKS[1], NETWORKS[5], NETWORKS[9]])
def test_every_place_is_behind_its_hook(network, shown):
    lens, x = to_transformer_lens(shown(network)), inputs(network, 3)
    _, cache = lens.run_with_cache(x)
    states, before = states_of(network, x), {}
    previous = (-1, 0)
    for at in states:
        before[at], previous = previous, at
    seen = set()
    for place in lens.places():
        stage, layer, kind, index = place
        value = lens.value(cache, place).numpy()
        state = states[before[stage, layer]]
        if kind == "channel":
            wanted = states[stage, layer][..., index]
        else:
            own = network.stages[stage]
            if index >= own.sizes["heads" if kind == "head" else "hidden_size"]:
                assert not value.any() or kind == "head"  # filled up with zeros
                continue
            wanted = head(own, layer, index, state) if kind == "head" else unit(own, layer, index, state)
        seen.add(kind)
        # States are of the order of 1 to 100, a score a sum of products of them; no rounding reaches 1e-9, and no other
        # head, unit or channel is as near.
        assert np.abs(value - wanted).max() < 1e-9 * (1 + np.abs(wanted).max())
    assert seen == {"head", "unit", "channel"}


def head(stage: AttentionStage, layer: int, index: int, x: np.ndarray) -> np.ndarray:
    one = stage[layer]
    scores = (x @ one.W_Q[index].T + one.b_Q[index]) @ (x @ one.W_K[index].T).swapaxes(1, 2)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def unit(stage: FeedForwardStage, layer: int, index: int, x: np.ndarray) -> np.ndarray:
    one = stage[layer]
    return np.maximum(x @ one.W_1[index] + one.b_1[index], 0.0)


def test_hooks_by_name(shown):
    lens = to_transformer_lens(shown(large_heads(0)))
    assert lens.hook((0, 1, "head", 1)) == Hook("blocks.1.attn.hook_pattern", 1)
    assert lens.hook((1, 0, "unit", 4)) == Hook("blocks.1.mlp.hook_post", 4)
    assert lens.hook((1, 1, "channel", 5)) == Hook("blocks.2.hook_resid_post", 5)
    assert lens.hook((0, 0, "channel", 2)) == Hook("blocks.0.hook_resid_mid", 2)
    assert lens.hook((-1, 0, "channel", 2)) == Hook("blocks.0.hook_resid_pre", 2)
    assert lens.hook((0, 0, "stage", 0)) == Hook("blocks.1.hook_resid_mid", None)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((0, 2, "head", 0), "must be .stage, layer, kind, index. of the network"),
        ((7, 0, "stage", 0), "must be .stage, layer, kind, index. of the network"),
        ((0, 0, "head", 2), "must be .stage, layer, kind, index. of the network"),
        ((0, 0, "neuron", 0), "the kind one of stage, head, channel, unit"),
        ((0, 0, "unit", 0), "must have a unit; it has stage, channel, head"),
        ((-1, 0, "head", 0), "must have a head; it has channel, stage"),
    ],
)
def test_a_place_that_is_not_there(place, message, shown):
    with pytest.raises(ExportError, match=message):
        to_transformer_lens(shown(large_heads(0))).hook(place)


def test_hooks_can_change_what_is_computed(shown):
    network = NETWORKS[4]
    lens, x = to_transformer_lens(shown(network)), inputs(network, 2)
    hook = lens.hook((0, 0, "channel", 1))

    def silence(value, hook):
        value = value.clone()
        value[..., 1] = 0.0
        return value

    changed = lens.run_with_hooks(x, fwd_hooks=[(hook.name, silence)])
    assert np.abs((changed - lens(x)).numpy()).max() > 1e-6


def test_gradients_reach_the_inputs_and_no_weight(shown):
    network = NETWORKS[4]
    lens = to_transformer_lens(shown(network))
    x = torch.tensor(inputs(network, 2), requires_grad=True)
    lens(x).sum().backward()
    assert x.grad.abs().max() > 0
    assert not any(parameter.requires_grad for parameter in lens.bridge.parameters())


@pytest.mark.parametrize("shape", [(2, 4, 5), (5, 3), (2, 5, 4)])
def test_sequences_of_another_shape_are_refused(shape, shown):
    lens = to_transformer_lens(shown(NETWORKS[4]))
    with pytest.raises(ExportError, match=r"sequences must have the shape \(batch, 5, 3\); got"):
        lens(torch.zeros(shape))


def deep(blocks: int) -> Network:
    return Network(2, 3, BlockShape(1, 1, 4), (feed_forward_stage(np.random.default_rng(0), blocks, 4, 3),))


def test_what_does_not_fit_is_refused_with_the_reason(shown):
    sparse = embedded_network(0, pattern=af.patterns.Ring().at(5))
    with pytest.raises(ExportError, match=r"has a sparse pattern.*Build it without a pattern"):
        to_transformer_lens(shown(sparse))
    stage = replace(attention_stage(np.random.default_rng(0), 1, 3), probability_map=Sparsemax())
    with pytest.raises(ExportError, match="must have softmax attention; stage 'random' has Sparsemax"):
        to_transformer_lens(shown(Network(2, 3, BlockShape(2, 1, 4), (stage,))))
    with pytest.raises(ExportError, match="must be of float64 or float32; this one is bfloat16"):
        to_transformer_lens(shown(cast(NETWORKS[0], BFLOAT16)))
    with pytest.raises(ExportError, match="must have stages of softmax and ReLU"):
        to_transformer_lens(shown(Network(2, 3, BlockShape(), ())))
    long = replace(deep(3), tokens=20_000)
    with pytest.raises(ExportError, match="masks of all blocks must fit 1073741824 bytes"):
        to_transformer_lens(shown(long))


def test_depth_is_refused_unless_asked_for(shown):
    with pytest.raises(ExportError, match=r"at most 5 blocks.*has 6\. Build it shallower.*or pass max_blocks=6"):
        to_transformer_lens(shown(deep(6)), max_blocks=5)
    assert len(to_transformer_lens(shown(deep(6)), max_blocks=6).bridge.blocks) == 6
    with pytest.raises(ExportError, match="at most 128 blocks"):
        to_transformer_lens(shown(deep(129)))


def test_every_head_and_unit_is_described_and_every_channel_where_it_is_written(compiled_models, averaged_models):
    for model in (*compiled_models, averaged_models[0]):
        lens, labels = to_transformer_lens(model), labels_of(model)
        described = lens.described()
        for k, stage in enumerate(model.network.stages):
            kind, count = ("head", "heads") if isinstance(stage, AttentionStage) else ("unit", "hidden_size")
            for layer in range(len(stage)):
                for index in range(stage.sizes[count]):
                    hook = lens.hook((k, layer, kind, index))
                    assert described[hook.name][hook.index].text == labels[k, layer, kind, index].text
        channels = {index for name, some in described.items() if "resid" in name for index in some}
        if model.certificate.grid is None:
            assert channels == set(range(model.network.stream_width))


def test_labels_say_what_hooks_show(compiled_models):
    """The true value of every label, beside what its hook has seen: within the proved error of the node."""
    for model in compiled_models:
        lens, labels = to_transformer_lens(model), labels_of(model)
        x = np.random.default_rng(8).uniform(0, 1, (20, model.network.tokens, model.network.width))
        _, cache = lens.run_with_cache(x)
        values = labels.values(x)
        for label in labels.of_kind("head"):
            seen = lens.value(cache, label.first).numpy()
            # What a head computes is rounded otherwise by NumPy than by PyTorch, a weight by less than this.
            assert np.abs(seen - values.attention(label.first).network).max() < 1e-12
        for label in labels.of_kind("unit"):
            seen = lens.value(cache, label.first).numpy()
            assert np.abs(seen - values.of(label.first).network).max() < 1e-12 * (1 + np.abs(seen).max())


def test_without_its_target_a_model_has_no_labels(tmp_path):
    def half(x):
        return np.tanh(x) / 2

    model = af.construct(half, 0.1, tokens=3, p=np.inf, method="compile")
    loaded = af.load(model.save(tmp_path / "model"))
    lens = to_transformer_lens(loaded)
    assert lens.labels is None
    with pytest.raises(ExportError, match=r"must have labels to be described.*Give the target"):
        lens.described()
    assert to_transformer_lens(loaded, model.target).described().keys() == to_transformer_lens(model).described().keys()


def test_labels_of_other_weights_are_not_given(compiled_models):
    model = compiled_models[0]
    assert to_transformer_lens(replace(model, network=cast(model.network, FLOAT32))).labels is None
