"""Is a Transformer with this sparsity pattern a universal approximator? Each condition has its own witness.

The verdicts follow from six facts. A layer computes X + (attention), so what has reached a token stays there.

- *Refuted.* If the union graph of all layers is not strongly connected, some output never depends on some input,
  and no function in which it does can be approximated. If it is strongly connected, every output comes to depend on
  every input: each arc has its turn in every period.
- *Paper B* (Yun et al., NeurIPS 2020): self-loops, γ and s together suffice.
- *Star* (Zaheer et al., BigBird, NeurIPS 2020, theorem 1): a pattern that contains a star with self-loops suffices.
  Here one list of one layer must contain it: with W_O = 0 and W_2 = 0 all other layers and heads do nothing, so
  that a network of this pattern includes those of the star, each layer once a period. The other lists may be anything.
- *Averaging*: if every output comes to depend on every input, means over neighbourhoods of well chosen codes give
  every token a value that tells all inputs apart (docs/sparse.md). Neither γ nor self-loops are needed, because the
  residual keeps a token's own value. But every token must attend to at least one token, or its weights cannot add up to
  1.
- *Causal*: where no token sees a later one, the same means tell all inputs up to a token apart, if every output comes
  to depend on every earlier input; so every causal function can be approximated (`causality.py`, docs/sparse.md).
- With self-loops, strong connection gives s ≤ p(n − 1): over a period, the set of tokens that a source has reached
  grows unless it is everything. So NOT_COVERED remains only for patterns in which some token sees no token.

Where a layer has several lists (MULTIHEAD), W_O = 0 in the other heads leaves any one of them, so that a network may
use them in turn, each as a pattern of its own: self-loops are asked of every list, γ of the union of all. The s of the
report takes a layer as seeing what all its heads see. Paper B's layers have two heads of one list, so give a list two.
"""

import numpy as np

from anyformer.errors import PatternError
from anyformer.patterns.exchange.notation import in_short
from anyformer.patterns.families.family import PatternFamily
from anyformer.patterns.pattern import SparsityPattern
from anyformer.patterns.sizes import length
from anyformer.patterns.universality.causality import causal_reach, causal_repair, is_causal
from anyformer.patterns.universality.conditions import Answer, Reach, Relay, SelfLoops, TokenPath
from anyformer.patterns.universality.connectivity import components, unreachable_pair
from anyformer.patterns.universality.growth import growth
from anyformer.patterns.universality.long_reach import long_reach
from anyformer.patterns.universality.matrix_powers import smallest_hops_by_powers
from anyformer.patterns.universality.paths import find_path
from anyformer.patterns.universality.reach import smallest_hops
from anyformer.patterns.universality.repair import repair_for_paper_b, repair_without_path
from anyformer.patterns.universality.report import Universality, UniversalityReport
from anyformer.patterns.universality.witnesses import MissingLoop, NeverMeet, NeverTogether

EXACT_TOKENS = 4096  # all pairs of tokens are followed up to here; beyond, only where bounds on s differ
EXACT_TOKENS_WITHOUT_LOOPS = 512  # powers of dense matrices


def check_universality(
    pattern: PatternFamily | SparsityPattern, tokens: int | None = None, seconds: float = 10.0
) -> UniversalityReport:
    """Answer each condition of Paper B's Assumption 1, with a witness, and say what follows.

    >>> from anyformer.patterns import PlainStar, check_universality
    >>> report = check_universality(PlainStar(), tokens=5)
    >>> report.verdict.name, str(report.path.witness)
    ('STAR', 'without {0} the rest falls into 4 pieces, and a path cut at 1 tokens leaves at most 2')

    Args:
        pattern: a family, or a pattern of one length.
        tokens: the length; not needed with a pattern of one length.
        seconds: how long the solver may look for γ, and again for a repair; then the answer is "undecided".

    Returns:
        The report. Its answers are proofs: γ is checked arc by arc, a "no" has a witness, and "undecided" is no "yes".
    """
    if not seconds > 0:
        raise PatternError(f"seconds must be more than 0; got {seconds}. Give the solver some time.")
    at = built(pattern, tokens)
    family = pattern if isinstance(pattern, PatternFamily) else None
    parts = components(at.union)
    never = unreachable_pair(parts)
    loops = _self_loops(at)
    path = find_path(at.union, parts, family.path(at.tokens) if family else None, seconds)
    reach = _reach(at, loops, never)
    relay = _relay(at)
    causal = causal_reach(at) if is_causal(at) else None
    return UniversalityReport(
        pattern=in_short(pattern),
        tokens=at.tokens,
        period=at.period,
        verdict=_verdict(at, loops, path, reach, relay, causal),
        self_loops=loops,
        path=path,
        reach=reach,
        relay=relay,
        never_meet=_never_meet(never, causal),
        connections=tuple(seen.connections for seen in at.seen),
        growth=growth(family, at) if family else None,
        causal_reach=causal,
        repair=causal_repair(at) if causal else repair_for_paper_b(at.union, parts, loops, path, seconds),
        repair_without_path=causal_repair(at) if causal else repair_without_path(loops, parts),
    )


