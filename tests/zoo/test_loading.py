"""Models are built or taken from the cache, and proved in either case: the cache is never trusted."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates.checker import Verdict
from anyformer.errors import ModelFileError, ZooError
from anyformer.labels import labels_of, read_labels
from anyformer.networks.digest import digest
from anyformer.zoo import cache, loading, recipes

NAME = "distance-to-mean-6x2"


@pytest.fixture
def proofs(monkeypatch):
    """Every verification that was made."""
    made = []
    verify = af.Model.verify

    def counted(self, *args, **kwargs):
        made.append(verify(self, *args, **kwargs))
        return made[-1]

    monkeypatch.setattr(af.Model, "verify", counted)
    return made


def test_a_model_is_built_once_and_proved_every_time(proofs):
    first, second = af.zoo.specimen(NAME), af.zoo.specimen(NAME)
    assert (first.is_new, second.is_new) == (True, False)
    assert digest(first.model.network) == digest(second.model.network)
    assert [one.verdict for one in proofs] == [Verdict.PROVED, Verdict.PROVED]
    x = np.full((1, 6, 2), 0.25)
    assert np.array_equal(second.model(x), first.model(x))
    assert second.model.target.function is af.zoo.recipe(NAME).function


def test_another_type_is_another_entry():
    one, other = af.zoo.load(NAME), af.zoo.load(NAME, "float32")
    assert (one.network.dtype.name, other.network.dtype.name) == ("float64", "float32")
    assert len(list(cache.cache_folder().iterdir())) == 2


def damage(folder, name):
    path = folder / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("name", ["model.safetensors", "certificate.json", "config.json"])
def test_a_damaged_entry_is_built_again(name):
    entry = cache.folder_of(af.zoo.recipe(NAME))
    good = digest(af.zoo.load(NAME).network)
    damage(entry, name)
    again = af.zoo.specimen(NAME)
    assert digest(again.model.network) == good
    assert again.verification.verdict is Verdict.PROVED
    assert not af.zoo.specimen(NAME).is_new


@pytest.mark.parametrize("spoil", [shutil.rmtree, lambda entry: (entry / "foreign").write_text("x")])
def test_what_is_missing_or_foreign_does_no_harm(spoil):
    af.zoo.load(NAME)
    entry = cache.folder_of(af.zoo.recipe(NAME))
    spoil(entry)
    if entry.exists():
        (entry / "model.safetensors").unlink()
    assert af.zoo.specimen(NAME).is_new
    assert not af.zoo.specimen(NAME).is_new


def test_a_file_in_the_place_of_an_entry_is_replaced():
    entry = cache.folder_of(af.zoo.recipe(NAME))
    entry.parent.mkdir(parents=True)
    entry.write_text("x")
    assert af.zoo.specimen(NAME).is_new
    assert not af.zoo.specimen(NAME).is_new


def test_a_valid_model_of_something_else_is_not_taken():
    """An entry whose certificate holds, but of another target or tolerance."""
    recipe = af.zoo.recipe(NAME)
    entry = cache.folder_of(recipe)
    for other in (af.zoo.load("centre-64x3"), replace(recipe, tolerance=1e-3).build()):
        other.save(entry, overwrite=True)
        found = af.zoo.specimen(NAME)
        assert found.is_new
        assert found.model.certificate.tolerance == recipe.tolerance
        assert found.model.certificate.target.name == "distance_to_mean"


def test_weights_that_do_not_bear_the_claim_are_not_taken():
    """The weights are changed, and the certificate's digest with them: only the checker can tell."""
    recipe = af.zoo.recipe(NAME)
    model = af.zoo.load(NAME)
    stages = list(model.network.stages)
    stages[1] = replace(stages[1], W_2=stages[1].W_2 * 1.25)
    network = replace(model.network, stages=tuple(stages))
    certificate = replace(model.certificate, weights_digest=digest(network))
    replace(model, network=network, certificate=certificate).save(cache.folder_of(recipe), overwrite=True)
    kept = cache.fetch(recipe)
    assert kept is not None
    assert digest(kept.network) == digest(network)
    found = af.zoo.specimen(NAME)
    assert found.is_new
    assert digest(found.model.network) == digest(model.network)


def test_a_recipe_that_does_not_hold_raises(monkeypatch):
    monkeypatch.setattr(loading, "_is_what_was_asked", lambda model, recipe: False)
    with pytest.raises(ZooError, match="must be proved as its recipe states"):
        af.zoo.load(NAME)
    assert cache.fetch(af.zoo.recipe(NAME)) is None


def test_a_cache_that_cannot_be_written_to_is_done_without(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("ANYFORMER_CACHE", str(tmp_path / "file"))
    assert af.zoo.specimen(NAME).is_new
    assert af.zoo.specimen(NAME).is_new


def test_where_the_cache_is(monkeypatch, tmp_path):
    end = Path("zoo") / af.__version__
    assert cache.cache_folder() == tmp_path / "cache" / end
    monkeypatch.delenv("ANYFORMER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_folder() == tmp_path / "xdg" / "anyformer" / end
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / ".cache" / "anyformer" / end


def test_get_writes_the_model_and_its_labels(tmp_path):
    found = af.zoo.get(NAME, tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["certificate.json", "config.json", "labels.json", "model.safetensors"]
    model = af.load(tmp_path / "out")
    assert model.verify(found.recipe.target()).verdict is Verdict.PROVED
    labels = read_labels(tmp_path / "out" / "labels.json")
    assert labels.weights_digest == digest(model.network)
    assert labels.entries == labels_of(model, found.recipe.target()).entries


def test_get_replaces_a_model_only_if_asked(tmp_path):
    af.zoo.get(NAME, tmp_path / "out")
    with pytest.raises(ModelFileError, match="must be a new or empty folder"):
        af.zoo.get("spread-10", tmp_path / "out")
    af.zoo.get("spread-10", tmp_path / "out", overwrite=True)
    assert json.loads((tmp_path / "out" / "labels.json").read_text())["target"] == "spread"
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(ModelFileError, match=r"notes\.txt"):
        af.zoo.get(NAME, tmp_path / "out", overwrite=True)
    assert json.loads((tmp_path / "out" / "labels.json").read_text())["target"] == "spread"


@pytest.mark.slow
def test_two_processes_at_once(cache):
    script = f"import anyformer as af; print(af.zoo.specimen({NAME!r}).verification.verdict.name)"
    environment = {**os.environ, "ANYFORMER_CACHE": str(cache)}
    started = [
        subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [process.communicate(timeout=120)[0].strip() for process in started] == ["PROVED", "PROVED"]
    assert not af.zoo.specimen(NAME).is_new
    (folder,) = cache.glob("zoo/*")
    assert [entry.name.startswith(NAME) for entry in folder.iterdir()] == [True]


@pytest.mark.slow
@pytest.mark.parametrize("name", [recipe.name for recipe in recipes()])
def test_every_model_is_proved_in_every_type_and_has_labels(name):
    recipe = af.zoo.recipe(name)
    for dtype in recipe.dtypes:
        found = af.zoo.specimen(name, dtype)
        assert found.is_new
        assert found.verification.verdict is Verdict.PROVED
        assert found.model.certificate.certified_error <= recipe.tolerance
        assert found.model.network.dtype.name == dtype
        assert len(labels_of(found.model))
