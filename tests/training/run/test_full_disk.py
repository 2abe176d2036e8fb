"""A disk that is full: it is said in a sentence, nothing is lost, and the same run goes on when there is room."""

import pytest

pytest.importorskip("accelerate", reason="training needs more: pip install anyformer[train]")

import anyformer.training.run.checkpoints as checkpoints
from anyformer.errors import TrainingError
from anyformer.training import pretrain
from anyformer.training.run.folder import RunFolder
from tests.training.small import recipe, text


@pytest.fixture
def asked(tmp_path):
    place = tmp_path / "recipe.toml"
    sizes = "[architecture]\nlayers = 1\nwidth = 16\nheads = 2\nvocabulary = 400\nlongest = 32\n[text]\ntokens = 16\n"
    place.write_text(sizes + "[schedule]\nsteps = 4\nbatch = 4\nsave_every = 2\n")
    return ("pretrain", "--recipe", place, "-o", tmp_path / "run", "--corpus", "synthetic:sentences=200")


@pytest.mark.slow
@pytest.mark.parametrize("most", [500, 5_000, 30_000])
def test_a_full_disk_is_said_and_the_run_goes_on(process, asked, tmp_path, most):
    failed = process(*asked, most=most)
    assert failed.code == 2
    assert next(line for line in failed.told.splitlines() if not line.startswith("step ")).startswith("error: ")
    assert "Traceback" not in failed.told
    assert "File too large" in failed.told
    assert not list(tmp_path.rglob("*.part"))
    done = process(*asked)
    assert done.code == 0, done.told


@pytest.mark.parametrize("fails", ["weights.safetensors", "optimizer.safetensors"])
def test_the_checkpoint_before_stays(tmp_path, monkeypatch, fails):
    """What is written next fails half way; the run goes on from before, and ends as it would have."""
    words = text(tmp_path / "text")
    whole = pretrain(recipe(), words, tmp_path / "whole")
    save, saved = checkpoints.save_file, []

    def full(tensors, file):
        saved.append(file)
        if len(saved) > 2 and file.name == fails:
            file.write_bytes(b"half")
            raise Exception("No space left on device")  # as tokenizers raise it
        save(tensors, file)

    monkeypatch.setattr(checkpoints, "save_file", full)
    with pytest.raises(TrainingError, match=r"a checkpoint must be written whole; .*No space left.*resumes from there"):
        pretrain(recipe(), words, tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    assert [path.name for path in folder.checkpoints.iterdir()] == ["step-000000003"]
    monkeypatch.undo()
    again = pretrain(recipe(), words, tmp_path / "run")
    name = "model.safetensors"
    assert (again.model / name).read_bytes() == (whole.model / name).read_bytes()
