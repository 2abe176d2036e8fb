"""A property as VNN-LIB text: in version 2.0, and in the dialect of 1.0 that today's tools read."""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import numpy as np

from anyformer.exports.onnx.plain import INPUT, OUTPUT
from anyformer.exports.vnnlib.decimals import exact_decimal
from anyformer.exports.vnnlib.properties import Comparison, Property
from anyformer.networks.dtypes import DType

Entry: TypeAlias = tuple[int, int]
Naming: TypeAlias = Callable[[str, Entry], str]


def version_2(asked: Property, dtype: DType) -> str:
    """VNN-LIB 2.0: tensors of the network's own type and shape, (1, tokens, width)."""
    tokens, width = asked.low.shape
    head = [
        "(vnnlib-version <2.0>)",
        "(declare-network network",
        f"  (declare-input {INPUT} {dtype.name} [1,{tokens},{width}])",
        f"  (declare-output {OUTPUT} {dtype.name} [1,{tokens},{width}])",
        ")",
    ]
    return _text([*head, *_assertions(asked, lambda tensor, entry: f"{tensor}[0,{entry[0]},{entry[1]}]")])


def version_1(asked: Property, dtype: DType) -> str:
    """The dialect of 1.0: a real constant for every number, inputs and outputs counted token by token."""
    width = asked.low.shape[1]

    def named(tensor: str, entry: Entry) -> str:
        return f"{tensor}_{entry[0] * width + entry[1]}"

    names = [named(tensor, entry) for tensor in (INPUT, OUTPUT) for entry in np.ndindex(*asked.low.shape)]
    return _text([*(f"(declare-const {name} Real)" for name in names), *_assertions(asked, named)])


DIALECTS: Final[dict[str, Callable[[Property, DType], str]]] = {"": version_2, "1.0/": version_1}
"""By where they are in a benchmark's folder: each place is a benchmark of its own."""


def _assertions(asked: Property, named: Naming) -> Iterator[str]:
    for entry in np.ndindex(*asked.low.shape):
        name = named(INPUT, entry)
        yield f"(assert (>= {name} {exact_decimal(float(asked.low[entry]))}))"
        yield f"(assert (<= {name} {exact_decimal(float(asked.high[entry]))}))"
    if len(asked.alternatives) == 1:
        yield from (f"(assert {_comparison(one, named)})" for one in asked.alternatives[0])
        return
    yield "(assert (or"
    for alternative in asked.alternatives:
        yield f"  (and {' '.join(_comparison(one, named) for one in alternative)})"
    yield "))"


def _comparison(one: Comparison, named: Naming) -> str:
    return f"({one.sense.value} {named(OUTPUT, one.entry)} {exact_decimal(one.threshold)})"


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
