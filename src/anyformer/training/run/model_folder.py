"""The folder of a trained model, as Hugging Face keeps models: weights, tokenizer, and a card that says what it is."""

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anyformer.training.run.card import model_card


def save_model(
    folder: Path, model: Any, tokenizer: Any, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Write what `from_pretrained` and pipelines read.

    Args:
        folder: it exists.
        model: a BERT of mixers.
        tokenizer: its own; in the folder it cuts texts to what the model takes, where it is asked to truncate.
        about: what the run was made from, for the card.
        rows: what the run measured, for the card.
    """
    longest = model.config.longest_input
    # A copy: whoever trains goes on using the tokenizer, also for texts of other lengths.
    cutting = copy.copy(tokenizer)
    cutting.model_max_length = longest
    model.save_pretrained(folder)
    cutting.save_pretrained(folder)
    (folder / "README.md").write_text(model_card(model, longest, about, rows), "utf-8")
