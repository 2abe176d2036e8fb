"""How long a step of pre-training takes."""

import statistics
import time
from collections.abc import Mapping
from typing import Any

from anyformer.training.run.processes import accelerator
from anyformer.training.run.recipe import Recipe
from anyformer.training.tasks.masked_words import Marks, MaskedWords
from anyformer.training.tasks.pretrain import Prepared, fresh


def step_times(recipes: Mapping[str, Recipe], text: Prepared, rounds: int = 15) -> dict[str, float]:
    """Milliseconds of forward and backward for each recipe on a part of a batch: medians over interleaved rounds.

    It is the time of the processor, all threads together: other programs on the machine add little to it.
    """
    marks = Marks.of(text.tokenizer)
    seconds: dict[str, list[float]] = {}
    for _ in range(rounds):
        # One model at a time: all of them may not fit into memory.
        for name, recipe in recipes.items():
            rows = recipe.schedule.at_once or recipe.schedule.batch
            words = MaskedWords(text.train, text.valid, marks, recipe.text, recipe.schedule)
            batch = {key: tensor[:rows] for key, tensor in words.batch(0).items()}
            model = fresh(recipe, marks.vocabulary).train()
            _backward(model, batch, recipe.schedule.precision)
            start = time.process_time()
            _backward(model, batch, recipe.schedule.precision)
            seconds.setdefault(name, []).append(time.process_time() - start)
    return {name: 1000 * statistics.median(taken) for name, taken in seconds.items()}


def _backward(model: Any, batch: Mapping[str, Any], precision: str) -> None:
    with accelerator(precision).autocast():
        loss = model(**batch).loss
    loss.backward()
