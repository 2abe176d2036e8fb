"""The folder of a run: whose it is, and what is in it."""

import json

import pytest

from anyformer.errors import RunInUse, TrainingError
from anyformer.training import RunFolder
from anyformer.training.run.metrics import Metrics


def test_a_run_goes_on_as_it_began(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.begin({"recipe": {"text": {"tokens": 8}}, "mixers": ["a"]})
    folder.begin({"recipe": {"text": {"tokens": 8}}, "mixers": ["a"]})
    with pytest.raises(TrainingError, match=r"recipe\.text\.tokens = 8, and 9 is asked for"):
        folder.begin({"recipe": {"text": {"tokens": 9}}, "mixers": ["a"]})
    with pytest.raises(TrainingError, match=r"has mixers\.0 = \"a\", and null"):
        folder.begin({"recipe": {"text": {"tokens": 8}}})


def test_somebody_elses_folder_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(TrainingError, match=r"thesis\.tex"):
        RunFolder(tmp_path).begin({})
    with pytest.raises(TrainingError, match="is a file"):
        RunFolder(tmp_path / "thesis.tex").begin({})
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_one_start_at_a_time(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with (
        folder.held(),
        pytest.raises(RunInUse, match="only one process may work on a run at a time"),
        RunFolder(tmp_path / "run").held(),
    ):
        raise AssertionError
    with folder.held():
        pass


def test_what_was_measured_after_a_checkpoint_is_forgotten(tmp_path):
    folder = RunFolder(tmp_path)
    rows = [{"step": step, "loss": 1 / (1 + step)} for step in range(5)]
    folder.metrics.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"step": 5, "lo')
    assert folder.rows() == rows
    folder.forget_after(3)
    assert folder.rows() == rows[:4]
    folder.forget_after(0)
    assert folder.rows() == []


def test_a_damaged_folder_is_told(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.begin({"seed": 1})
    folder.metrics.write_text('{"step": 1}\nnonsense\n')
    with pytest.raises(TrainingError, match=r"metrics\.jsonl must have a JSON object a line"):
        folder.rows()
    folder.identity_file.write_text("{")
    with pytest.raises(TrainingError, match=r"run\.json must say what the run is; it is damaged"):
        folder.begin({"seed": 1})


def test_a_model_without_a_run_is_no_complete_run(tmp_path):
    (tmp_path / "model").mkdir()
    assert not RunFolder(tmp_path).is_complete


def test_what_a_run_is_is_said_once(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.begin({"seed": 1})
    folder.identity_file.write_text('{"seed": 2, "seed": 1}')
    with pytest.raises(TrainingError, match="the key 'seed' must be there once"):
        folder.begin({"seed": 1})


@pytest.mark.parametrize("line", ["[]", "3", "{}", '{"step": "1"}', '{"step": 1, "step": 2}', '{"step": 1, "x": NaN}'])
def test_strange_measurements_are_refused(tmp_path, line):
    folder = RunFolder(tmp_path)
    folder.metrics.write_text(line + "\n")
    with pytest.raises(TrainingError, match=r"metrics\.jsonl must have a JSON object a line"):
        folder.forget_after(1)


def test_what_overflowed_is_null_and_a_run_can_be_read_again(tmp_path):
    folder = RunFolder(tmp_path)
    with Metrics.open(folder, 0, True, None) as metrics:
        metrics.add(step=1, loss=2.5, gradient_norm=float("inf"))
    assert folder.rows() == [{"step": 1, "loss": 2.5, "gradient_norm": None}]
