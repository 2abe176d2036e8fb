"""The synthetic language: the same everywhere, lawful, and its far words known only from far away."""

import hashlib
from collections import Counter
from itertools import islice

import pytest

from anyformer.errors import TrainingError
from anyformer.training.data.synthetic.language import SyntheticLanguage
from anyformer.training.data.synthetic.lexicon import ARTICLES, CALLED, KINDS, NAMED, PRONOUNS, lexicon
from tests.training.data.synthetic.dependencies import agreement, dependencies

SENTENCES = list(SyntheticLanguage(sentences=3000).lines())
ASKING = [sentence for sentence in SENTENCES if CALLED in sentence.split()]
TELLING = [sentence for sentence in SENTENCES if CALLED not in sentence.split()]
FORMS = {word: row for row in (*ARTICLES, PRONOUNS, *lexicon().verbs) for word in row}
NOUNS = {noun for row in lexicon().nouns for noun in row}


def test_the_first_thousand_sentences_are_the_same_everywhere():
    """If this fails on purpose, count the version of the language up: its digest stands for its sentences."""
    text = "\n".join(islice(SyntheticLanguage().lines(), 1000))
    assert (
        hashlib.sha256(text.encode()).hexdigest() == "cef4ce4c2f3c1e6263634aa1e4685de6f188d3b476964efe77b8392be6a6dcc0"
    )


def test_the_seed_decides_the_sentences_but_not_the_words():
    other = list(SyntheticLanguage(sentences=3000, seed=1).lines())
    assert len(set(other) & set(SENTENCES)) < 10
    words, others = ({word for line in lines for word in line.split()} for lines in (SENTENCES, other))
    assert len(words & others) > 0.99 * len(words | others)
    assert list(SyntheticLanguage(sentences=5).lines()) == SENTENCES[:5]


def test_digests_follow_the_parameters():
    languages = [SyntheticLanguage(), SyntheticLanguage(seed=1), SyntheticLanguage(sentences=9)]
    assert len({language.digest() for language in languages}) == 3
    assert SyntheticLanguage().digest() == SyntheticLanguage(40_000, 0).digest()


def test_every_word_is_of_one_class():
    known = lexicon()
    words = [*FORMS, *NOUNS, *known.adjectives, *known.adverbs, *known.names]
    assert len(words) == len(set(words)) == 344
    assert known.kind_of.keys() == {*FORMS, *NOUNS}


def test_sentences_are_of_the_promised_length():
    lengths = {len(sentence.split()) for sentence in SENTENCES}
    assert min(lengths) >= 12
    assert max(lengths) <= 37
    assert 0.4 < len(ASKING) / len(SENTENCES) < 0.6


def test_frequencies_fall_with_rank():
    counts = Counter(word for sentence in SENTENCES for word in sentence.split())
    for words in (*lexicon().nouns, lexicon().adjectives):
        thirds = [sum(counts[word] for word in words[place::1][: len(words) // 3]) for place in (0, 10, 20)]
        assert thirds[0] > thirds[1] > thirds[2] > 0


def test_articles_agree_with_the_noun_near_by():
    for sentence in SENTENCES:
        words = sentence.split()
        for place, word in enumerate(words):
            if any(word in row for row in ARTICLES):
                noun = next(other for other in words[place:] if other in NOUNS)
                assert lexicon().kind_of[word] == lexicon().kind_of[noun]


def test_far_words_agree_with_what_decides_them():
    distances = []
    for sentence in TELLING:
        words, found = sentence.split(), dependencies(sentence)
        assert [words[one.word] in PRONOUNS for one in found] == [False, True]
        for one in found:
            assert lexicon().kind_of[words[one.word]] == lexicon().kind_of[words[one.decided_by]]
            distances.append(one.word - one.decided_by)
    assert min(distances) >= 4
    assert len(set(distances)) > 15


def test_nothing_between_gives_the_far_form_away():
    """Each kind stands between subject and verb no more often when it is the subject's."""
    own = total = 0
    for sentence in TELLING:
        words, one = sentence.split(), dependencies(sentence)[0]
        between = [word for word in words[one.decided_by + 1 : one.word] if word in NOUNS]
        own += sum(lexicon().kind_of[word] == lexicon().kind_of[words[one.word]] for word in between)
        total += len(between)
    # Five standard deviations of a share of 1/4.
    assert abs(own / total - 1 / KINDS) < 5 * (3 / 16 / total) ** 0.5


def test_the_name_asked_for_is_found_by_its_noun_alone():
    places = Counter()
    for sentence in ASKING:
        words, (one,) = sentence.split(), dependencies(sentence)
        names = [words[place + 1] for place, word in enumerate(words) if word == NAMED]
        assert words[one.word] == words[one.decided_by]
        assert len(set(names)) == len(names) >= 2
        assert words[one.decided_by - 2] in NOUNS
        assert words.count(words[one.word]) == 2
        places[len(names), names.index(words[one.word])] += 1
    # Any of the two or three is asked for, alike: five standard deviations of a share of 1/count.
    for count in (2, 3):
        total = sum(places[count, place] for place in range(count))
        for place in range(count):
            assert abs(places[count, place] / total - 1 / count) < 5 * (1 / (4 * total)) ** 0.5


@pytest.mark.parametrize("sentence", TELLING[:20])
def test_another_far_word_would_ask_for_another_form(sentence):
    """With a first noun of another kind, the rule asks for another verb and pronoun; the rest may stay as it is."""
    words, found = sentence.split(), dependencies(sentence)
    kind = lexicon().kind_of[words[found[0].decided_by]]
    changed = words.copy()
    changed[found[0].decided_by] = lexicon().nouns[(kind + 1) % KINDS][0]
    again = dependencies(" ".join(changed))
    assert again == found
    for one in again:
        wanted = lexicon().kind_of[changed[one.decided_by]]
        assert FORMS[changed[one.word]][wanted] != changed[one.word]


def test_other_sentences_are_refused():
    assert agreement(ASKING[0]) == tuple(one.word for one in dependencies(ASKING[0]))
    for sentence in ("the cat sat .", "", f"wa budi {CALLED}"):
        with pytest.raises(TrainingError, match="must be of the synthetic language"):
            agreement(sentence)


@pytest.mark.parametrize(("name", "value"), [("sentences", 0), ("sentences", 2.5), ("seed", -1), ("seed", True)])
def test_wrong_parameters_are_refused(name, value):
    with pytest.raises(TrainingError, match=f"{name} must be (a whole number|at least)"):
        SyntheticLanguage(**{name: value})
