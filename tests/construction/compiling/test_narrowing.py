"""Compiled networks cut into narrow layers compute the same, and are proved as well as before."""

import math
from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates.programs.error_bound import derive_program_bound
from anyformer.certificates.programs.layers import joined_layers
from anyformer.errors import NotShown, PlanError
from anyformer.networks import AttentionStage
from anyformer.networks.layers import weights
from anyformer.patterns import Strided
from anyformer.runtime import run
from anyformer.targets import Symmetry


def standardised(x):
    y = x - x.mean(axis=1, keepdims=True)
    return y / np.sqrt((y * y).mean(axis=1, keepdims=True) + 0.1)


def attending(x):
    scores = 2 * x @ np.swapaxes(x, 1, 2)
    weights = np.exp(scores)
    return weights / weights.sum(axis=-1, keepdims=True) @ x


def power_sums(x):
    return x - 0.5 * (x**2).mean(axis=1, keepdims=True) + 0.25 * (x**3).mean(axis=1, keepdims=True)


def causal_means(x):
    return np.cumsum(x, axis=1) / np.arange(1.0, x.shape[1] + 1)[:, None]


def norms(x):
    return np.sqrt(x[..., :1] ** 2 + x[..., 1:] ** 2) * x


def shared_maximum(x):
    """Both arguments of the maximum have the product; what its unit reads has not."""
    mean = x.mean(axis=1, keepdims=True)
    product = x * mean
    return np.maximum(x + product, mean + product)


def target_of(function, tokens=3, width=1):
    return af.target(function, tokens=tokens, width=width, symmetry=Symmetry.NONE)


CASES = {
    "mean-scale": (af.targets.mean_scale(tokens=3), 1e-3),
    "mean-scale of width 2": (af.targets.mean_scale(tokens=2, width=2), 1e-2),
    "softmax": (af.targets.softmax(tokens=3), 1e-2),
    "sort": (af.targets.sort(tokens=4), 1e-2),
    "centre": (af.targets.centre(tokens=3, width=2), 1e-2),
    "standardised": (target_of(standardised), 1e-2),
    "attention": (target_of(attending, width=3), 1e-2),
    "power sums": (target_of(power_sums), 1e-3),
    "causal means": (target_of(causal_means, tokens=4, width=3), 1e-6),
    "norms": (target_of(norms, width=2), 1e-2),
    "shared maximum": (target_of(shared_maximum), 1e-3),
    "exponential": (target_of(lambda x: np.exp(x) + x.max(axis=1, keepdims=True)), 1e-3),
    "clipped": (target_of(lambda x: np.clip(x, 0.2, 0.7) * np.abs(x - 0.4)), 1e-3),
}


def built(name, **limits):
    target, tolerance = CASES[name]
    return af.construct(target, tolerance, p=math.inf, method="compile", **limits)


def inputs(model, count=200):
    return np.random.default_rng(0).random((count, model.network.tokens, model.network.width))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("heads", "hidden_size"), [(2, 4), (1, 1), (3, 7)])
def test_cut_networks_compute_the_same_and_are_proved(name, heads, hidden_size):
    wide, cut = built(name), built(name, heads=heads, hidden_size=hidden_size)
    for stage in cut.network.stages:
        assert stage.sizes.get("heads", 1) <= heads
        assert stage.sizes.get("hidden_size", 1) <= hidden_size
    assert cut.network.hidden_unit_count >= wide.network.hidden_unit_count
    assert cut.network.stream_width == wide.network.stream_width
    x = inputs(cut)
    # Both are within their bounds of the function, and what they add differs by roundings alone.
    assert np.abs(cut(x) - wide(x)).max() <= 1e-9 * CASES[name][1]
    assert cut.certificate.certified_error <= wide.certificate.certified_error + 1e-9 * CASES[name][1]
    assert np.abs(cut(x) - cut.target(x)).max() <= cut.certificate.certified_error


@pytest.mark.parametrize("name", CASES)
def test_heads_are_no_larger_than_their_scores(name):
    """One product or none takes heads of size 1, whatever the number of values."""
    cut = built(name, heads=2).network
    needed = {"attention": 3, "causal means": 4, "sort": 2}.get(name, 1)
    assert cut.shape.head_size <= needed
    assert len(joined_layers(cut)) == len(cut.stages)


def test_one_limit_alone_leaves_the_other_kind_of_layer_as_it_is():
    wide, few_units, few_heads = built("softmax"), built("softmax", hidden_size=5), built("softmax", heads=1)
    for stage, unit_stage, head_stage in zip(
        *(one.network.stages for one in (wide, few_units, few_heads)), strict=True
    ):
        same = unit_stage if isinstance(stage, AttentionStage) else head_stage
        assert all(np.array_equal(array, weights(same)[name]) for name, array in weights(stage).items())


