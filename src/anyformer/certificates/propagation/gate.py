"""The gate before the proof: numbers that stay far from float64's ends, and a checker that notices when its own do not.

Three things are established, or the verdict is *undecided* with the stage and the layer named.

*Weights are tame* (`check_weights`): each is 0 or between 2⁻¹⁰⁰⁰ and 2¹⁰⁰⁰, and so are the quotients of biases and
weights that say where units wake up. Thresholds, kinks and directions are then computed without overflow or
underflow.

*The float64 program stays finite* (`check_feed_forward`, `check_attention`), wherever a claim about it is made, that is
on the cells: with s the largest size of a token that an enclosure allows before or after any layer of a stage, every
query, key, value, score, hidden unit, product and partial sum of every layer, skipped or not, is below 2¹⁰¹⁰. So no
infinity and no NaN can occur, in any order of the sums. Underflow is not excluded, it is counted: 2⁻¹⁰⁷⁴ for every
operation (`enclosures`), and nothing counts as exact that may have underflowed.

*No NaN passes* (`vigilant`): bounds are derived with NumPy's errors switched on, so the checker's own arithmetic raises
where it overflows or makes NaN, unless the code at that line handles it.

Real arithmetic needs none of this, because it has no largest number. It is followed outside the cells too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.propagation.enclosures import Arithmetic, Enclosure
from anyformer.errors import CertificateError
from anyformer.errors import NotShown as NotShown
from anyformer.networks.layers import AttentionLayer, AttentionStage, FeedForwardStage, Stage, weights
from anyformer.networks.magnitudes import tame
from anyformer.networks.network import Network
from anyformer.networks.runs import wild_layers

# How far below the largest number of a type all numbers must stay: room for the roundings of this estimate and any sum.
ROOM = 2.0**-14
_RANGE = "between 2^-1000 and 2^1000 in magnitude"


@contextmanager
def vigilant() -> Iterator[None]:
    """Within this, arithmetic that overflows, divides by 0 or makes NaN raises `NotShown`."""
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise", under="ignore"):
            yield
    except (FloatingPointError, OverflowError, ZeroDivisionError) as error:
        raise NotShown(f"the checker's own arithmetic left the range of float64: {error}") from error


def largest(x: Enclosure) -> float:
    """The largest size that an entry may have, in float64 or in real arithmetic."""
    with np.errstate(over="ignore"):
        return float((np.maximum(np.abs(x.low), np.abs(x.high)) + x.slack).max(initial=0.0))


def check_no_embedding(network: Network) -> None:
    """Raise unless the stages work on the tokens' own numbers: nothing here encloses an embedding or a read-out."""
    if network.has_embedding:
        raise CertificateError(
            f"cells are proved for networks without an embedding; this one embeds tokens of width {network.width} into "
            f"a stream of width {network.stream_width}. Prove it in another way, or certify a network without one."
        )


def check_weights(network: Network) -> None:
    """Raise unless every number of the network is tame, and it has no embedding."""
    if network not in _TAME:
        check_no_embedding(network)
        _check_weights(network)
        _TAME.add(network)


def _check_weights(network: Network) -> None:
    if network.positional_encoding is not None and not tame(network.positional_encoding).all():
        raise NotShown(f"the positional encoding has a number that is neither 0 nor {_RANGE}")
    for stage in network.stages:
        for name, array in weights(stage).items():
            wild = ~tame(array).reshape(len(array), -1).all(axis=1)
            if wild.any():
                raise NotShown(f"{place(stage, int(wild.argmax()))} has a weight in {name} neither 0 nor {_RANGE}")
        if isinstance(stage, FeedForwardStage) and (wild := wild_layers(stage)).any():
            raise NotShown(
                f"{place(stage, int(wild.argmax()))} has weights in W_1 and b_1 whose quotients are not {_RANGE}"
            )


def check_feed_forward(
    stage: FeedForwardStage, size: float, arithmetic: Arithmetic = Arithmetic.FLOAT64_AND_REAL
) -> None:
    """Raise unless every layer computes finite numbers only, on tokens of at most this size."""
    _check_finite(stage, _sizes_of_feed_forward(stage, size), arithmetic)


def check_attention(
    layer: AttentionLayer, x: Enclosure, where: str, arithmetic: Arithmetic = Arithmetic.FLOAT64_AND_REAL
) -> None:
    """Raise unless the layer computes finite numbers only; heads with W_O = 0 count as well."""
    size = largest(x)
    with np.errstate(over="ignore", invalid="ignore"):
        queries, keys, values = (
            np.abs(W).sum(axis=-1) * size + bias
            for W, bias in ((layer.W_Q, np.abs(layer.b_Q)), (layer.W_K, 0.0), (layer.W_V, 0.0))
        )
        outputs = size + (np.abs(layer.W_O) * values[:, None, :]).sum(axis=(0, 2))
        sums = x.low.shape[1] * values.max(initial=0.0)
        # NumPy's maximum, unlike Python's, is NaN if anything is.
        most = np.max([(queries * keys).sum(axis=-1).max(), outputs.max(), sums])
    if not most < _end(arithmetic):
        raise NotShown(f"{where} may overflow in {arithmetic.dtype}: its scores or outputs reach {_known(most)}")


def _sizes_of_feed_forward(stage: FeedForwardStage, size: float) -> Array:
    """For every layer a bound on every number that it computes from tokens of at most this size."""
    if stage not in _GAINS:
        _GAINS[stage] = _gains(stage)
    reading, biases, writing, shifts = _GAINS[stage]
    with np.errstate(over="ignore", invalid="ignore"):
        hidden = reading * size + biases
        return np.maximum(hidden, writing * hidden + shifts + size)


def _gains(stage: FeedForwardStage) -> tuple[Array, Array, Array, Array]:
    """By layer, the largest sums of |W_1| and |W_2| over a row, and the largest biases."""
    return (
        np.abs(stage.W_1).sum(axis=2).max(axis=1),
        np.abs(stage.b_1).max(axis=1),
        np.abs(stage.W_2).sum(axis=2).max(axis=1),
        np.abs(stage.b_2).max(axis=1),
    )


# Weights never change, and proofs come back to the same stages with every chunk of cells.
_GAINS: WeakKeyDictionary[FeedForwardStage, tuple[Array, Array, Array, Array]] = WeakKeyDictionary()
_TAME: WeakSet[Network] = WeakSet()


def _end(arithmetic: Arithmetic) -> float:
    return ROOM * 2.0 ** (arithmetic.dtype.end_exponent - 1) * 2


def _check_finite(stage: Stage, sizes: Array, arithmetic: Arithmetic) -> None:
    fine = sizes < _end(arithmetic)
    if not fine.all():
        layer = int((~fine).argmax())
        raise NotShown(
            f"{place(stage, layer)} may overflow in {arithmetic.dtype}: it computes numbers up to "
            f"{_known(sizes[layer])}"
        )


def _known(size: float) -> str:
    return f"{size:.3g}" if np.isfinite(size) else "an unknown size"


def place(stage: Stage, layer: int) -> str:
    """Where a layer is, in words for a message."""
    kind = "attention" if isinstance(stage, AttentionStage) else "feed-forward"
    return f"{kind} layer {layer} of the stage {stage.name!r}"
