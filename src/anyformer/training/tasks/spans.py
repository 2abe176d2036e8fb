"""Questions as token windows: what a model for extractive question answering reads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from anyformer.errors import TrainingError
from anyformer.training.data.questions import Question

_QUESTIONS_AT_ONCE: Final = 256
_LEAST_QUESTION: Final = 8
"""Tokens of a question that must fit into a window."""


@final
@dataclass(frozen=True, eq=False)
class Feature:
    """[CLS] question [SEP] window of the context [SEP], or with the marks of RoBERTa, without padding."""

    input_ids: NDArray[np.int32]
    """(tokens,)."""
    token_type_ids: NDArray[np.int32]
    """(tokens,): 0 for the question, 1 for the context if the model knows two types."""
    start: int
    end: int
    """First and last token of the first answer; both 0, which is [CLS], where the window does not hold it."""
    question: int
    """Its place among the questions."""
    offsets: NDArray[np.int32]
    """(tokens, 2): where in the context each token starts and ends; -1 outside of it."""


def windows_of(questions: Sequence[Question], tokenizer: Any, config: Any) -> list[Feature]:
    """The windows that a model with this config reads: as long as it takes them, a third of each shared with the next.

    RoBERTa tells a question from its context by the marks alone, and has one type of tokens.
    """
    length = config.longest_input
    return features(questions, tokenizer, length, length // 3, config.type_vocab_size)


def features(questions: Sequence[Question], tokenizer: Any, length: int, stride: int, types: int = 2) -> list[Feature]:
    """The windows of all questions, in order.

    Args:
        questions: as read by `read_questions`.
        tokenizer: a fast one.
        length: tokens of a window at most, question and special ones included.
        stride: tokens of the context that neighbouring windows share.
        types: how many types of tokens the model knows.

    Returns:
        One or more windows a question; long questions lose their end.
    """
    # Two windows must move on by one token at least: [CLS] question [SEP] stride + 1 [SEP].
    special = tokenizer.num_special_tokens_to_add(pair=True)
    room = length - stride - special - 1
    if room < _LEAST_QUESTION or stride < 0:
        raise TrainingError(
            f"a window must hold {_LEAST_QUESTION} tokens of the question, {special} special ones and more of the"
            f" context than the stride, which is 0 or more; got length {length} and stride {stride}. Choose a longer"
            " one, or less stride."
        )
    made: list[Feature] = []
    for first in range(0, len(questions), _QUESTIONS_AT_ONCE):
        made += _batch(questions[first : first + _QUESTIONS_AT_ONCE], first, tokenizer, length, stride, room, types)
    return made


def _batch(
    questions: Sequence[Question], first: int, tokenizer: Any, length: int, stride: int, room: int, types: int
) -> Iterator[Feature]:
    coded = tokenizer(
        _shortened([question.text for question in questions], tokenizer, room),
        [question.context for question in questions],
        truncation="only_second",
        max_length=length,
        stride=stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        return_token_type_ids=True,
    )
    for window, place in enumerate(coded["overflow_to_sample_mapping"]):
        inside = np.array([part == 1 for part in coded.sequence_ids(window)])
        offsets = np.where(inside[:, None], np.array(coded["offset_mapping"][window]), -1).astype(np.int32)
        start, end = _answer(questions[place], offsets)
        ids, kinds = (np.array(coded[key][window], np.int32) for key in ("input_ids", "token_type_ids"))
        yield Feature(ids, np.minimum(kinds, types - 1), start, end, first + place, offsets)


def _shortened(texts: list[str], tokenizer: Any, room: int) -> list[str]:
    """Questions of at most so many tokens: a window is cut from the context alone."""
    coded = tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    ends = [offsets[room - 1][1] if len(offsets) > room else None for offsets in coded["offset_mapping"]]
    return [text[:end] for text, end in zip(texts, ends, strict=True)]


def _answer(question: Question, offsets: NDArray[np.int32]) -> tuple[int, int]:
    """First and last token of the first answer, or [CLS] twice where part of it is outside of the window."""
    if not question.answers:
        return 0, 0
    begin = question.starts[0]
    end = begin + len(question.answers[0])
    inside = np.flatnonzero((offsets[:, 0] < end) & (offsets[:, 1] > begin))
    if not inside.size or offsets[inside[0], 0] > begin or offsets[inside[-1], 1] < end:
        return 0, 0
    return int(inside[0]), int(inside[-1])
