"""What is not finite is neither kept nor called trained: gradients, and weights after a step that was too large."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from anyformer.errors import TrainingError
from anyformer.training import RunFolder, Schedule
from anyformer.training.run.loop import Task, train


class Odd(nn.Module):
    """Its loss is finite; its gradient is infinite from the step on whose batch says so."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 2))

    def forward(self, broken):
        zero = (self.weight - self.weight.detach()).abs().sum()
        return SimpleNamespace(loss=self.weight.sum() + (zero.sqrt() if broken[0] else zero))


class Steps(Task):
    def __init__(self, broken: int):
        self.broken = broken

    def batch(self, step):
        return {"broken": torch.tensor([step >= self.broken])}

    def evaluate(self, model):
        return {"validation_loss": float(model.weight.detach().sum())}


def begun(place):
    folder = RunFolder(place)
    folder.begin({"a": 1})
    return folder


def test_a_gradient_that_is_not_finite_changes_nothing(tmp_path):
    folder, schedule = begun(tmp_path), Schedule(steps=5, batch=1, save_every=1, evaluate_every=1)
    with pytest.raises(TrainingError, match=r"gradients must be finite; in step 3 their norm is .* Lower the learning"):
        train(Odd(), Steps(broken=2), schedule, folder)
    assert [row["step"] for row in folder.rows() if "validation_loss" in row] == [0, 1, 2]
    # The checkpoint before is whole: with other data the run goes on from there.
    assert torch.isfinite(train(Odd(), Steps(broken=9), schedule, folder).weight).all()


@pytest.mark.parametrize("due", [{"evaluate_every": 1}, {"save_every": 1}, {"steps": 1}])
def test_weights_that_are_not_finite_are_not_kept(tmp_path, due):
    folder = begun(tmp_path)
    schedule = Schedule(**{"steps": 3, "batch": 1, "learning_rate": 1e40, "warmup": 0.0, **due})
    with pytest.raises(TrainingError, match="weights must be finite; after step 1 those of weight are not"):
        train(Odd(), Steps(broken=9), schedule, folder)
    assert not list(folder.checkpoints.glob("*/model.safetensors"))
    assert [row["step"] for row in folder.rows() if "validation_loss" in row] == [0]
