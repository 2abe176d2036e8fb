"""Networks built here are exact contextual mappings at the stage that makes their ids, and not before."""

from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer.contextuality import Contextuality, measure_contextual_mapping
from anyformer.labels.tables.codes import code_of
from anyformer.networks.roles import Role

YES, NO = Contextuality.CONTEXTUAL, Contextuality.NOT_CONTEXTUAL


def tables():
    return {
        "averaging": af.construct("mean-scale", 0.1, tokens=3, method="averaging"),
        "width 2": af.construct("centroid-distance", 0.2, tokens=2, width=2, method="averaging"),
        "selective shifts": af.construct("mean-scale", 0.3, tokens=2, method="selective-shift"),
        "sparse averaging": af.construct("sort", 0.5, tokens=3, method="sparse-averaging", pattern="sliding-window"),
        "sparse shifts": af.construct(
            "running-maximum", 0.6, tokens=2, method="sparse-selective-shift", pattern="sliding-window"
        ),
    }


@pytest.fixture(scope="module")
def built():
    return tables()


@pytest.mark.parametrize("name", ["averaging", "width 2", "selective shifts", "sparse averaging", "sparse shifts"])
def test_tables_are_contextual_at_the_right_stage(built, name):
    model = built[name]
    found = measure_contextual_mapping(model)
    assert found.ids is not None
    assert found.ids.agree
    assert found.ids.found.is_contextual
    assert found.ids.closest >= 1
    roles = [None, *(stage.role for stage in model.network.stages)]
    verdicts = dict(zip(roles, [layer.verdict for layer in found.layers], strict=True))
    last_quantised = max(k for k, role in enumerate(roles) if role in (Role.QUANTISE, Role.CODE))
    for layer in found.layers[: last_quantised + 1]:
        assert layer.verdict is NO, layer.name
        assert layer.same_token.distance == 0
    assert verdicts[Role.CONTEXT_ID] is YES
    assert verdicts[Role.LIFT] is YES
    assert all(layer.margin == 0 for layer in found.layers)


def test_the_smallest_distance_of_ids_is_that_of_the_vectors(built):
    """Width 1: the vector is the id, in units of a cell."""
    model = built["averaging"]
    found = measure_contextual_mapping(model)
    at = next(k for k, stage in enumerate(model.network.stages, 1) if stage.role is Role.CONTEXT_ID)
    layer = found.layers[at]
    closest = min(one.distance for one in (layer.within, layer.any_tokens))
    assert closest == found.ids.closest * code_of(model.network).unit


def test_a_table_whose_ids_collide_is_found_out(built):
    """The average is taken away: tokens keep their codes, and contexts are not told apart."""
    model = built["averaging"]
    stages = tuple(
        replace(stage, W_O=np.zeros_like(stage.W_O)) if stage.role is Role.CONTEXT_ID else stage
        for stage in model.network.stages
    )
    broken = replace(model, network=replace(model.network, stages=stages))
    found = measure_contextual_mapping(broken)
    assert found.contextual_layers == ()


@pytest.mark.slow
def test_compiled_models_carry_context_from_their_attention_on():
    model = af.construct("softmax", 1e-2, tokens=5, p=np.inf, method="compile")
    found = measure_contextual_mapping(model)
    assert found.ids is None
    carries = [layer.apart == 1.0 for layer in found.layers]
    has_attended = np.cumsum([False, *(hasattr(stage, "W_Q") for stage in model.network.stages)]) > 0
    assert carries == has_attended.tolist()
    reached = found.sensitivity[0].reached
    assert [one > 0 for one in reached] == has_attended.tolist()


def test_a_network_takes_given_sequences_but_no_token_numbers(built):
    network = built["averaging"].network
    rng = np.random.default_rng(0)
    found = measure_contextual_mapping(network, rng.random((6, 3, 1)))
    assert found.sequences == 6
    assert found.ids is None
    with pytest.raises(af.AnyformerError, match="takes vectors"):
        measure_contextual_mapping(network, [[1, 2, 3], [4, 5, 6]])
    with pytest.raises(af.AnyformerError, match="sequences must be given"):
        measure_contextual_mapping(network)
