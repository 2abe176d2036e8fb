"""Verdicts against brute force, from the files alone; and that this can fail."""

import csv
import json
import re
import shutil

import numpy as np
import onnx
import pytest

import anyformer as af
from anyformer.errors import ExportError
from anyformer.exports.onnx.plain import OPERATORS
from anyformer.exports.vnnlib import Verdict, check_benchmark, write
from tests.exports.vnnlib.conftest import proved


def test_all_verdicts_hold_against_dense_samples(folders):
    found = [one for folder in folders for one in check_benchmark(folder)]
    assert len(found) == 32
    assert all(one.agrees for one in found)
    assert all(one.samples > 8000 for one in found)
    assert {one.verdict for one in found} == set(Verdict)


@pytest.mark.slow
def test_two_hundred_instances_by_three_seeds(tmp_path):
    targets = [
        (af.targets.mean_scale(tokens=3), 0.01),
        (af.targets.mean_scale(tokens=16), 0.001),
        (af.targets.softmax(tokens=5), 0.001),
        (af.targets.attention(tokens=3, width=2), 0.001),
        (af.targets.sort(tokens=4), 0.001),
        (af.targets.power_sums(tokens=3, width=2), 0.01),
        (af.targets.centroid_distance(tokens=3, width=2), 0.1),
    ]
    found = []
    for target, tolerance in targets:
        model = proved(target, tolerance)
        for seed in range(3):
            place = write(model, tmp_path / f"{target.name}-{target.tokens}-{seed}", seed=seed, instances=10)
            found += check_benchmark(place, samples=20_000)
    assert len(found) == 210
    assert all(one.agrees for one in found)
    nearest = [one.nearest for one in found if one.verdict is Verdict.UNSAT]
    assert max(nearest) > -1e-3, "some of them are close"


@pytest.fixture
def damaged(folders, tmp_path):
    """A copy of a benchmark that may be changed, and its verdicts."""
    folder = shutil.copytree(folders[0], tmp_path / "copy")
    return folder, json.loads((folder / "verdicts.json").read_text())


def disagreeing(folder):
    return [one.vnnlib for one in check_benchmark(folder) if not one.agrees]


def test_a_wrong_verdict_is_seen(damaged):
    folder, data = damaged
    for one in data["instances"]:
        if one["verdict"] == "sat":
            one["verdict"] = "unsat"
    (folder / "verdicts.json").write_text(json.dumps(data))
    assert disagreeing(folder) == [one["vnnlib"] for one in data["instances"] if "input" in one["reason"]]


def test_a_threshold_that_is_reached_is_seen(damaged):
    folder, data = damaged
    wrong = next(one for one in data["instances"] if one["verdict"] == "unsat")
    place = folder / wrong["vnnlib"]
    # Every comparison is turned around: what was beyond all outputs is below them.
    turned = {">=": "<=", "<=": ">="}
    text = re.sub(r"\((>=|<=) Y", lambda found: f"({turned[found[1]]} Y", place.read_text())
    place.write_text(text)
    assert disagreeing(folder) == [wrong["vnnlib"]]


def test_a_witness_outside_its_box_is_seen(damaged):
    folder, data = damaged
    wrong = next(one for one in data["instances"] if one["verdict"] == "sat")
    wrong["reason"]["input"][0][0] = "1.5"
    (folder / "verdicts.json").write_text(json.dumps(data))
    assert disagreeing(folder) == [wrong["vnnlib"]]


def test_lists_that_differ_are_refused(damaged):
    folder, _ = damaged
    lines = (folder / "instances.csv").read_text().splitlines(keepends=True)
    (folder / "instances.csv").write_text("".join(lines[1:]))
    with pytest.raises(ExportError, match="must list the same instances"):
        check_benchmark(folder)


def test_a_folder_is_what_a_competition_takes(folders, narrow_models):
    for folder, model in zip(folders, narrow_models, strict=True):
        for place in (folder, folder / "1.0"):
            rows = list(csv.reader((place / "instances.csv").read_text().splitlines()))
            assert len(rows) == 8
            for graph, vnnlib, seconds in rows:
                assert (place / graph).parent == place / "onnx"
                assert (place / vnnlib).parent == place / "vnnlib"
                assert int(seconds) > 0
            assert len({row[1] for row in rows}) == 8
        made = onnx.load(folder / rows[0][0])
        assert {node.op_type for node in made.graph.node} <= set(OPERATORS)
        assert all(one.data_type == onnx.TensorProto.FLOAT for one in made.graph.initializer)
        said = json.loads((folder / "verdicts.json").read_text())
        assert said["model"]["anyformer.weights_digest"] == model.certificate.weights_digest
        assert said["model"]["certificate"]["certified_error"] == model.certificate.certified_error.hex()
        reasons = [one["reason"]["why"] for one in said["instances"]]
        assert reasons == ["certificate", "witness"] * 4


def test_dense_samples_stay_in_the_box(folders):
    from anyformer.exports.vnnlib.checking import _dense, read_query

    query = read_query(next((folders[2] / "vnnlib").iterdir()))
    points = _dense(query, np.random.default_rng(0), 100)
    assert ((query.low <= points) & (points <= query.high)).all()
    assert len(points) == 200 + 2**6 + 1
