"""Labels of tables agree with their weights; their codes are the cells of the certificate's grid."""

from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer.errors import LabelError
from anyformer.labels import labels_of
from anyformer.labels.tables.labels import MOST_LISTED
from anyformer.networks.roles import Role
from tests.labels.agreement import faults_of_heads, faults_of_units, missing

MODELS = [
    {"target": "mean-scale", "tolerance": 0.3, "tokens": 2, "method": "averaging"},
    {"target": "centre", "tolerance": 0.6, "tokens": 2, "width": 2, "method": "averaging"},
    {"target": "softmax", "tolerance": 0.3, "tokens": 2, "method": "selective-shift"},
    {"target": "bump", "tolerance": 0.3, "tokens": 2, "method": "averaging"},
    {"target": "sort", "tolerance": 0.3, "tokens": 3, "method": "sparse-averaging", "pattern": "star"},
    {"target": "sort", "tolerance": 0.3, "tokens": 3, "method": "sparse-selective-shift", "pattern": "sliding-window"},
]


@pytest.fixture(scope="module", params=MODELS, ids=lambda kw: f"{kw['target']}-{kw['method']}")
def model(request):
    return af.construct(**request.param)


def centres_of(model, count=30):
    grid, rng = model.certificate.grid, np.random.default_rng(2)
    axes = [(low + high) / 2 for low, high in zip(grid.lows, grid.highs, strict=True)]
    return np.stack([rng.choice(axis, size=(count, model.network.tokens)) for axis in axes], axis=-1)


def stage_of(model, role):
    return next(k for k, stage in enumerate(model.network.stages) if stage.role is role)


def test_every_place_has_a_label_that_agrees_with_its_weights(model):
    labels = labels_of(model)
    assert not missing(labels, model.network)
    assert not faults_of_units(labels, model.network)
    assert not faults_of_heads(labels, model.network)


def test_levels_of_the_quantiser_are_cells(model):
    labels, k = labels_of(model), stage_of(model, Role.QUANTISE)
    unit = labels[k, 0, "unit", 0]
    assert unit.text.startswith("quantise: level ")
    cells = model.certificate.grid.cells_per_axis
    if model.network.positional_encoding is None:
        said = {labels[k, layer, "unit", 0].text.split(":")[1] for layer in range(len(model.network.stages[k]))}
        assert said == {f" level {level} of coordinate {i}" for i, n in enumerate(cells) for level in range(n)}


def test_codes_are_the_columns_of_the_grid(model):
    x = centres_of(model)
    values = labels_of(model).values(x)
    roles = [stage.role for stage in model.network.stages]
    is_gathered = model.network.width > 1 and Role.CODE in roles
    k = roles.index(Role.CODE) if is_gathered else stage_of(model, Role.QUANTISE)
    codes = values.codes(k)
    if model.network.positional_encoding is None:
        assert np.array_equal(codes.network, values.columns)
    else:
        # A token's place adds the same to all codes of that token.
        assert (np.ptp(codes.network - values.columns, axis=0) == 0).all()
    assert np.array_equal(codes.exact, codes.network)


def test_context_ids_tell_all_contexts_apart(model):
    x = centres_of(model, count=200)
    values = labels_of(model).values(x)
    ids = values.codes(max(k for k, stage in enumerate(model.network.stages) if stage.role is Role.CONTEXT_ID)).network
    assert np.array_equal(ids, np.rint(ids))
    contexts = {}
    for row, columns in zip(ids, values.columns, strict=True):
        for token, one in enumerate(row):
            others = columns if model.network.positional_encoding is not None else np.sort(columns)
            place = token if model.network.positional_encoding is not None else columns[token]
            contexts.setdefault(one, set()).add((int(place), tuple(others.tolist())))
    # Equal tokens may share an id where the proof sends them away; others never.
    told = [one for one in contexts.values() if len(one) > 1]
    assert model.certificate.construction["method"] == "selective-shift" or not told


