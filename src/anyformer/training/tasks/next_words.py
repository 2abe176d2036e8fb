"""Next words: windows of a text, each word of which is to be predicted from those before it."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from anyformer.training.data.tokens import require_sequences
from anyformer.training.run import seeds
from anyformer.training.run.loop import Batch, Task
from anyformer.training.run.recipe import Schedule, Text
from anyformer.training.tasks.masked_words import Marks, windows_of

EVALUATED, AT_ONCE = 256, 16
"""How many windows are evaluated, always the same ones, and how many at a time: every word of them has scores."""


@final
@dataclass(frozen=True)
class NextWords(Task):
    """Predict each word of windows [CLS] words, which start anywhere in a text.

    Lines of the text end with [SEP], which is predicted like any word: so a model learns where to stop. All windows
    have the same number of words, so the mean over rows is that over words.
    """

    train: NDArray[Any]
    valid: NDArray[Any]
    marks: Marks
    text: Text
    schedule: Schedule

    def __post_init__(self) -> None:
        for ids in (self.train, self.valid):
            require_sequences(ids, self.text.tokens)

    def batch(self, step: int) -> Batch:
        """The windows of a step; the model itself compares its scores with the words one place later."""
        drawn = self._drawn(self.train, seeds.generator("windows", self.schedule.seed, step), self.schedule.batch)
        return {"input_ids": drawn, "labels": drawn}

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Loss and accuracy on the text held out: the same words every time, for every seed and every batch size."""
        device = next(model.parameters()).device
        drawn = self._drawn(self.valid, seeds.generator("evaluation", 0), EVALUATED).to(device)
        loss = right = 0.0
        for part in drawn.split(AT_ONCE):
            scores, wanted = model(part).logits[:, :-1].flatten(0, 1), part[:, 1:].flatten()
            loss += float(cross_entropy(scores.float(), wanted, reduction="sum"))
            right += float((scores.argmax(dim=1) == wanted).sum())
        words = EVALUATED * (self.text.tokens - 1)
        return {"validation_loss": loss / words, "validation_accuracy": right / words}

    def _drawn(self, ids: NDArray[Any], random: np.random.Generator, rows: int) -> Tensor:
        windows = windows_of(ids, random, rows, self.text.tokens - 1)
        return torch.from_numpy(np.pad(windows, ((0, 0), (1, 0)), constant_values=self.marks.start))


def special_tokens(tokenizer: Any) -> dict[str, int]:
    """What a model's config says about them: a text begins with [CLS], ends with [SEP] and is padded with [PAD]."""
    return {
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }


def for_prompts(tokenizer: Any) -> Any:
    """The same tokens for texts that are to go on: [CLS] before them and nothing behind, padding on the left."""
    from tokenizers import Tokenizer, processors
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    start = tokenizer.cls_token
    words.post_processor = processors.TemplateProcessing(
        single=f"{start} $A", pair=f"{start} $A $B", special_tokens=[(start, tokenizer.cls_token_id)]
    )
    named = {name: getattr(tokenizer, name) for name in tokenizer.special_tokens_map if name.endswith("_token")}
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        **named,
        bos_token=start,
        eos_token=tokenizer.sep_token,
        padding_side="left",
        model_input_names=["input_ids", "attention_mask"],
    )
