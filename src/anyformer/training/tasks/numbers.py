"""The task of giving each text or pair of texts a number, such as how alike two sentences are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import nn

from anyformer.training.run.loop import Batch, Task
from anyformer.training.run.recipe import Schedule
from anyformer.training.tasks.classes import LabelledPair
from anyformer.training.tasks.examples import outputs_of, padded, rows_of_similar_length
from anyformer.training.tasks.label_scores import number_scores


@final
@dataclass(frozen=True)
class Numbers(Task):
    """Predict the number of each example, to a small squared error."""

    training: Sequence[LabelledPair]
    held_out: Sequence[LabelledPair]
    padding: int
    schedule: Schedule

    def batch(self, step: int) -> Batch:
        """The examples of a step, padded."""
        rows = rows_of_similar_length(self.training, self.schedule, step)
        chosen = [self.training[row] for row in rows]
        numbers = torch.tensor([example.label for example in chosen], dtype=torch.float32)
        return {**padded(chosen, self.padding), "labels": numbers}

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Pearson's and Spearman's correlation and the squared error on the examples held out."""
        predicted: list[float] = []
        for _, outputs in outputs_of(model, self.held_out, self.padding):
            predicted.extend(outputs.logits[:, 0].float().tolist())
        return number_scores([example.label for example in self.held_out], predicted)
