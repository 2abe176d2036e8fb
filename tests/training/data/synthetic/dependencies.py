"""Which words of a synthetic sentence are decided far away, so that accuracy on them can be measured."""

from dataclasses import dataclass

from anyformer.errors import TrainingError
from anyformer.training.data.synthetic.lexicon import BUT, CALLED, NAMED, PRONOUNS, WHO, lexicon


@dataclass(frozen=True)
class Dependency:
    """A word that another decides, both by their places among the words of the sentence."""

    word: int
    decided_by: int


def agreement(sentence: str) -> tuple[int, ...]:
    """The places of the words that can only be known from far away.

    >>> agreement("ta nolo vel gemi ed to mama vel seku mas ta nolo nel tu kifo sul gemi .")
    (16,)
    """
    return tuple(dependency.word for dependency in dependencies(sentence))


def dependencies(sentence: str) -> tuple[Dependency, ...]:
    """Main verb and pronoun with the first noun that decides their form; or the name asked for, with the name given."""
    words = sentence.split()
    found = _asked(words) if CALLED in words else _told(words)
    if not found:
        raise TrainingError(
            f"a sentence must be of the synthetic language; got {sentence!r}. Take it from SyntheticLanguage.lines()."
        )
    return found


def _asked(words: list[str]) -> tuple[Dependency, ...]:
    """After BUT stand an article and the noun asked for; the same noun stands once before NAMED."""
    given = {words[place - 1]: place + 1 for place, word in enumerate(words) if word == NAMED}
    asked = next((noun for but, noun in zip(words, words[2:], strict=False) if but == BUT), None)
    return (Dependency(words.index(CALLED) + 1, given[asked]),) if asked in given else ()


def _told(words: list[str]) -> tuple[Dependency, ...]:
    known = lexicon()
    nouns = {noun for row in known.nouns for noun in row}
    verbs = {form for row in known.verbs for form in row}
    subject = next((place for place, word in enumerate(words) if word in nouns), None)
    if subject is None:
        return ()
    found, inside = [], False
    for place, word in enumerate(words):
        if word == WHO:
            inside = True
        elif word in verbs and inside:
            inside = False
        elif word in verbs or word in PRONOUNS:
            found.append(Dependency(place, subject))
    return tuple(found)
