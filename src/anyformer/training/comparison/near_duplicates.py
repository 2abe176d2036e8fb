"""Pairs of texts that nearly equal another pair, found exactly and without trying all."""

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from anyformer.errors import TrainingError


def near_duplicates(
    texts: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]], least: Fraction
) -> tuple[int, ...]:
    """Places of those pairs that nearly equal one of the others.

    Two pairs of folded texts nearly equal each other if their sets of words A and B, of premise and hypothesis
    together, overlap: |A ∩ B| ≥ least · |A ∪ B|. The search is exact: then |A ∩ B| ≥ least · |A|, so at most
    |A| − ⌈least · |A|⌉ words of A are not in B, and one of any |A| − ⌈least · |A|⌉ + 1 words of A is in B. Take the
    rarest of A and, in the same way, of B: if all words have one order, the rarest word of A ∩ B is among both. An
    index of these words finds all candidates.
    """
    if not 0 < least <= 1:
        raise TrainingError(f"the overlap of near-duplicates must be above 0 and at most 1; got {least}. Choose 4/5.")
    words, other_words = (
        [frozenset(f"{first} {second}".split()) for first, second in side] for side in (texts, others)
    )
    counts: dict[str, int] = defaultdict(int)
    for bag in (*words, *other_words):
        for word in bag:
            counts[word] += 1

    def rarest(bag: frozenset[str]) -> list[str]:
        kept = len(bag) - -(-least.numerator * len(bag) // least.denominator) + 1
        return sorted(bag, key=lambda word: (counts[word], word))[:kept]

    index: dict[str, list[int]] = defaultdict(list)
    for place, bag in enumerate(other_words):
        for word in rarest(bag):
            index[word].append(place)

    def is_near(bag: frozenset[str]) -> bool:
        candidates = {place for word in rarest(bag) for place in index.get(word, ())}
        for other in (other_words[place] for place in candidates):
            both = len(bag & other)
            if both * least.denominator >= least.numerator * (len(bag) + len(other) - both):
                return True
        return False

    return tuple(place for place, bag in enumerate(words) if is_near(bag))
