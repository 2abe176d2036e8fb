"""`python -m benchmarks.unseen_articles OUT.txt SQUAD.json.xz TEXT...`: articles of SQuAD that models have not seen.

OUT gets the paragraphs, one a line, of every article that shares no 13 words in a row with any TEXT: what models were
trained on, and what they were chosen and measured by. All are of Wikipedia, so some articles are in both.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from anyformer.training import read_questions
from anyformer.training.data.reading import read_lines

TOGETHER = 13
"""Words in a row that two texts hardly share by chance."""


def unseen_articles(squad: Path, texts: Sequence[Path]) -> tuple[dict[str, list[str]], list[str]]:
    """The paragraphs of each article that is in none of the texts, and the titles of the others."""
    articles: dict[str, list[str]] = {}
    for question in read_questions(squad):
        paragraphs = articles.setdefault(question.title, [])
        if question.context not in paragraphs:
            paragraphs.append(question.context)
    titles: dict[tuple[str, ...], set[str]] = {}
    for title, paragraphs in articles.items():
        for run in _runs(" ".join(paragraphs)):
            titles.setdefault(run, set()).add(title)
    seen: set[str] = set()
    for text in texts:
        for _, line in read_lines(text):
            seen.update(*(titles.get(run, ()) for run in _runs(line)))
    return {title: articles[title] for title in articles if title not in seen}, sorted(seen)


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return (tuple(words[start : start + TOGETHER]) for start in range(len(words) - TOGETHER + 1))


def main() -> None:
    """Write the text, and say what was left out."""
    out, squad, *texts = map(Path, sys.argv[1:])
    kept, seen = unseen_articles(squad, texts)
    out.write_text("".join(" ".join(one.split()) + "\n" for many in kept.values() for one in many), "utf-8")
    print(f"{len(kept)} articles in {out}; in both texts: {', '.join(seen)}")


if __name__ == "__main__":
    main()
