"""Labels of compiled and interpolated networks agree with the weights and with the exact values of the program."""

from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer.errors import CertificateError, LabelError, NotShown
from anyformer.labels import EMBEDDING, labels_of
from anyformer.targets.catalogue import CATALOGUE
from anyformer.zoo import functions
from tests.labels.agreement import (
    ROUNDING,
    faults_of_arguments,
    faults_of_heads,
    faults_of_units,
    missing,
)


def model_of(name, tokens=4, width=1, tolerance=0.02):
    return af.construct(name, tolerance, tokens=tokens, width=width, p=np.inf, method="compile")


def inputs_of(model, count=40):
    domain, network = model.certificate.target.domain, model.network
    low, high = domain.lows(network.width), domain.highs(network.width)
    unit = np.random.default_rng(5).random((count, network.tokens, network.width))
    unit[0], unit[1] = 0.0, 1.0
    return low + unit * (high - low)


def check(model):
    """Everything that can be checked of a compiled model."""
    labels, network = labels_of(model), model.network
    values = labels.values(inputs_of(model))
    assert not missing(labels, network)
    assert not faults_of_units(labels, network)
    assert not faults_of_heads(labels, network)
    assert not faults_of_arguments(labels, values)
    for label in labels:
        if label.kind in ("channel", "head") and label.proved is not None:
            pair = values.of(label.first)
            # The exact values are computed in float64 as well.
            assert pair.largest_difference <= label.proved + ROUNDING * (1 + np.abs(pair.exact).max()), label
    assert values.output.largest_difference <= model.certificate.certified_error
    return labels, values


@pytest.mark.parametrize("name", ["mean-scale", "centroid-distance", "running-maximum", "cumulative-mean"])
def test_labels_agree_with_weights_and_values(name):
    check(model_of(name, tokens=3, width=2))


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("name", [name for name in CATALOGUE if name != "bump"])
def test_labels_of_all_ready_made_targets_agree(name, width):
    check(model_of(name, tokens=5 - width, width=width, tolerance=1e-3))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["gated-mean-8", "layer-norm-8", "induction-9x3", "softmax-6-narrow", "mean-scale-128"]
)
def test_labels_of_deep_cut_and_own_programs_agree(name, tmp_path, monkeypatch):
    monkeypatch.setenv("ANYFORMER_CACHE", str(tmp_path))
    for dtype in ("float64", "float32"):
        check(af.zoo.load(name, dtype))


def test_interpolated_networks_have_labels():
    model = af.construct("softmax", 0.3, tokens=2, p=np.inf, method="interpolation")
    labels = labels_of(model)
    values = labels.values(inputs_of(model))
    assert not missing(labels, model.network)
    assert not faults_of_units(labels, model.network)
    for label in labels.of_kind("channel"):
        if label.proved is not None:
            assert values.of(label.first).largest_difference <= label.proved + ROUNDING
    # The nodes are those of the interpolant, whose distance from the target is another matter.
    assert values.output.largest_difference <= model.certificate.certified_error


def test_the_mean_head_and_the_square_units_are_found_by_name():
    target = af.target(functions.mean_of_squares, tokens=5)
    labels = labels_of(af.construct(target, 1e-2, p=np.inf))
    (head,) = labels.of_kind("head", "mean")
    squares, products = labels.of_kind("unit", "square"), labels.of_kind("unit", "product")
    assert squares
    assert products
    assert head.first.stage > squares[0].stage
    assert {label.argument for label in squares} == {"x0"}
    (square,) = labels.of_kind("channel", "square")
    assert square.nodes == squares[0].nodes
    assert {label.first for label in squares} < {label.first for label in labels.of_node(square.nodes[0])}


def test_exact_values_are_those_of_the_function():
    target = af.target(functions.mean_of_squares, tokens=5)
    labels = labels_of(af.construct(target, 1e-2, p=np.inf))
    x = np.random.default_rng(0).random((7, 5, 1))
    values = labels.values(x)
    (square,), (mean,) = labels.of_kind("channel", "square"), labels.of_kind("channel", "mean")
    assert np.allclose(values.of(square.first).exact, x[..., 0] ** 2, rtol=1e-15)
    assert np.allclose(values.of(mean.first).exact, (x[..., 0] ** 2).mean(axis=1, keepdims=True), rtol=1e-15)
    assert np.array_equal(values.of((EMBEDDING, 0, "channel", 0)).exact, x[..., 0])
    (head,) = labels.of_kind("head", "mean")
    assert np.allclose(values.attention(head.first).exact, 1 / 5)
    unit = labels.of_kind("unit", "square")[0]
    before, after = values.before(unit.first), values.of(unit.first)
    assert np.allclose(before.exact, unit.slope * (x[..., 0] - unit.kink))
    assert np.array_equal(after.network, np.maximum(before.network, 0))
    assert np.array_equal(values.output.exact, functions.mean_of_squares(x))


