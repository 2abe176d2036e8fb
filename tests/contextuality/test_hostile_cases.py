"""Sequences and models that cannot be compared are refused with what to do; odd ones that can be are measured right."""

import numpy as np
import pytest

from anyformer.contextuality import Contextuality, measure_contextual_mapping
from anyformer.errors import ContextualityError
from anyformer.targets.target import Symmetry

EMBEDDING = np.random.default_rng(0).normal(size=(50, 6))


def bare(ids):
    return EMBEDDING[ids]


def mixing(ids):
    """Every vector knows its sequence: the tokens' places weigh in."""
    x = EMBEDDING[ids] + np.sin(np.arange(ids.shape[1]))[:, None]
    return [EMBEDDING[ids], x + (x * np.arange(1, ids.shape[1] + 1)[:, None]).sum(axis=1, keepdims=True)]


def test_bare_embeddings_are_not_contextual_and_the_witness_says_so():
    found = measure_contextual_mapping(bare, [[1, 2, 3], [4, 5], [6, 2]])
    assert found.layers[0].verdict is Contextuality.NOT_CONTEXTUAL
    assert found.contextual_layers == ()
    witness = found.witnesses[0][0]
    assert (witness.kind, witness.distance, witness.places) == ("same_token", 0.0, ((0, 1), (2, 1)))
    assert [side.token for side in witness.sides] == ["2 ", "2 "]
    assert [text for text, _ in witness.sides[0].before] == ["1 "]


def test_duplicate_sequences_are_one_context_and_no_witness():
    rows = [[1, 2, 3], [1, 2, 3], [4, 5, 6], [1, 2, 3], [4, 5, 6]]
    found = measure_contextual_mapping(mixing, rows)
    assert (found.sequences, found.repeated) == (2, 3)
    assert found.layers[1].verdict is Contextuality.CONTEXTUAL
    with pytest.raises(ContextualityError, match=r"two different sequences are needed.*all equal"):
        measure_contextual_mapping(mixing, rows[:2])


def test_permutations_are_one_context_only_without_positions():
    rows = [[1, 2, 3], [3, 1, 2], [4, 5, 6]]

    def sums(ids):
        return EMBEDDING[ids] + 2 * EMBEDDING[ids].sum(axis=1, keepdims=True)

    as_sets = measure_contextual_mapping(sums, rows, symmetry=Symmetry.EQUIVARIANT)
    assert (as_sets.sequences, as_sets.repeated) == (2, 1)
    assert as_sets.layers[0].verdict is Contextuality.CONTEXTUAL
    in_order = measure_contextual_mapping(sums, rows)
    assert in_order.sequences == 3
    assert in_order.layers[0].verdict is Contextuality.NOT_CONTEXTUAL
    with pytest.raises(ContextualityError, match="permutations of each other"):
        measure_contextual_mapping(sums, rows[:2], symmetry=Symmetry.EQUIVARIANT)


def test_equal_tokens_of_a_sequence_are_compared_only_with_positions():
    rows = [[1, 1, 2], [3, 4]]

    def sums(ids):
        return EMBEDDING[ids] + 2 * EMBEDDING[ids].sum(axis=1, keepdims=True)

    assert measure_contextual_mapping(sums, rows).layers[0].within.distance < 1e-12
    as_sets = measure_contextual_mapping(sums, rows, symmetry=Symmetry.EQUIVARIANT)
    assert as_sets.layers[0].within.distance > 0.1


def test_sequences_of_one_token_have_nothing_within():
    found = measure_contextual_mapping(mixing, [[1], [2], [3]])
    layer = found.layers[1]
    assert layer.within.distance is None
    assert layer.same_token.distance is None
    assert layer.apart is None
    assert layer.any_tokens.distance > 0
    assert layer.verdict is Contextuality.CONTEXTUAL
    assert found.sensitivity == ()


