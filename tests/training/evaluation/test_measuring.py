"""Measures against what can be counted by hand, labels that are coarser than classes, and refusals."""

import json
import math

import numpy as np
import pytest

from anyformer.errors import TrainingError
from anyformer.training.evaluation.coarsening import Coarsening
from anyformer.training.evaluation.measuring import REPORTED, measure
from anyformer.training.evaluation.predicting import Predictions
from anyformer.training.tasks.label_scores import class_scores, number_scores

THREE = ("contradiction", "entailment", "neutral")


def predictions(names, said, labels) -> Predictions:
    logits = np.array([[float(name == one) for name in names] for one in said], np.float32)
    return Predictions(tuple(map(str, range(len(said)))), tuple(names), logits, tuple(labels))


def numbers(said, labels) -> Predictions:
    return Predictions(tuple(map(str, range(len(said)))), (), np.array(said, np.float32)[:, None], tuple(labels))


def test_classes_counted_by_hand():
    truth = ["yes"] * 6 + ["no"] * 4
    said = ["yes"] * 5 + ["no"] + ["no"] * 2 + ["yes"] * 2
    found = measure(predictions(("no", "yes"), said, truth))
    scores = found.measures.scores
    assert scores["accuracy"] == 0.7
    # yes: 5 of 7 said and of 6 true; no: 2 of 3 said and of 4 true.
    assert scores["macro_f1"] == pytest.approx((2 * 5 / 13 + 2 * 2 / 7) / 2)
    assert scores["matthews"] == pytest.approx((5 * 2 - 2 * 1) / math.sqrt(7 * 6 * 4 * 3))
    assert found.confusion == ((2, 2), (1, 5))
    assert found.names == ("no", "yes")
    assert found.majority == 0.6
    no = found.measures.by_label["no"]
    assert (no.rows, no.precision, no.recall) == (4, pytest.approx(2 / 3), 0.5)
    # Wilson's interval of 7 of 10.
    z, share = 1.959963984540054, 0.7
    middle = (share + z * z / 20) / (1 + z * z / 10)
    half = z * math.sqrt(share * (1 - share) / 10 + z * z / 400) / (1 + z * z / 10)
    assert found.measures.interval == pytest.approx((middle - half, middle + half))
    assert found.reported == ("accuracy", "macro_f1", "matthews")


def test_numbers_counted_by_hand():
    found = measure(numbers([1, 2, 3, 10], [1.0, 3.0, 2.0, 4.0]), task="stsb")
    assert found.measures.scores["spearman"] == pytest.approx(0.8)
    # Deviations (-3, -2, -1, 6) and (-1.5, .5, -.5, 1.5): 13 over the root of 50 times 5.
    assert found.measures.scores["pearson"] == pytest.approx(13 / math.sqrt(250))
    assert found.measures.scores["mean_squared_error"] == pytest.approx((1 + 1 + 36) / 4)
    assert (found.reported, found.measures.interval, found.majority) == (("pearson", "spearman"), None, None)


def test_a_constant_has_no_correlation():
    assert math.isnan(number_scores([1, 2, 3], [2, 2, 2])["pearson"])
    told = measure(numbers([2, 2], [1.0, 3.0])).to_json()
    assert (told["pearson"], told["mean_squared_error"]) == (None, 1.0)
    json.dumps(told, allow_nan=False)
    assert class_scores(["a", "b"], ["a", "a"])["matthews"] == 0


@pytest.mark.parametrize(
    ("task", "names", "reported"),
    [
        ("cola", ("0", "1"), ("matthews",)),
        ("mrpc", ("equivalent", "not_equivalent"), ("accuracy", "f1")),
        ("qqp", ("0", "1"), ("accuracy", "f1")),
        ("rte", ("entailment", "not_entailment"), ("accuracy",)),
    ],
)
def test_glue_reports_its_own_measures(task, names, reported):
    said = [names[0], names[0], names[1], names[1], names[1]]
    truth = [names[0], names[1], names[1], names[1], names[1]]
    found = measure(predictions(names, said, truth), task=task)
    assert found.reported == reported
    if "f1" in reported:
        # F1 is of the class that means "the same", wherever it stands among the names.
        assert found.measures.scores["f1"] == pytest.approx(2 / 3 if names[0] == "equivalent" else 6 / 7)


def test_every_group_is_measured_apart():
    truth = ["yes", "no", "yes", "no", "yes"]
    said = ["yes", "yes", "yes", "no", "no"]
    columns = {"kind": ("b", "b", "a", "a", "a"), "size": ("1",) * 5}
    found = measure(predictions(("no", "yes"), said, truth), columns)
    assert {value: (one.rows, one.scores["accuracy"]) for value, one in found.groups["kind"].items()} == {
        "a": (3, pytest.approx(2 / 3)),
        "b": (2, 0.5),
    }
    assert list(found.groups["kind"]) == ["a", "b"]
    assert found.groups["kind"]["a"].by_label["yes"].recall == 0.5
    assert found.groups["size"]["1"] == found.measures
    told = json.loads(json.dumps(found.to_json()))
    assert told["groups"]["kind"]["b"]["by_label"]["no"] == {"rows": 1, "precision": 0, "recall": 0, "f1": 0}