def test_the_network_side_is_what_the_network_computes():
    model = model_of("running-maximum", tokens=3, width=2)
    x = inputs_of(model)
    assert np.array_equal(labels_of(model).values(x).output.network, model(x))


def damaged(model, stage, name, index, factor):
    stages = list(model.network.stages)
    array = getattr(stages[stage], name).copy()
    array[index] *= factor
    stages[stage] = replace(stages[stage], **{name: array})
    return replace(model, network=replace(model.network, stages=tuple(stages)))


def test_a_network_that_does_not_compute_its_program_has_no_labels():
    model = model_of("mean-scale", tokens=3)
    with pytest.raises(NotShown, match="value as it is"):
        labels_of(damaged(model, 0, "W_O", (0, 0, 1, 0), 1.5))
    hints = tuple(replace(hint, channel=(hint.channel + 1) % 3) for hint in model.certificate.hints)
    with pytest.raises(NotShown):
        labels_of(replace(model, certificate=replace(model.certificate, hints=hints)))


def test_a_small_fault_shows_in_the_labels():
    model = model_of("mean-scale", tokens=3)
    labels, moved = labels_of(model), labels_of(damaged(model, 1, "b_1", (0, 2), 1.01))
    at = (1, 0, "unit", 2)
    assert moved[at].kink == pytest.approx(1.01 * labels[at].kink)
    assert moved.weights_digest != labels.weights_digest
    (product,) = moved.of_kind("channel", "product")
    assert product.proved > labels[product.first].proved


@pytest.mark.parametrize(
    ("field", "value"), [("kink", 0.123), ("reads", ((0, 2.0),)), ("writes", ()), ("step", "idle")]
)
def test_the_checks_of_units_can_fail(field, value):
    model = model_of("softmax", tokens=3)
    labels = labels_of(model)
    assert not faults_of_units(labels, model.network)
    wrong = next(label for label in labels.of_kind("unit") if label.argument == "x0")
    entries = tuple(replace(label, **{field: value}) if label is wrong else label for label in labels)
    assert faults_of_units(replace(labels, entries=entries), model.network)


def test_the_checks_of_heads_and_arguments_can_fail():
    model = model_of("mean-scale", tokens=3)
    labels = labels_of(model)
    values = labels.values(inputs_of(model))
    (head,) = labels.of_kind("head")
    entries = tuple(replace(label, step="attention") if label is head else label for label in labels)
    assert faults_of_heads(replace(labels, entries=entries), model.network)
    unit = next(label for label in labels.of_kind("unit") if label.argument == "x0 + v1")
    entries = tuple(replace(label, argument="x0 − v1") if label is unit else label for label in labels)
    assert faults_of_arguments(replace(labels, entries=entries), values) == [str(unit.first)]
    entries = tuple(label for label in labels if label is not unit)
    with pytest.raises(LabelError, match="must be a place of the network"):
        missing(replace(labels, entries=entries), model.network)


def test_ones_own_function_must_be_named_again(tmp_path):
    target = af.target(functions.distance_to_mean, tokens=3)
    model = af.load(af.construct(target, 1e-3, p=np.inf).save(tmp_path / "own"))
    with pytest.raises(CertificateError, match="name it again"):
        labels_of(model)
    assert labels_of(model, target).target == "distance_to_mean"


@pytest.mark.parametrize(
    "place", [(9, 0, "stage", 0), (0, 3, "head", 0), (0, 0, "unit", 0), (0, 0, "neuron", 0), (-1, 0, "head", 0)]
)
def test_places_that_are_not_there(place):
    model = model_of("mean-scale", tokens=3)
    labels = labels_of(model)
    with pytest.raises(LabelError, match="must be a place of the network"):
        labels[place]
    with pytest.raises(LabelError, match="must be a place of the network"):
        labels.values(inputs_of(model)).of(place)


def test_only_units_have_a_value_before_their_activation():
    model = model_of("mean-scale", tokens=3)
    values = labels_of(model).values(np.zeros((3, 1)))
    with pytest.raises(LabelError, match="must be a hidden unit"):
        values.before((0, 0, "head", 0))
    with pytest.raises(LabelError, match="must be a head"):
        values.attention((1, 0, "unit", 0))
