"""From a model's logits to answers, and how good they are by SQuAD's own measures."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from anyformer.errors import TrainingError
from anyformer.training.data.questions import Question
from anyformer.training.tasks.spans import Feature

_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def best_answers(
    windows: Sequence[Feature],
    start_logits: Sequence[Any],
    end_logits: Sequence[Any],
    questions: Sequence[Question],
    longest: int = 30,
) -> list[str]:
    """The likeliest answer to each question over all its windows.

    Args:
        windows: as made by `features`.
        start_logits: for each window (tokens or more,); entries for padding are ignored.
        end_logits: the same for ends.
        questions: those the windows were made of. If any has no answer, "" is given where [CLS] is likeliest.
        longest: tokens of an answer at most.

    Returns:
        A piece of the context for each question.
    """
    if not len(windows) == len(start_logits) == len(end_logits):
        counts = (len(windows), len(start_logits), len(end_logits))
        raise TrainingError(f"windows, start_logits and end_logits must be as many; got {counts}. Predict all windows.")
    may_be_none = any(not question.answers for question in questions)
    best = [(-np.inf, "")] * len(questions)
    nothing = [np.inf] * len(questions)
    for window, starts, ends in zip(windows, start_logits, end_logits, strict=True):
        tokens, place = len(window.input_ids), window.question
        start, end = np.asarray(starts, float)[:tokens], np.asarray(ends, float)[:tokens]
        score, (begin, stop) = _best_span(start, end, window.offsets, longest)
        best[place] = max(best[place], (score, questions[place].context[begin:stop]), key=lambda found: found[0])
        nothing[place] = min(nothing[place], start[0] + end[0])
    return ["" if may_be_none and none > score else answer for (score, answer), none in zip(best, nothing, strict=True)]


def score_answers(predicted: Sequence[str], questions: Sequence[Question]) -> dict[str, float]:
    """Exact match and F1 of words in percent, each against the answer that fits best, as by SQuAD's own script."""
    if len(predicted) != len(questions) or not questions:
        raise TrainingError(
            f"there must be one answer a question, and a question; got {len(predicted)} answers to {len(questions)}."
        )
    exact, f1 = 0.0, 0.0
    for answer, question in zip(predicted, questions, strict=True):
        given, golds = _words(answer), [_words(gold) for gold in question.answers] or [[]]
        exact += max(given == gold for gold in golds)
        f1 += max(_f1(given, gold) for gold in golds)
    return {"exact": 100 * exact / len(questions), "f1": 100 * f1 / len(questions)}


def _best_span(
    start: NDArray[Any], end: NDArray[Any], offsets: NDArray[np.int32], longest: int
) -> tuple[float, tuple[int, int]]:
    """Score, and start and end in the context, of the best span that is not too long and inside of it."""
    inside = offsets[:, 0] >= 0
    if not inside.any():
        return -np.inf, (0, 0)
    ends = np.concatenate([np.where(inside, end, -np.inf), np.full(longest - 1, -np.inf)])
    # (tokens, longest): a span that starts here and has so many tokens, less one.
    scores = np.where(inside, start, -np.inf)[:, None] + sliding_window_view(ends, longest)
    first, more = divmod(int(scores.argmax()), longest)
    return float(scores[first, more]), (int(offsets[first, 0]), int(offsets[first + more, 1]))


def _words(answer: str) -> list[str]:
    """In lower case, without punctuation, then without articles: the order is SQuAD's."""
    return re.sub(r"\b(a|an|the)\b", " ", answer.lower().translate(_NO_PUNCTUATION)).split()


def _f1(given: list[str], gold: list[str]) -> float:
    if not given or not gold:
        return float(given == gold)
    shared = (Counter(given) & Counter(gold)).total()
    return 2 * shared / (len(given) + len(gold))
