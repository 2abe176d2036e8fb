"""labels.json comes back as it was, and files of strangers do nothing but raise a clear error."""

import json

import numpy as np
import pytest

import anyformer as af
from anyformer.errors import LabelError
from anyformer.labels import labels_from_json, labels_of, read_labels
from anyformer.networks.digest import digest


@pytest.fixture(scope="module")
def labels():
    return labels_of(af.construct("running-maximum", 0.1, tokens=3, width=2, p=np.inf))


def test_a_file_comes_back_to_the_bit(labels, tmp_path):
    path = labels.save(tmp_path / "labels.json")
    again = read_labels(path)
    assert again.entries == labels.entries
    assert (again.outputs, again.weights_digest) == (labels.outputs, digest(labels.source.facts.network))
    assert again[0, 0, "head", 0] == labels[0, 0, "head", 0]
    with pytest.raises(LabelError, match="read from a file"):
        again.values(np.zeros((3, 2)))


def test_a_table_comes_back_too(tmp_path):
    labels = labels_of(af.construct("mean-scale", 0.3, tokens=2, method="averaging"))
    assert read_labels(labels.save(tmp_path / "labels.json")).entries == labels.entries


def test_an_old_file_stays_whole_if_writing_fails(labels, tmp_path, monkeypatch):
    path = labels.save(tmp_path / "labels.json")
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        labels.save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["labels.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("format"), "must be a JSON object of the format"),
        (lambda data: data.update(format="anyformer-labels-9"), "must be a JSON object of the format"),
        (lambda data: data.update(extra=1), "with the fields"),
        (lambda data: data.update(tokens=True), "tokens must be a whole number"),
        (lambda data: data.update(target=["x"]), "target must be a text"),
        (lambda data: data.update(outputs="x"), "outputs must be a list of texts"),
        (lambda data: data.update(labels={}), "labels must be a list"),
        (lambda data: data["labels"].append(7), "must have the fields of a label"),
        (lambda data: data["labels"][0].update(code="import os"), "must have the fields of a label"),
        (lambda data: data["labels"][0].update(kind="neuron"), r"labels\[0\].kind must be one of"),
        (lambda data: data["labels"][0].update(stage=-2), r"labels\[0\].stage must be a whole number from -1 up"),
        (lambda data: data["labels"][0].update(layers=[0]), "must be a pair of whole numbers"),
        (lambda data: data["labels"][0].update(text=3), "text must be a text"),
        (lambda data: data["labels"][0].update(nodes=[3]), "nodes must be a list of texts"),
        (lambda data: data["labels"][0].update(proved="0"), "proved must be a number"),
        (lambda data: data["labels"][0].update(reads=[[0]]), "pairs of a channel and a weight"),
        (lambda data: data["labels"][0].update(kinks=[None]), "kinks must be a number"),
    ],
)
def test_faults_are_named(labels, change, message):
    data = json.loads(json.dumps(labels.to_json()))
    labels_from_json(data)
    change(data)
    with pytest.raises(LabelError, match=message):
        labels_from_json(data)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": NaN}', "[" * 100_000, '{"a": 1, "a": 2}', "\ud800"])
def test_what_is_no_json(text, tmp_path):
    path = tmp_path / "labels.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(LabelError, match=r"labels"):
        read_labels(path)