@pytest.mark.parametrize(
    ("target", "tolerance", "blocks"),
    [
        (af.targets.mean_scale(tokens=3), 0.05, 2),
        (af.targets.sort(tokens=3), 0.05, 5),
        (af.targets.softmax(tokens=3), 0.02, 11),
        (af.targets.mean_scale(tokens=2, width=2), 0.05, 4),
        (af.targets.softmax(tokens=4), 0.05, 8),
    ],
)
def test_few_blocks_of_the_papers_shape(target, tolerance, blocks):
    model = af.construct(target, tolerance, method="compile", heads=2, hidden_size=4)
    shape = model.network.shape
    assert (shape.heads <= 2, shape.head_size, shape.hidden_size <= 4) == (True, 1, True)
    assert len(list(model.network.blocks())) <= blocks


def test_cut_models_are_saved_loaded_and_verified(tmp_path):
    model = built("attention", heads=1, hidden_size=3)
    loaded = af.load(model.save(tmp_path / "cut"))
    x = inputs(model)
    assert np.array_equal(loaded(x), model(x))
    verification = loaded.verify(model.target)
    assert verification.verdict is af.Verdict.PROVED
    planned = af.plan(model.target, 1e-2, p=math.inf, method="compile", heads=1, hidden_size=3)
    assert (planned.layers, planned.parameters) == (model.network.layer_count, model.network.parameter_count)
    assert planned.shape == model.network.shape


def damaged(network, rng):
    """One number of one stage is another, or two layers of a stage have changed places."""
    k = int(rng.integers(len(network.stages)))
    stage = network.stages[k]
    name, array = list(weights(stage).items())[int(rng.integers(len(weights(stage))))]
    changed = array.copy()
    at = tuple(int(rng.integers(size)) for size in array.shape)
    changed[at] += rng.choice([-1, 1]) * 10.0 ** rng.integers(-5, 1) * max(abs(changed[at]), 1.0)
    return replace(network, stages=(*network.stages[:k], replace(stage, **{name: changed}), *network.stages[k + 1 :]))


@pytest.mark.parametrize("name", ["mean-scale", "softmax", "attention", "shared maximum", "norms"])
def test_damaged_cut_networks_are_never_called_better_than_they_are(name):
    model, rng = built(name, heads=2, hidden_size=4), np.random.default_rng(1)
    x, seen = inputs(model), 0
    y = model.target(x)
    for _ in range(120):
        network = damaged(model.network, rng)
        try:
            bound = derive_program_bound(network, model.target, model.certificate.hints, math.inf).upper
        except NotShown:
            continue
        apart = float(np.abs(run(network, x) - y).max())
        assert apart <= bound
        seen += apart > model.certificate.certified_error
    assert seen  # some damage is seen to make the network worse, and the bound said so


def test_layers_join_only_within_a_stage_and_only_if_none_reads_another():
    network = built("softmax", hidden_size=4).network
    k = next(k for k, stage in enumerate(network.stages) if len(stage) > 2)
    stage = network.stages[k]
    channel = int(np.flatnonzero(stage.W_2[0].any(axis=1))[0])
    W_1 = stage.W_1.copy()
    W_1[2, 0, channel] = 1.0
    reading = replace(network, stages=(*network.stages[:k], replace(stage, W_1=W_1), *network.stages[k + 1 :]))
    assert len(joined_layers(reading)) == len(joined_layers(network)) + 1
    b_2 = stage.b_2.copy()
    b_2[:2, channel] = 0.25
    twice = replace(network, stages=(*network.stages[:k], replace(stage, b_2=b_2), *network.stages[k + 1 :]))
    assert len(joined_layers(twice)) == len(joined_layers(network)) + 1


def test_too_many_layers_are_refused():
    target, tolerance = CASES["softmax"]
    fits = built("softmax", hidden_size=1).network.layer_count
    with pytest.raises(PlanError, match=f"{fits} layers where {fits - 1} are allowed") as refusal:
        af.plan(target, tolerance, p=math.inf, method="compile", hidden_size=1, max_layers=fits - 1)
    assert "--hidden-size" in str(refusal.value)
    assert af.plan(target, tolerance, p=math.inf, method="compile", hidden_size=1, max_layers=fits).layers == fits


def test_heads_that_see_different_tokens_are_not_moved():
    target = target_of(causal_means, tokens=4)
    with pytest.raises(PlanError, match="heads must be left out with a pattern whose layers or heads see different"):
        af.plan(target, 1e-3, p=math.inf, method="compile", pattern=Strided(2), heads=1)


def test_interpolants_are_cut_too():
    wide = af.construct(af.targets.sort(tokens=2), 0.1, method="interpolation")
    cut = af.construct(af.targets.sort(tokens=2), 0.1, method="interpolation", heads=1, hidden_size=2)
    assert (cut.network.shape.heads, cut.network.shape.hidden_size) == (1, 2)
    assert cut.network.layer_count > wide.network.layer_count
    assert cut.verify().verdict is af.Verdict.PROVED
    with pytest.raises(PlanError, match="layers where 3 are allowed"):
        af.plan(af.targets.sort(tokens=2), 0.1, method="interpolation", heads=1, hidden_size=2, max_layers=3)
