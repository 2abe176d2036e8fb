"""Running a softmax/ReLU network on many sequences: blocks of them, spread over threads, each block in one go.

The meaning of a network is fixed to the last bit (`networks.evaluate`), so blocks, threads, engines and skipping can
only change the time it takes.
"""

import enum
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from anyformer.arrays import Array, as_sequences
from anyformer.errors import NetworkError
from anyformer.extras import require
from anyformer.networks.dtypes import FLOAT64
from anyformer.networks.layers import AttentionStage
from anyformer.networks.network import Network
from anyformer.networks.runs import Layers
from anyformer.runtime.attention import attend
from anyformer.runtime.fixed_channels import fixed_channels
from anyformer.runtime.narrow import Narrow
from anyformer.runtime.sparse_rows import LinearMap
from anyformer.runtime.state import Step, empty_state

# The most tokens in a block: they fit into the cache and are enough to keep the vector units busy.
BLOCK_TOKENS = 1 << 12
# Fewer are not worth a thread.
LEAST_TOKENS = 1 << 8


class Engine(enum.Enum):
    """What computes the feed-forward layers."""

    COMPILED = "compiled by Numba for this width"
    NUMPY = "plain NumPy"


def run(
    network: Network,
    x: ArrayLike,
    layers: Layers = Layers.AWAKE,
    engine: Engine | None = None,
    threads: int | None = None,
) -> Array:
    """Run a softmax/ReLU network on sequences of shape (batch, tokens, width), in bounded memory.

    Args:
        network: the weights.
        x: finite sequences, (batch, tokens, width).
        layers: the awake ones, or all of them; the result is the same.
        engine: `Engine.COMPILED` by default, `Engine.NUMPY` where Numba is not installed; the result is the same.
        threads: as many as there are cores by default; the result is the same.

    Returns:
        An array of the shape of x.
    """
    sequences = as_sequences(x, network.tokens, network.width)
    _check_soft(network)
    threads = threads_available() if threads is None else threads
    if threads < 1:
        raise NetworkError(f"at least one thread is needed; got threads = {threads}")
    run_block = _runner(network, layers, default_engine() if engine is None else engine)
    output = np.empty_like(sequences)
    size = _block_size(len(sequences), network.tokens, threads)

    def compute(start: int) -> None:
        output[start : start + size] = run_block(sequences[start : start + size])

    starts = range(0, len(sequences), size)
    if threads == 1 or len(starts) <= 1:
        for start in starts:
            compute(start)
    else:
        list(_pool(threads).map(compute, starts))
    return output


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that wait for the next call: starting them takes as long as a small network."""
    return ThreadPoolExecutor(threads, thread_name_prefix="anyformer")


# A forked child has none of its parent's threads, and must not wait for them.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def threads_available() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def default_engine() -> Engine:
    """The compiled engine if Numba is there."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return Engine.NUMPY
    return Engine.COMPILED


def _check_soft(network: Network) -> None:
    if not network.is_soft:
        raise NetworkError("only networks without hardmax and jumps are run fast; use networks.evaluate for hard ones")


def _block_size(batch: int, tokens: int, threads: int) -> int:
    """Sequences per block: several blocks for every thread, so that one slow thread does not delay the others."""
    return max(1, min(max(-(-batch // (4 * threads)), LEAST_TOKENS // tokens), BLOCK_TOKENS // tokens))


@dataclass(frozen=True, eq=False)
class _Prepared:
    """A network as an engine wants it: one step a stage, for states padded to a multiple of tokens."""

    steps: list[Step]
    multiple: int
    times: Callable[[LinearMap, Array], Array]
    """The engine's W x + b, for finite x."""
    embedding: LinearMap | None
    read_out: LinearMap | None


# What an engine makes of the weights (packed arrays, search trees) is kept as long as the network lives.
_KNOWN: WeakKeyDictionary[Network, dict[tuple[Layers, Engine], _Prepared]] = WeakKeyDictionary()


_KNOWN_NARROW: WeakKeyDictionary[Network, dict[Engine, Narrow]] = WeakKeyDictionary()


def _runner(network: Network, layers: Layers, engine: Engine) -> Callable[[Array], Array]:
    """What computes the output of a block of sequences."""
    if network.dtype == FLOAT64:
        return partial(_run_block, network, _prepare(network, layers, engine))
    known = _KNOWN_NARROW.setdefault(network, {})
    if engine not in known:
        _check_engine(engine)
        known[engine] = Narrow(network, engine is Engine.COMPILED)
    return known[engine].run


def _check_engine(engine: Engine) -> None:
    if engine is Engine.COMPILED:
        require("numba", extra="fast", what="the compiled engine")


def _prepare(network: Network, layers: Layers, engine: Engine) -> _Prepared:
    known = _KNOWN.setdefault(network, {})
    if (layers, engine) not in known:
        _check_engine(engine)
        # Only the module that is asked for is imported: Numba is optional, and takes a while.
        by = import_module(f"anyformer.runtime.{_MODULES[engine]}")
        feed = by.feed_all if layers is Layers.ALL else by.feed_awake
        steps = [
            attend(stage, network.views(k), fixed) if isinstance(stage, AttentionStage) else feed(stage)
            for k, (stage, fixed) in enumerate(zip(network.stages, fixed_channels(network), strict=True))
        ]
        multiple = by.multiple_of_tokens(network.stream_width)
        known[layers, engine] = _Prepared(steps, multiple, by.times, *_around(network))
    return known[layers, engine]


def _around(network: Network) -> tuple[LinearMap | None, LinearMap | None]:
    """The embedding, which starts from 0, and the read-out."""
    if network.W_E is None or network.W_R is None or network.b_R is None:
        return None, None
    return LinearMap.of(network.W_E, np.zeros(network.stream_width)), LinearMap.of(network.W_R, network.b_R)


_MODULES = {Engine.COMPILED: "compiled", Engine.NUMPY: "plain"}


def _run_block(network: Network, prepared: _Prepared, sequences: Array) -> Array:
    count = sequences.shape[0] * sequences.shape[1]
    x = sequences.reshape(count, network.width).T
    state = empty_state(network.stream_width, count, prepared.multiple)
    state[:, :count] = x if prepared.embedding is None else prepared.times(prepared.embedding, x)
    if network.positional_encoding is not None:
        by_sequence = state[:, :count].reshape(network.stream_width, *sequences.shape[:2])
        state[:, :count] = (by_sequence + network.positional_encoding.T[:, None, :]).reshape(-1, count)
    for step in prepared.steps:
        step(state, network.tokens)
    output = state[:, :count] if prepared.read_out is None else _read(prepared, state[:, :count])
    # + 0.0 drops the sign of zeros, which skipping would show.
    return output.T.reshape(sequences.shape) + 0.0


def _read(prepared: _Prepared, state: Array) -> Array:
    """The output of a network with a read-out; tokens that have overflowed are read with every product."""
    assert prepared.read_out is not None
    with np.errstate(all="ignore"):
        has_overflowed = ~np.isfinite(state).all(axis=0)
        output = prepared.times(prepared.read_out, np.where(has_overflowed, 0.0, state))
        if has_overflowed.any():
            output[:, has_overflowed] = prepared.read_out.all_products(state[:, has_overflowed])
    return output
