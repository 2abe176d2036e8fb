"""Questions with answers in a context, as SQuAD has them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyformer import strict_json
from anyformer.errors import TrainingError, raised, words_of
from anyformer.training.data.hold_out import held_out
from anyformer.training.data.reading import read_text


@dataclass(frozen=True)
class Question:
    """A question about a context; without answers where the context has none."""

    id: str
    title: str
    """The title of the article that the context is from."""
    context: str
    text: str
    answers: tuple[str, ...]
    starts: tuple[int, ...]
    """Where in the context each answer starts, by characters."""


def read_questions(source: str | Path) -> tuple[Question, ...]:
    """The questions of a SQuAD JSON, version 1.1 or 2, plain or packed (.xz, .gz)."""
    place = Path(source)
    try:
        questions = tuple(_questions(strict_json.loads(read_text(place))))
    except ValueError as error:
        raise TrainingError(
            f"{place} must be a SQuAD JSON; it cannot be read: {words_of(error)}. Give another."
        ) from error
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise TrainingError(
            f"{place} must be a SQuAD JSON, data → paragraphs → qas → answers; it is not:"
            f" {raised(error)}. Give another."
        ) from error
    if not questions:
        raise TrainingError(f"{place} must have questions; it has none. Give another.")
    for question in questions:
        _check(place, question)
    return questions


def split_questions(
    questions: Sequence[Question], share: float, seed: int
) -> tuple[tuple[Question, ...], tuple[Question, ...]]:
    """Questions to train on and about `share` of the articles held out; no article is on both sides."""
    sides: tuple[list[Question], list[Question]] = ([], [])
    for question in questions:
        sides[held_out(question.title, share, seed)].append(question)
    if not all(sides):
        raise TrainingError(
            f"both sides of a split must have questions; {len({question.title for question in questions})} articles"
            f" gave {len(sides[1])} of {len(questions)} held out at a share of {share}. Give more articles,"
            " or other questions to measure on by --held-out."
        )
    return tuple(sides[0]), tuple(sides[1])


def _questions(squad: Mapping[str, Any]) -> Iterator[Question]:
    for article in squad["data"]:
        for paragraph in article["paragraphs"]:
            for asked in paragraph["qas"]:
                # Version 2 lists plausible answers elsewhere; an impossible question has no answers.
                answers = [] if asked.get("is_impossible") else asked["answers"]
                yield Question(
                    id=asked["id"],
                    title=article["title"],
                    context=paragraph["context"],
                    text=_stripped(asked["question"]),
                    answers=tuple(answer["text"] for answer in answers),
                    starts=tuple(answer["answer_start"] for answer in answers),
                )


def _stripped(text: Any) -> Any:
    """Texts are checked later, where the question has a name."""
    return text.strip() if isinstance(text, str) else text


def _check(place: Path, question: Question) -> None:
    texts = {"id": question.id, "title": question.title, "context": question.context, "question": question.text}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise TrainingError(
                f"{place}, question {question.id!r:.200}: {name} must be a text; got {value!r:.200}. Correct or remove"
                " it."
            )
    for answer, start in zip(question.answers, question.starts, strict=True):
        if not (isinstance(answer, str) and isinstance(start, int)):
            raise TrainingError(
                f"{place}, question {question.id}: an answer must be a text, and answer_start a whole number; got"
                f" {answer!r} and {start!r}. Correct or remove it."
            )
        there = question.context[start : start + len(answer)]
        if not answer or there != answer:
            raise TrainingError(
                f"{place}, question {question.id}: an answer must stand in its context at answer_start; {answer!r} does"
                f" not: at {start} there is {there!r}. Correct or remove it."
            )
