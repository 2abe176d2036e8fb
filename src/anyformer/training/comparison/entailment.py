"""Entailment from several sources, split into training, validation and test so that no text is on two sides.

Pairs that share a text, as premise or as hypothesis, are linked. What is linked, directly or over other pairs, is a
component. A component goes to one side as a whole. In the development sets of MNLI and SNLI together the largest of
6,451 components has 45 of 19,657 pairs, so this loses no pair. Some sets have a component that is far larger: with SICK
and the counterfactual pairs of SNLI one has 2,350 of 40,914. Such a component is parted by premise, and pairs that then
share a text with a later side are dropped: from training those with a text of validation or test, from validation those
with a text of the test set. The test set loses none.
"""

import hashlib
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from anyformer.errors import TrainingError
from anyformer.training.comparison.near_duplicates import near_duplicates
from anyformer.training.data.pairs import Pairs, join_pairs, read_pairs

_LARGEST_WHOLE = 0.02
"""The share of all pairs from which on a component is parted: whole, it would shift the sizes of the sides."""
NEAR = Fraction(4, 5)
"""The overlap of words from which on two pairs are near-duplicates."""
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Shares:
    """How much of the pairs is held out.

    A fifth of MNLI's and SNLI's development sets is about 3,900 pairs. `statistics.pairs_to_see` tells that these show
    a difference of 2 points in 80 of 100 comparisons, if on a fifth of the pairs one of the two systems is right alone.
    """

    validation: float = 0.1
    test: float = 0.2

    def __post_init__(self) -> None:
        if not (self.validation > 0 and self.test > 0 and self.validation + self.test < 1):
            raise TrainingError(
                f"shares of validation and test must be above 0 and sum to less than 1; got {self.validation} and"
                f" {self.test}. Choose 0.1 and 0.2, for example."
            )


SHARES = Shares()


@dataclass(frozen=True)
class Part:
    """One side of a split."""

    pairs: Pairs
    sources: tuple[str, ...]
    """Where each pair is from: "mnli" or "snli", for example."""
    groups: tuple[int, ...]
    """Pairs of the same group share texts, so they are no independent examples: resample groups, not pairs."""

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def digest(self) -> str:
        """SHA-256 of all pairs with labels and sources, in their order: the same digest, the same examples."""
        pairs = self.pairs
        rows = [pairs.first, pairs.second, pairs.labels, pairs.names, self.sources]
        return hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True)
class Dropped:
    """How many pairs were left out, and why."""

    shared: int
    """A text of theirs is on a later side; only in components that had to be parted."""
    near: Mapping[str, int] = field(default_factory=dict)
    """They nearly equal a pair of a later side: how many, by "train-test", "train-validation", "validation-test"."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.shared + sum(self.near.values())


@dataclass(frozen=True)
class Entailment:
    """Pairs to train on, to choose settings by, and to judge by once."""

    train: Part
    validation: Part
    test: Part
    components: int
    largest: int
    """Pairs of the largest component."""
    dropped: Dropped

    @property
    def digest(self) -> str:
        """The test set's digest; a result names it, so that results on the same test set can be told."""
        return self.test.digest


def read_entailment(sources: Sequence[str | Path], seed: int, shares: Shares = SHARES) -> Entailment:
    """Pairs from several sources, split.

    Args:
        sources: as for `read_pairs`; all have the labels of the first.
        seed: of the split; the same pairs and seed give the same split, whatever the order of the sources.
        shares: how much to hold out.

    Returns:
        Three parts that share no text; `check_split` accepts them.
    """
    if not sources:
        raise TrainingError("entailment pairs must come from at least one source; none was named. Name one.")
    first = read_pairs(sources[0])
    read = [first, *(read_pairs(source, first.names) for source in sources[1:])]
    names = tuple(source_name(source) for source, pairs in zip(sources, read, strict=True) for _ in range(len(pairs)))
    return split_entailment(join_pairs(read), names, seed, shares)


def split_entailment(
    pairs: Pairs, sources: Sequence[str], seed: int, shares: Shares = SHARES, near: Fraction = NEAR
) -> Entailment:
    """Part pairs into training, validation and test; no text is on two sides.

    Args:
        pairs: premises and hypotheses.
        sources: where each pair is from.
        seed: of the split.
        shares: how much to hold out.
        near: the overlap from which on two pairs are near-duplicates.
    """
    second = pairs.second
    if second is None or len(sources) != len(pairs):
        got = "single texts" if second is None else f"{len(pairs)} pairs and {len(sources)} sources"
        raise TrainingError(f"entailment must have premises, hypotheses and a source of each pair; got {got}.")
    texts = [(folded(premise), folded(hypothesis)) for premise, hypothesis in zip(pairs.first, second, strict=True)]
    components = linked(texts)
    members: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(components):
        members[name].append(place)
    sides: dict[str, list[int]] = {"train": [], "validation": [], "test": []}
    for name, places in members.items():
        whole = len(places) <= max(1, _LARGEST_WHOLE * len(pairs))
        for place in places:
            sides[_side(name if whole else texts[place][0], shares, seed)].append(place)
    shared = _drop_shared(sides, texts)
    nearly = _drop_near(sides, texts, near)
    if not all(sides.values()):
        sizes = ", ".join(f"{side} {len(places)}" for side, places in sides.items())
        raise TrainingError(
            f"all sides of a split must have pairs; {len(members)} components of linked texts gave {sizes}."
            " Give more pairs, or other shares or another seed."
        )
    numbers = {name: number for number, name in enumerate(sorted(members))}

    def order(place: int) -> tuple[object, ...]:
        """That of the texts, so that it does not depend on the order of the sources."""
        return texts[place], pairs.first[place], second[place], sources[place], pairs.labels[place]

    groups = [numbers[name] for name in components]
    parts = {side: _part(pairs, sources, groups, sorted(places, key=order)) for side, places in sides.items()}
    largest = max(len(places) for places in members.values())
    return Entailment(**parts, components=len(members), largest=largest, dropped=Dropped(shared, nearly))


