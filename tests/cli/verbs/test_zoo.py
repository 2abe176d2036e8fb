"""`zoo list` and `zoo get`."""

import pytest

from anyformer.zoo import recipes


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ANYFORMER_CACHE", str(tmp_path / "cache"))


def test_list_names_the_whole_zoo(call):
    outcome = call("zoo", "list", "--json")
    assert outcome.code == 0
    assert [entry["name"] for entry in outcome.data["models"]] == [recipe.name for recipe in recipes()]
    text = call("zoo", "list").out
    assert all(recipe.name in text for recipe in recipes())


def test_get_writes_a_model_that_verifies(call, tmp_path):
    folder = tmp_path / "model"
    outcome = call("zoo", "get", "distance-to-mean-6x2", "-o", folder, "--json")
    assert outcome.code == 0
    assert outcome.data["verdict"] == "proved"
    assert outcome.data["built"] is True
    assert outcome.data["certified_error"] <= outcome.data["tolerance"]
    assert (folder / "labels.json").is_file()
    assert call("verify", folder, "--target", outcome.data["verify_target"]).code == 0
    again = call("zoo", "get", "distance-to-mean-6x2", "-o", folder, "--overwrite", "--dtype", "float32")
    assert again.code == 0
    for words in ("built just now", "float32", "labels.json", "--target"):
        assert words in again.out
    cached = call("zoo", "get", "distance-to-mean-6x2", "-o", tmp_path / "other", "--json")
    assert cached.data["built"] is False


def test_mistakes_are_named(refused, tmp_path):
    assert "Did you mean 'sort-4'?" in refused("zoo", "get", "sort4", "-o", tmp_path / "m", kind="ZooError")
    message = refused("zoo", "get", "sort-16", "--dtype", "float32", "-o", tmp_path / "m", kind="ZooError")
    assert "must be one in which its tolerance is proved" in message
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "mine.txt").write_text("x")
    message = refused("zoo", "get", "sort-4", "-o", tmp_path / "m", kind="ModelFileError")
    assert "must be a new or empty folder" in message
    message = refused("zoo", "get", "sort-4", "-o", tmp_path / "m", "--overwrite", kind="ModelFileError")
    assert "mine.txt" in message
    assert (tmp_path / "m" / "mine.txt").read_text() == "x"
