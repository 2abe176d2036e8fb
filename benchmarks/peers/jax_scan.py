"""jax.lax.scan over the layers, compiled; with products of matrices or sums of rows, unrolled a little or not."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from anyformer.arrays import Array
from benchmarks.cases import Case
from benchmarks.interleave import Program
from benchmarks.peers.halves import on_threads, split

UNROLLS = (1, 4, 16)
USUAL = "columns, unroll 1"


def programs(case: Case, only: frozenset[str]) -> Iterator[Program]:
    """Two ways to write a layer, three unrollings, all tokens in one call or half of them on each of two threads."""
    jax.config.update("jax_enable_x64", True)
    stage = case.stage
    weights = tuple(jnp.asarray(each) for each in (stage.W_1, stage.b_1, stage.W_2, stage.b_2))
    for layout, (layer, place, read) in WAYS.items():
        for unroll in UNROLLS:
            for halves in ("", ", two halves"):
                name = f"{layout}, unroll {unroll}{halves}"
                if not only or name in only:
                    parts = split(case.inputs) if halves else [case.inputs]
                    yield _program(name, _jitted(layer, unroll), weights, [place(part) for part in parts], read)


def _program(
    name: str, through: Callable[..., Any], weights: tuple[Any, ...], parts: list[Any], read: Callable[[Any], Array]
) -> Program:
    def call(part: Any) -> Any:
        return jax.block_until_ready(through(part, weights))

    together = on_threads(call, parts) if len(parts) > 1 else lambda: [call(parts[0])]
    return Program(
        name, together, lambda states: np.concatenate([read(state) for state in states]), 0.0, "", name == USUAL
    )


def _jitted(layer: Callable[..., Any], unroll: int) -> Callable[..., Any]:
    return jax.jit(lambda state, weights: jax.lax.scan(layer, state, weights, unroll=unroll)[0])


def _column_layer(state: Any, weights: tuple[Any, ...]) -> tuple[Any, None]:
    W_1, b_1, W_2, b_2 = weights
    hidden = jnp.maximum(W_1 @ state + b_1[:, None], 0.0)
    return state + W_2 @ hidden + b_2[:, None], None


def _row_by_row_layer(rows: tuple[Any, ...], weights: tuple[Any, ...]) -> tuple[Any, None]:
    W_1, b_1, W_2, b_2 = weights
    hidden = [jnp.maximum(each, 0.0) for each in _sums(W_1, b_1, rows)]
    return tuple(row + move for row, move in zip(rows, _sums(W_2, b_2, hidden), strict=True)), None


def _sums(weights: Any, biases: Any, rows: Any) -> list[Any]:
    return [sum((weights[i, j] * row for j, row in enumerate(rows)), biases[i]) for i in range(len(biases))]


WAYS: dict[str, tuple[Callable[..., Any], Callable[[Array], Any], Callable[[Any], Array]]] = {
    "columns": (_column_layer, lambda x: jnp.asarray(x.T), lambda state: np.asarray(state).T),
    "written out": (_row_by_row_layer, lambda x: tuple(map(jnp.asarray, x.T)), lambda rows: np.stack(rows, axis=1)),
}