def check_split(entailment: Entailment) -> None:
    """See that no text is on two sides, as premise or as hypothesis.

    Raises:
        TrainingError: if one is; it names the text and where it stands.
    """
    roles = {
        side: {"premise": _folded_all(part.pairs.first), "hypothesis": _folded_all(part.pairs.second or ())}
        for side, part in (
            ("test", entailment.test),
            ("validation", entailment.validation),
            ("train", entailment.train),
        )
    }
    for later, earlier in (("test", "train"), ("test", "validation"), ("validation", "train")):
        for held, held_texts in roles[later].items():
            for seen, seen_texts in roles[earlier].items():
                if both := held_texts & seen_texts:
                    raise TrainingError(
                        f"no text of {later} may occur in {earlier}; {len(both)} do, as {held} in {later} and as {seen}"
                        f" in {earlier}, such as {min(both)!r}. Split again with split_entailment."
                    )


def folded(text: str) -> str:
    """A text without case, punctuation and white space that differ.

    >>> folded("  A man's DOG,\\tasleep!")
    'a man s dog asleep'
    """
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return " ".join(words) if words else text.strip()


def linked(texts: Iterable[tuple[str, str]]) -> list[str]:
    """The component of each pair, named by the first of its texts in the alphabet.

    >>> linked([("b", "c"), ("d", "e"), ("c", "a")])
    ['a', 'd', 'a']
    """
    above: dict[str, str] = {}

    def top(text: str) -> str:
        above.setdefault(text, text)
        while above[text] != text:
            above[text] = text = above[above[text]]
        return text

    pairs = list(texts)
    for first, second in pairs:
        low, high = sorted((top(first), top(second)))
        above[high] = low
    return [top(first) for first, _ in pairs]


def source_name(source: str | Path) -> str:
    """A short name: that of the file up to its first underscore or dot.

    >>> source_name("data/mnli_dev_matched.tsv.xz"), source_name("glue:mnli?split=train")
    ('mnli', 'mnli')
    """
    name = str(source).removeprefix("glue:").partition("?")[0]
    return re.split(r"[_.]", Path(name).name)[0] or name


def _side(key: str, shares: Shares, seed: int) -> str:
    """Where a component goes: each is decided independently, so more data does not move earlier components."""
    drawn = int.from_bytes(hashlib.sha256(f"{seed}\n{key}".encode()).digest()[:8]) / 2**64
    if drawn < shares.test:
        return "test"
    return "validation" if drawn < shares.test + shares.validation else "train"


def _drop_shared(sides: dict[str, list[int]], texts: Sequence[tuple[str, str]]) -> int:
    """Drop pairs from training and validation that have a text of a later side; say how many."""
    taken: set[str] = set()
    dropped = 0
    for side in ("test", "validation", "train"):
        kept = [place for place in sides[side] if side == "test" or taken.isdisjoint(texts[place])]
        dropped += len(sides[side]) - len(kept)
        sides[side] = kept
        taken.update(text for place in kept for text in texts[place])
    return dropped


def _drop_near(sides: dict[str, list[int]], texts: Sequence[tuple[str, str]], least: Fraction) -> dict[str, int]:
    """Drop pairs from training and validation that nearly equal one of a later side; say how many."""
    dropped = {}
    for earlier, later in (("train", "test"), ("validation", "test"), ("train", "validation")):
        near = set(
            near_duplicates([texts[place] for place in sides[earlier]], [texts[place] for place in sides[later]], least)
        )
        sides[earlier] = [place for number, place in enumerate(sides[earlier]) if number not in near]
        dropped[f"{earlier}-{later}"] = len(near)
    return dropped


def _part(pairs: Pairs, sources: Sequence[str], groups: Sequence[int], places: Sequence[int]) -> Part:
    """The pairs at some places."""
    chosen = replace(
        pairs,
        first=tuple(pairs.first[place] for place in places),
        second=tuple((pairs.second or ())[place] for place in places),
        labels=tuple(pairs.labels[place] for place in places),
        skipped=0,
    )
    return Part(chosen, tuple(sources[place] for place in places), tuple(groups[place] for place in places))


def _folded_all(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(map(folded, texts))
