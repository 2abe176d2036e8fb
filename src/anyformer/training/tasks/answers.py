"""The task of finding answers in a text, as in SQuAD."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import nn

from anyformer.training.data.questions import Question
from anyformer.training.run.loop import Batch, Task
from anyformer.training.run.recipe import Schedule
from anyformer.training.tasks.answer_scores import best_answers, score_answers
from anyformer.training.tasks.examples import outputs_of, padded, rows_of_step
from anyformer.training.tasks.spans import Feature


@final
@dataclass(frozen=True)
class Answers(Task):
    """Predict where the answer starts and ends; a window without it points at [CLS]."""

    training: Sequence[Feature]
    held_out: Sequence[Feature]
    questions: Sequence[Question]
    padding: int
    schedule: Schedule

    def batch(self, step: int) -> Batch:
        """The windows of a step, padded."""
        rows = rows_of_step(len(self.training), self.schedule.batch, self.schedule.seed, step)
        chosen = [self.training[row] for row in rows]
        return {
            **padded(chosen, self.padding),
            "start_positions": torch.tensor([feature.start for feature in chosen]),
            "end_positions": torch.tensor([feature.end for feature in chosen]),
        }

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Exact matches and F1 on the questions held out."""
        return score_answers(answered(model, self.held_out, self.questions, self.padding), self.questions)


def answered(model: Any, windows: Sequence[Feature], questions: Sequence[Question], padding: int) -> list[str]:
    """A model's answers to the questions that windows were made of; it is in evaluation mode, without gradients."""
    starts, ends = [], []
    for features, outputs in outputs_of(model, windows, padding):
        for row in range(len(features)):
            starts.append(outputs.start_logits[row].float().cpu().numpy())
            ends.append(outputs.end_logits[row].float().cpu().numpy())
    return best_answers(windows, starts, ends, questions)
