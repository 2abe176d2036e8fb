"""Does a model map contexts apart? The papers' definition, measured layer by layer on a finite set of sequences."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyformer.contextuality.closest import Closest, Neighbours, summarised
from anyformer.contextuality.layers import Layered, recorded
from anyformer.contextuality.models import as_layered, table_ids
from anyformer.contextuality.pairs import EXHAUSTIVE, any_tokens, same_token, within_sequences
from anyformer.contextuality.places import Places
from anyformer.contextuality.report import ContextReport, LayerContexts
from anyformer.contextuality.sensitivity import measure_sensitivity
from anyformer.contextuality.sequences import Sequences, as_sequences
from anyformer.contextuality.similarity import similarity_of
from anyformer.contextuality.witnesses import witnesses_of
from anyformer.errors import ContextualityError
from anyformer.targets.target import Symmetry
from anyformer.workers import Progress, enter

BATCH_TOKENS = 4096


def measure_contextual_mapping(
    model: Any,
    sequences: Any = None,
    *,
    layers: Sequence[str] | None = None,
    symmetry: Symmetry | None = None,
    margin: float | None = None,
    most_tokens: int = 128,
    witnesses: int = 8,
    changes: Sequence[int] = (1, 2, 4, 8),
    exhaustive: int = EXHAUSTIVE,
    tokenizer: Any | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> ContextReport:
    """Measure whether each layer of a model is a contextual mapping on the given sequences.

    A layer is one if (i) the vectors of a sequence are all different, and (ii) no two different sequences share a
    vector. Sequences that are equal count once; in the equivariant setting so do permutations of each other, and (i)
    is about positions that hold different tokens.

    Args:
        model: a function from a batch, (batch, tokens) numbers or (batch, tokens, width) vectors, to one array
            (batch, tokens, width) or one a layer; an `nn.Module`; a Hugging Face model, or its folder or name; an
            .onnx file; a model or network built by this package, or its folder.
        sequences: texts, lists of token numbers, or vectors (tokens, width). All are compared with all. A model built
            by this package has its own: the cells of its grid, or points of its domain.
        layers: which submodules of an `nn.Module`, or which values of an ONNX graph, to record. Otherwise what the
            model returns, and all hidden states of a Hugging Face model.
        symmetry: whether the model has no positions. Known for models built here; `Symmetry.NONE` for others.
        margin: two vectors are apart if their distance is above it. By default twice what rounding may do to a
            vector, as measured by running some sequences again in other batches; 0 for the networks built here.
        most_tokens: where texts are cut.
        witnesses: how many of the closest pairs of each kind are kept.
        changes: how many tokens are changed at once to see how far vectors move.
        exhaustive: up to so many vectors, all pairs of any two tokens are compared. Above, an index is asked, and its
            recall is measured; the closest pair is exact all the same, unless the search for it has too many pairs.
            The same token in different contexts is always compared exactly.
        tokenizer: for texts, if the model brings none.
        seed: of everything that is drawn.
        progress: called with (done, total) while a layer is under way.

    Returns:
        The report; its layers have verdicts and witnesses.

    Example:
        >>> embedding = np.eye(3)
        >>> found = measure_contextual_mapping(lambda ids: embedding[ids], [[0, 1], [0, 2]])
        >>> found.layers[0].verdict, found.layers[0].witness
        (Contextuality.NOT_CONTEXTUAL, Pair(first=(0, 0), second=(1, 0), distance=0.0))
    """
    _check(margin, witnesses, exhaustive)
    chosen = as_layered(model, layers)
    chosen = chosen if tokenizer is None else replace(chosen, tokenizer=tokenizer)
    chosen = chosen if symmetry is None else replace(chosen, symmetry=symmetry)
    given = _given(chosen, sequences, most_tokens)
    contexts = given.different(chosen.symmetry)
    places = contexts.places
    enter(progress, "running the model")
    with recorded(chosen, contexts, places, BATCH_TOKENS, progress) as found:
        measured = []
        for k, vectors in enumerate(found.vectors):
            enter(progress, f"layer {k} of {len(found.vectors) - 1}")
            allowed = 2 * found.rounding[k] if margin is None else margin
            measured.append(
                measure_layer(
                    vectors,
                    places,
                    name=found.names[k],
                    margin=allowed,
                    symmetry=chosen.symmetry,
                    special=contexts.special,
                    witnesses=witnesses,
                    exhaustive=exhaustive,
                    seed=seed,
                    progress=progress,
                )
            )
    enter(progress, "changing tokens")
    spreads, margins = [one.spread for one in measured], [one.margin for one in measured]
    return ContextReport(
        model=chosen.name,
        symmetry=chosen.symmetry,
        sequences=places.count,
        repeated=len(given.rows) - places.count,
        places=len(places),
        tokens=len(np.unique(places.tokens)),
        layers=tuple(measured),
        witnesses=tuple(witnesses_of(layer, contexts) for layer in measured),
        sensitivity=measure_sensitivity(chosen, contexts, changes, spreads, margins, seed),
        seed=seed,
        ids=table_ids(model, contexts) if sequences is None else None,
    )


def _check(margin: float | None, witnesses: int, exhaustive: int) -> None:
    if margin is not None and not 0 <= margin < np.inf:
        raise ContextualityError(f"the margin must be a finite number from 0; got {margin}.")
    if witnesses < 1:
        raise ContextualityError(f"at least one witness must be kept; got {witnesses}.")
    if exhaustive < 0:
        raise ContextualityError(f"the vectors that are compared exhaustively must be at least 0; got {exhaustive}.")


def _given(model: Layered, sequences: Any, most_tokens: int) -> Sequences:
    if sequences is None:
        if model.own_sequences is None:
            raise ContextualityError(
                f"sequences must be given: {model.name} is no model built by this package, which has its own. Give "
                "texts, token numbers or vectors."
            )
        return model.own_sequences()
    if most_tokens < 1:
        raise ContextualityError(f"texts must keep at least one token; got most_tokens = {most_tokens}.")
    most = most_tokens if model.longest is None else min(most_tokens, model.longest)
    return as_sequences(sequences, model.tokenizer, most)


def measure_layer(
    vectors: NDArray[Any],
    places: Places,
    *,
    name: str = "vectors",
    margin: float = 0.0,
    symmetry: Symmetry = Symmetry.NONE,
    special: frozenset[int] = frozenset(),
    witnesses: int = 8,
    exhaustive: int = EXHAUSTIVE,
    seed: int = 0,
    progress: Progress | None = None,
) -> LayerContexts:
    """The same for vectors that are at hand, (places, width), of sequences that are all different."""
    within = within_sequences(vectors, places, symmetry)
    same = same_token(vectors, places, progress)
    anywhere = any_tokens(vectors, places, same, margin, exhaustive, seed)

    def summary(found: Neighbours) -> Closest:
        return summarised(found, vectors, places, witnesses)

    known = same.partners >= 0
    return LayerContexts(
        name=name,
        width=vectors.shape[1],
        spread=_spread(vectors),
        margin=margin,
        within=summary(within),
        same_token=summary(same),
        any_tokens=replace(
            summary(anywhere.found),
            recall=anywhere.recall,
            is_exact=anywhere.closest_is_exact,
            margin_is_exact=anywhere.margin_is_exact,
        ),
        apart=float((same.distances[known] > margin).mean()) if known.any() else None,
        similarity=similarity_of(vectors, places, special, seed),
    )


def _spread(vectors: NDArray[Any]) -> float:
    mean = vectors.mean(axis=0, dtype=np.float64)
    total = sum(
        float(((vectors[start : start + (1 << 14)] - mean) ** 2).sum()) for start in range(0, len(vectors), 1 << 14)
    )
    return float(np.sqrt(total / len(vectors)))