def built(pattern: PatternFamily | SparsityPattern, tokens: int | None) -> SparsityPattern:
    """The pattern at this length; a pattern of one length is returned as it is."""
    if isinstance(pattern, PatternFamily):
        if tokens is None:
            raise PatternError(f"tokens must be given with a family, which has any length; got only {pattern!r}.")
        return pattern.at(length(tokens))
    if tokens not in (None, pattern.tokens):
        raise PatternError(
            f"tokens must be left out or be {pattern.tokens}, the length of the pattern; got {tokens}."
            " Give a family for other lengths."
        )
    return pattern


def _self_loops(pattern: SparsityPattern) -> SelfLoops:
    missing = tuple(
        MissingLoop(layer, head, int(token))
        for layer, lists in enumerate(pattern.layers)
        for head, one in enumerate(lists)
        for token in np.flatnonzero(~one.loops())
    )
    return SelfLoops(Answer.FAILS if missing else Answer.HOLDS, missing)


def _reach(pattern: SparsityPattern, loops: SelfLoops, never: tuple[int, int] | None) -> Reach:
    if never is not None:
        return Reach(Answer.FAILS, witness=NeverMeet(*never))
    if loops.answer is Answer.HOLDS:
        if pattern.tokens > EXACT_TOKENS:
            return long_reach(pattern.seen)
        hops = smallest_hops(pattern.seen)
        return Reach(Answer.HOLDS, hops, hops, at_least=hops)
    if pattern.tokens > EXACT_TOKENS_WITHOUT_LOOPS:
        limit = f"without self-loops it is decided up to {EXACT_TOKENS_WITHOUT_LOOPS} tokens"
        return Reach(Answer.UNDECIDED, reason=limit)
    found = smallest_hops_by_powers(pattern.seen)
    if isinstance(found, tuple):
        return Reach(Answer.FAILS, witness=NeverTogether(*found))
    return Reach(Answer.HOLDS, found, found, at_least=found)


def _never_meet(never: tuple[int, int] | None, causal: Reach | None) -> NeverMeet | None:
    """An input that never reaches an output: in a causal pattern an earlier one, if there is such a pair."""
    if causal is not None and isinstance(causal.witness, NeverMeet):
        return causal.witness
    return never and NeverMeet(*never)


def _relay(pattern: SparsityPattern) -> Relay | None:
    for layer, lists in enumerate(pattern.layers):
        for head, one in enumerate(lists):
            seen_by = np.bincount(one.indices, minlength=one.tokens)
            tokens = np.flatnonzero((one.degrees == one.tokens) & (seen_by == one.tokens))
            if len(tokens) and one.loops().all():
                return Relay(layer, head, int(tokens[0]))
    return None


def _verdict(
    at: SparsityPattern,
    loops: SelfLoops,
    path: TokenPath,
    reach: Reach,
    relay: Relay | None,
    causal: Reach | None,
) -> Universality:
    has_blind_token = any((neighbours.degrees == 0).any() for neighbours in at.lists())
    if causal is not None and causal.answer is Answer.HOLDS:
        return Universality.NOT_COVERED if has_blind_token else Universality.CAUSAL
    if isinstance(reach.witness, NeverMeet):
        return Universality.REFUTED
    met = [condition.answer is Answer.HOLDS for condition in (loops, path, reach)]
    if all(met):
        return Universality.PAPER_B
    if relay is not None:
        return Universality.STAR
    return Universality.NOT_COVERED if has_blind_token else Universality.AVERAGING