def test_a_three_way_model_on_two_way_labels():
    said = ["neutral", "contradiction", "entailment", "entailment"]
    made = predictions(THREE, said, ["non-entailment", "non-entailment", "non-entailment", "entailment"])
    found = measure(made)
    assert found.measures.scores["accuracy"] == 0.75
    assert found.names == ("non-entailment", "entailment")
    assert found.confusion == ((2, 1), (0, 1))
    assert "neutral as non-entailment" in found.rule


def test_the_likeliest_class_counts_and_not_the_sum():
    """Of 0.4, 0.3 and 0.3 the first is likeliest, though the others together are likelier."""
    logits = np.log(np.array([[0.3, 0.4, 0.3]], np.float32))
    found = measure(Predictions(("a",), THREE, logits, ("entailment",)))
    assert measure(Predictions(("a",), THREE, logits, ("non-entailment",))).measures.scores["accuracy"] == 0
    assert found.measures.scores["accuracy"] == 1


@pytest.mark.parametrize(
    ("names", "labels", "classes", "become"),
    [
        (THREE, THREE, THREE, THREE),
        (THREE, ("entailment",), THREE, ("entailment",)),
        (
            THREE,
            ("entailment", "not_entailment"),
            ("not_entailment", "entailment", "not_entailment"),
            ("entailment", "not_entailment"),
        ),
        (
            ("entailment", "not_entailment"),
            ("entailment", "non-entailment"),
            ("entailment", "non-entailment"),
            ("entailment", "non-entailment"),
        ),
        (
            ("entailment", "not_entailment"),
            THREE,
            ("entailment", "not_entailment"),
            ("not_entailment", "entailment", "not_entailment"),
        ),
        (("entailment", "not_entailment"), ("entailment",), ("entailment", "not_entailment"), ("entailment",)),
    ],
)
def test_what_classes_and_labels_become(names, labels, classes, become):
    found = Coarsening.between(names, labels)
    assert tuple(found.classes[name] for name in names) == classes
    assert tuple(found.labels[label] for label in labels) == become
    assert bool(found.rule) == (classes != tuple(names) or become != tuple(labels))


def test_users_map_what_cannot_be_guessed():
    with pytest.raises(TrainingError, match=r"must be classes of the model, a, b; the data has 0, 1\. .* --map"):
        Coarsening.between(("a", "b"), ("0", "1"))
    with pytest.raises(TrainingError, match="the data has 0, 1"):
        Coarsening.between(("entailment", "not_entailment"), ("0", "1"))
    found = Coarsening.between(("a", "b"), ("0", "1"), {"0": "a", "1": "b"})
    assert found.labels == {"0": "a", "1": "b"}
    assert "the data's 0 as a, 1 as b" in found.rule
    with pytest.raises(TrainingError, match=r"a class of the model \(a, b\) or a label of the data \(0, 1\); got 'x'"):
        Coarsening.between(("a", "b"), ("0", "1"), {"x": "a"})


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(TrainingError, match="all rows to measure must have labels; 1 have none"):
        measure(predictions(THREE, ["neutral", "neutral"], ["neutral", None]))
    with pytest.raises(TrainingError, match=r"must be one of cola, .*; got 'squad'"):
        measure(predictions(THREE, ["neutral"], ["neutral"]), task="squad")
    with pytest.raises(TrainingError, match="stsb is measured by pearson and spearman, and this model"):
        measure(predictions(THREE, ["neutral"], ["neutral"]), task="stsb")
    with pytest.raises(TrainingError, match="one prediction a label, and a label; got 0 predictions for 0"):
        class_scores([], [])
    assert set(REPORTED) >= {"cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte", "wnli"}


def test_a_stray_label_beside_one_that_denies_is_refused():
    with pytest.raises(TrainingError, match=r"the data has typo\."):
        Coarsening.between(THREE, ("entailment", "non-entailment", "typo"))


def test_numbers_take_no_mapping_and_no_task_of_classes():
    with pytest.raises(TrainingError, match=r"only classes can be mapped; this model predicts a number. Leave a out"):
        measure(numbers([1, 2], [1.0, 3.0]), mapped={"a": "b"})
    with pytest.raises(TrainingError, match="cola is measured by matthews, and this model predicts a number"):
        measure(numbers([1, 2], [1.0, 3.0]), task="cola")


def test_the_f1_of_one_class_is_for_two_classes_only():
    names = ("0", "1", "2")
    assert "f1" not in measure(predictions(names, names, names)).measures.scores
    assert "f1" in measure(predictions(names[:2], names[:2], names[:2])).measures.scores


def test_digests_of_numbers_do_not_depend_on_the_sign_of_nothing():
    assert numbers([-0.0001], [None]).digest() == numbers([0.0001], [None]).digest()
    assert numbers([-0.0006], [None]).digest() != numbers([0.0001], [None]).digest()