def test_sequences_of_different_lengths_are_not_padded():
    lengths = set()

    def model(ids):
        lengths.add(ids.shape[1])
        return mixing(ids)

    measure_contextual_mapping(model, [[1], [2, 3], [4, 5, 6, 7]], changes=())
    assert lengths == {1, 2, 4}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "got none"),
        ([[1, 2], []], "number 1 has none"),
        ([[1, 2]], "got 1. Give more"),
        ("one text", "list of texts"),
        (["a text", "another"], "need a tokenizer"),
        ([[1, 2], [0.5, 1]], "must all be texts"),
        ([[[1.0, 2.0]], [[1.0]]], "one width"),
        ([[[np.nan]], [[1.0]]], "must be finite"),
        ([object(), 3], "must all be texts|must be arrays"),
    ],
)
def test_sequences_that_cannot_be_compared(given, says):
    with pytest.raises(ContextualityError, match=says):
        measure_contextual_mapping(mixing, given)


def test_a_model_that_gives_nan_is_told_where():
    def broken(ids):
        x = mixing(ids)
        x[1][ids == 9] = np.nan
        return x

    with pytest.raises(ContextualityError, match="layer 1 are not, first at position 2 of sequence 1"):
        measure_contextual_mapping(broken, [[1, 2], [3, 4, 9], [5, 9]])


def test_a_layer_that_changes_the_number_of_tokens_is_named():
    with pytest.raises(ContextualityError, match=r"layer 1 has \(2, 1, 6\)"):
        measure_contextual_mapping(lambda ids: [bare(ids), bare(ids)[:, ::2]], [[1, 2], [3, 4]])


def test_a_layer_whose_width_changes_is_refused():
    with pytest.raises(ContextualityError, match=r"\[6\] and then \[3\]"):
        measure_contextual_mapping(lambda ids: bare(ids)[..., : 9 - ids.shape[1] * 3], [[1], [2, 3], [4]])


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (lambda ids: [], "at least one layer"),
        (lambda ids: ids[..., None], "real numbers"),
        (lambda ids: ids.nothing, "raised AttributeError"),
        (7, "got int"),
    ],
)
def test_models_that_cannot_be_measured(model, says):
    with pytest.raises(ContextualityError, match=says):
        measure_contextual_mapping(model, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"margin": -1.0}, "margin"),
        ({"margin": np.nan}, "margin"),
        ({"witnesses": 0}, "witness"),
        ({"exhaustive": -1}, "exhaustively"),
        ({"most_tokens": 0}, "at least one token"),
        ({"changes": (0,)}, "at least 1"),
        ({"layers": ["a"]}, "has no names"),
    ],
)
def test_options_that_cannot_be(options, says):
    with pytest.raises(ContextualityError, match=says):
        measure_contextual_mapping(mixing, [[1, 2], [3, 4]], **options)


def test_the_margin_is_what_rounding_does_unless_it_is_given():
    def rounding(ids):  # as a sum in another order: by the size of the batch
        return mixing(ids)[1] + 1e-3 * len(ids)

    rows = [[1, 2], [3, 4], [5, 6], [7, 8]]
    found = measure_contextual_mapping(rounding, rows, changes=())
    # A batch of 4, then alone and three copies: vectors of 6 numbers move by up to 3e-3 each.
    assert found.layers[0].margin == pytest.approx(2 * 3e-3 * np.sqrt(6), rel=1e-9)
    far = found.layers[0].witness.distance
    above = measure_contextual_mapping(rounding, rows, margin=far, changes=())
    assert above.layers[0].verdict is Contextuality.NOT_CONTEXTUAL
    below = measure_contextual_mapping(rounding, rows, margin=np.nextafter(far, 0), changes=())
    assert below.layers[0].verdict is Contextuality.CONTEXTUAL


def test_rounding_is_not_taken_for_context():
    """A model without context whose sums depend on the length in the last bit."""

    def model(ids):
        return np.float32(EMBEDDING[ids]) * (1 + np.float32(2.0**-23) * (ids.shape[1] % 2))

    found = measure_contextual_mapping(model, [[1, 2], [1, 2, 3]])
    assert 0 < found.layers[0].same_token.distance <= found.layers[0].margin
    assert found.layers[0].verdict is Contextuality.NOT_CONTEXTUAL
