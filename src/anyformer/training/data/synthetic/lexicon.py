"""The words of the synthetic language: a few hundred, drawn once from syllables, the same for every seed.

Every noun is of one of four kinds, which its spelling does not show. Articles, verbs and pronouns have a form for each.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, product
from typing import Final

from anyformer.training.data.synthetic.draws import Draws

KINDS: Final = 4
STOP, AND, BUT, WHO, NAMED, CALLED = ".", "ed", "mas", "ke", "vel", "sul"
"""AND and BUT join clauses, WHO opens a relative clause, NAMED gives a name, CALLED asks for it."""
PREPOSITIONS: Final = ("nel", "sor", "pim", "dax", "fen", "gur")
ARTICLES: Final = (("ta", "to", "ti", "tu"), ("wa", "wo", "wi", "wu"))
"""Two articles, with a form for each kind."""
PRONOUNS: Final = ("xa", "xo", "xi", "xu")
ENDINGS: Final = ("ra", "ro", "ri", "ru")
"""Of verbs."""
_LEXICON_SEED: Final = 1905


@dataclass(frozen=True)
class Lexicon:
    """The open classes; the commonest words stand first."""

    nouns: tuple[tuple[str, ...], ...]
    verbs: tuple[tuple[str, ...], ...]
    """(stem, kind)."""
    adjectives: tuple[str, ...]
    adverbs: tuple[str, ...]
    names: tuple[str, ...]
    kind_of: Mapping[str, int]
    """Of nouns, verbs, articles and pronouns."""


@cache
def lexicon() -> Lexicon:
    """The only lexicon."""
    fresh = _fresh_words()
    nouns = tuple(tuple(next(fresh) for _ in range(30)) for _ in range(KINDS))
    verbs = tuple(tuple(stem + ending for ending in ENDINGS) for stem in (next(fresh) for _ in range(24)))
    adjectives, adverbs, names = (tuple(next(fresh) for _ in range(count)) for count in (40, 16, 60))
    forms = (*ARTICLES, PRONOUNS, *verbs, *zip(*nouns, strict=True))
    kind_of = {word: kind for row in forms for kind, word in enumerate(row)}
    return Lexicon(nouns, verbs, adjectives, adverbs, names, kind_of)


def zipf(count: int) -> tuple[float, ...]:
    """Cumulative shares of words whose frequency falls with their rank; the commonest is no more than a tenth or so."""
    sums = tuple(accumulate(1 / (rank + 3) for rank in range(count)))
    return tuple(value / sums[-1] for value in sums)


def _fresh_words() -> Iterator[str]:
    """Different words of two or three syllables; no syllable has an r, so no word ends like a verb."""
    draws, seen = Draws(_LEXICON_SEED), set[str]()
    syllables = ["".join(pair) for pair in product("bdfgklmnpstvz", "aeiou")]
    while True:
        word = "".join(draws.choose(syllables) for _ in range(2 + draws.below(2)))
        if word not in seen:
            seen.add(word)
            yield word
