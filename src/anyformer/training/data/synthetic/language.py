"""A synthetic language with far agreement and lookup: it needs no data and shows early which mixers can look up words.

There are two kinds of sentences, one per line, of 12 to 37 words separated by spaces and ended by " .":

    telling    phrase modifier{1,4} VERB adverb? phrase place? BUT PRONOUN adjective .
    asking     naming (AND naming){1,2} BUT ARTICLE NOUN place CALLED NAME .

    naming     ARTICLE NOUN NAMED NAME place?
    phrase     ARTICLE adjective{0,2} NOUN
    modifier   place | WHO ARTICLE adjective? NOUN VERB
    place      PREPOSITION ARTICLE adjective? NOUN

Near by: an article has the form of its noun's kind, and so has the verb of a relative clause. A convolution sees both.
Far away: the main VERB and the PRONOUN have the form of the kind of the first noun, with nouns of other kinds between;
the NAME at the end of an asking is the one that was given to the same noun, among two or three given names. Only a
lookup of the noun by its content finds it. `dependencies` finds these words in a sentence.

Nouns, verbs and the like are drawn by Zipf's law; names are drawn evenly, so that guessing one is right once in 60.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

from anyformer.errors import TrainingError
from anyformer.training.data.corpus import Corpus
from anyformer.training.data.synthetic.draws import Draws
from anyformer.training.data.synthetic.lexicon import (
    AND,
    ARTICLES,
    BUT,
    CALLED,
    KINDS,
    NAMED,
    PREPOSITIONS,
    PRONOUNS,
    STOP,
    WHO,
    lexicon,
    zipf,
)
from anyformer.whole_numbers import whole_number

_VERSION: Final = 1
"""The version of the grammar and the lexicon. It is part of the digest, so increase it when sentences change."""
_NOUN, _VERB, _ADJECTIVE, _ADVERB = zipf(30), zipf(24), zipf(40), zipf(16)


@final
@dataclass(frozen=True)
class SyntheticLanguage(Corpus):
    """A number of sentences of the language; another seed gives other sentences with the same words and rules.

    >>> next(SyntheticLanguage(sentences=1).lines()).endswith(" .")
    True
    """

    sentences: int = 40_000
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("sentences", 1), ("seed", 0)):
            whole_number(name, getattr(self, name), least, TrainingError)

    @property
    def name(self) -> str:
        """With its parameters."""
        return f"synthetic:sentences={self.sentences},seed={self.seed}"

    def lines(self) -> Iterator[str]:
        """Telling and asking sentences in equal shares."""
        draws = Draws(self.seed)
        for _ in range(self.sentences):
            yield " ".join(_telling(draws) if draws.chance(0.5) else _asking(draws))

    def digest(self) -> str:
        """Of the parameters and the version of the grammar."""
        return hashlib.sha256(f"synthetic language {_VERSION}: {self.name}".encode()).hexdigest()


def _telling(draws: Draws) -> list[str]:
    subject = draws.below(KINDS)
    words = _phrase(draws, subject, adjectives=2)
    for _ in range(1 + draws.below(4)):
        words += _place(draws) if draws.chance(0.5) else _relative_clause(draws)
    words.append(_verb(draws, subject))
    if draws.chance(0.5):
        words.append(draws.weigh(lexicon().adverbs, _ADVERB))
    words += _phrase(draws, draws.below(KINDS), adjectives=1)
    if draws.chance(0.5):
        words += _place(draws)
    return [*words, BUT, PRONOUNS[subject], draws.weigh(lexicon().adjectives, _ADJECTIVE), STOP]


def _asking(draws: Draws) -> list[str]:
    count, kind_of = 2 + draws.below(2), lexicon().kind_of
    # Two may share a kind, but one noun cannot have two names.
    nouns: list[str] = []
    while len(nouns) < count:
        if (noun := _noun(draws, draws.below(KINDS))) not in nouns:
            nouns.append(noun)
    names = draws.sample(lexicon().names, count)
    words: list[str] = []
    for noun, name in zip(nouns, names, strict=True):
        place = _place(draws) if draws.chance(0.5) else []
        words += [*([AND] if words else []), _article(draws, kind_of[noun]), noun, NAMED, name, *place]
    noun, name = draws.choose(list(zip(nouns, names, strict=True)))
    return [*words, BUT, _article(draws, kind_of[noun]), noun, *_place(draws), CALLED, name, STOP]


def _relative_clause(draws: Draws) -> list[str]:
    kind = draws.below(KINDS)
    return [WHO, *_phrase(draws, kind, adjectives=1), _verb(draws, kind)]


def _place(draws: Draws) -> list[str]:
    return [draws.choose(PREPOSITIONS), *_phrase(draws, draws.below(KINDS), adjectives=1)]


def _phrase(draws: Draws, kind: int, adjectives: int) -> list[str]:
    article = _article(draws, kind)
    qualities = [draws.weigh(lexicon().adjectives, _ADJECTIVE) for _ in range(draws.below(adjectives + 1))]
    return [article, *qualities, _noun(draws, kind)]


def _article(draws: Draws, kind: int) -> str:
    return draws.choose(ARTICLES)[kind]


def _noun(draws: Draws, kind: int) -> str:
    return draws.weigh(lexicon().nouns[kind], _NOUN)


def _verb(draws: Draws, kind: int) -> str:
    return draws.weigh(lexicon().verbs, _VERB)[kind]