def test_whole_cells_have_the_values_of_their_centres(model):
    grid, rng = model.certificate.grid, np.random.default_rng(3)
    centre = centres_of(model, count=8)
    lows, highs = (np.array([float(ends[0]) for ends in side]) for side in (grid.lows, grid.highs))
    x = centre + (rng.random(centre.shape) - 0.5) * 0.9 * (highs - lows)
    values = labels_of(model).values(x)
    assert (values.cells >= 0).all()
    for k in range(stage_of(model, Role.QUANTISE), len(model.network.stages)):
        assert values.of((k, 0, "stage", 0)).largest_difference == 0
    assert np.array_equal(values.output.network, model(x))


def test_inputs_between_cells_have_no_exact_value():
    model = af.construct(**MODELS[0])
    wall = float(model.certificate.grid.highs[0][0] + model.certificate.grid.lows[0][1]) / 2
    values = labels_of(model).values([[wall], [0.2]])
    assert values.cells[0, 0, 0] == values.columns[0, 0] == -1
    assert np.isnan(values.of((0, 0, "stage", 0)).exact).all()
    assert values.of((0, 0, "stage", 0)).largest_difference == 0


def test_the_value_map_says_what_ids_become():
    model = af.construct(**MODELS[0])
    labels, network = labels_of(model), model.network
    lines = [labels[3, layer, "unit", 0].text for layer in range(len(network.stages[3]))]
    said = {}
    for part in "; ".join(line.removeprefix("value map: ") for line in lines).split("; "):
        ids, value = part.split(" → ")
        said[int(ids.removeprefix("ids from ").removeprefix("id ").split(" ")[0])] = float(value)
    x = centres_of(model)
    values = labels.values(x)
    ids, outputs = values.codes(1).network, values.of((3, 0, "stage", 0)).network[..., 0]
    for one, output in zip(ids.ravel(), outputs.ravel(), strict=True):
        threshold = max(start for start in said if start <= one)
        assert said[threshold] == pytest.approx(output, rel=1e-5)


def test_a_damaged_quantiser_shows(model):
    network, k = model.network, stage_of(model, Role.QUANTISE)
    stage = network.stages[k]
    b_1 = stage.b_1.copy()
    b_1[:, 0] += 0.01  # every level begins too low
    stages = (*network.stages[:k], replace(stage, b_1=b_1), *network.stages[k + 1 :])
    wrong = replace(model, network=replace(network, stages=stages))
    grid = model.certificate.grid
    x = np.broadcast_to(
        [low[0] + 0.9 * (high[0] - low[0]) for low, high in zip(grid.lows, grid.highs, strict=True)],
        (1, network.tokens, network.width),
    )
    good, bad = (labels_of(one).values(x).of((k, 0, "stage", 0)).network for one in (model, wrong))
    assert not np.array_equal(good, bad)


@pytest.mark.slow
def test_long_stages_have_short_files_and_single_labels():
    model = af.construct("softmax", 0.4, tokens=3, method="selective-shift")
    labels = labels_of(model)
    k = stage_of(model, Role.VALUE)
    layers = len(model.network.stages[k])
    assert layers > MOST_LISTED > len(labels)
    (listed,) = [label for label in labels.of_kind("unit") if label.stage == k]
    assert listed.count == layers * 4
    single = labels[k, layers - 1, "unit", 1]
    assert single.count == 1
    assert single.kink == -float(model.network.stages[k].b_1[layers - 1, 1])
    assert single.text.startswith("value map: id ")


def test_a_certificate_of_another_network_is_refused():
    table, wide = af.construct(**MODELS[0]), af.construct(**MODELS[1])
    compiled = af.construct("mean-scale", 0.3, tokens=2, p=np.inf, method="compile")
    for network in (wide.network, compiled.network):
        with pytest.raises(LabelError, match="must have no embedding"):
            labels_of(replace(table, network=network))


def test_stages_whose_role_is_a_lie_are_not_described_as_what_they_are_not():
    """Files may say any role: words are then those of the role alone, and never an error."""
    model = af.construct(**MODELS[1])
    for role in Role:
        stages = tuple(replace(stage, role=role) for stage in model.network.stages)
        labels = labels_of(replace(model, network=replace(model.network, stages=stages)))
        assert not faults_of_units(labels, model.network)
