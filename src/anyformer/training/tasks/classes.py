"""The task of telling classes of texts apart, such as entailment from contradiction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import nn

from anyformer.training.data.pairs import Pairs
from anyformer.training.run.loop import Batch, Task
from anyformer.training.run.recipe import Schedule
from anyformer.training.tasks.examples import EncodedTexts, encode_texts, outputs_of, padded, rows_of_similar_length
from anyformer.training.tasks.label_scores import class_scores


@dataclass(frozen=True)
class LabelledPair(EncodedTexts):
    """An encoded text or pair of texts, and its class or number."""

    label: float


def encode_pairs(pairs: Pairs, tokenizer: Any, config: Any) -> tuple[LabelledPair, ...]:
    """Labelled texts as a model with this config reads them."""
    encoded = encode_texts(pairs.first, pairs.second, tokenizer, config)
    rows = zip(encoded, pairs.labels, strict=True)
    return tuple(LabelledPair(texts.input_ids, texts.token_type_ids, label) for texts, label in rows)


@final
@dataclass(frozen=True)
class Classes(Task):
    """Predict the class of each example."""

    training: Sequence[LabelledPair]
    held_out: Sequence[LabelledPair]
    padding: int
    schedule: Schedule

    def batch(self, step: int) -> Batch:
        """The examples of a step, padded."""
        rows = rows_of_similar_length(self.training, self.schedule, step)
        chosen = [self.training[row] for row in rows]
        return {**padded(chosen, self.padding), "labels": torch.tensor([example.label for example in chosen])}

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Accuracy, F1 and Matthews' coefficient on the examples held out."""
        predicted: list[int] = []
        for _, outputs in outputs_of(model, self.held_out, self.padding):
            predicted.extend(outputs.logits.argmax(dim=1).tolist())
        return class_scores([int(example.label) for example in self.held_out], predicted)
