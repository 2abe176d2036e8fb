"""Random NumPy programs: whatever they compute at members of a box lies in the enclosure of the box, or it is refused.

    python -m tests.intervals.random_programs --count 10000 [--seed 0] [--minutes 5]

A program is a dozen random steps (`random_steps`) on one growing list of variables: elementwise functions, reductions,
moves, views of views, in-place operators, conditions, functions that leave their domain, traps. It is run by plain
NumPy at members of boxes, which lie in memory in several ways, and by `enclose` on the boxes. Every fourth program is
made of rational steps alone and is run on fractions, too.
"""

import argparse
import enum
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from anyformer.intervals import IntervalError, enclose
from tests.intervals import random_steps as steps
from tests.intervals.random_steps import Draw, Step, Unfit, Variables
from tests.intervals.samples import members

STEPS = 9
LARGEST = 400
TOKENS, WIDTH = 2, 3
REASONS = {
    "may leave its domain": "domain left",
    "may share memory": "reshape or ravel, then written to",
    "cannot be changed in place": "condition changed in place",
    "undecided": "undecided condition",
    "Conditions are no numbers": "condition as a number",
    "intervals are of float64": "integers",
    "have no attribute": "attribute",
    "cannot become a plain array": "plain array",
    "not supported on intervals": "unsupported function",
    "takes the orders": "order in memory",
    "does not take intervals": "a function without intervals",
    "np.piecewise calls": "undecided condition",
    "it raised": "an error of NumPy's",
    "does not take": "keyword",
    "do not mix with NaN": "NaN",
}


class Kind(enum.Enum):
    """What became of a program."""

    HELD = "all values at members lie in the enclosures"
    UNKNOWN = "nothing is known on any of its boxes"
    REFUSED = "intervals refuse to follow it"
    MISSED = "a value at a member lies outside of its enclosure"


@dataclass(frozen=True)
class Outcome:
    """What became of a program, with the reason of a refusal or the witness of a miss."""

    kind: Kind
    reason: str = ""


@dataclass(frozen=True)
class Program:
    """Steps, and what is made of the variables at the end."""

    steps: tuple[Step, ...]
    shown: tuple[int, ...]
    batch: int | None
    is_rational: bool

    def __call__(self, x: Any, exact: bool = False) -> Any:
        run = Variables([x], exact)
        for step in self.steps:
            step(run)
        result = run.values[0]
        for at in self.shown:
            result = result + self._as_term(run, run.values[at])
        return result

    def _as_term(self, run: Variables, value: Any) -> Any:
        """A variable as something to be added to the argument, entry by entry if it has the shape."""
        if isinstance(value, Fraction):
            return value
        if value.dtype == bool:
            value = np.where(value, run.number(1.0), run.number(3.0))
        if value.ndim == 0 or value.shape == run.values[0].shape:
            return value
        if self.batch is None:
            return value.max() * run.number(2.0) - value.min()
        axes = tuple(range(1, value.ndim))
        return (value.max(axis=axes) * run.number(2.0) - value.min(axis=axes))[:, np.newaxis, np.newaxis]


def generate(seed: int) -> Program:
    """The program of a seed; its steps fit together on plain arrays."""
    rng = np.random.default_rng(seed)
    batch = None if seed % 3 else 4
    is_rational = seed % 4 == 1
    x = rng.uniform(-1, 1, (batch or 1, TOKENS, WIDTH)).round(3)
    run, chosen = Variables([x.copy()]), []
    makers = _makers(is_rational, batch)
    while len(chosen) < STEPS:
        draw = Draw(rng, run.values, batch, is_rational)
        try:
            step = draw.of(*makers)(draw)
            before = len(run.values)
            with np.errstate(all="ignore"):
                step(run)
        except (Unfit, ValueError, TypeError, IndexError, AttributeError, ZeroDivisionError):
            # What fails may have changed something on the way: start from the beginning.
            run = _again(x, chosen)
            continue
        if len(run.values) > before and not _is_usable(run.values[-1], batch):
            run = _again(x, chosen)
            continue
        chosen.append(step)
    shown = (*rng.integers(0, len(run.values), 2).tolist(), len(run.values) - 1)
    return Program(tuple(chosen), shown, batch, is_rational)


def _again(x: np.ndarray, chosen: list[Step]) -> Variables:
    run = Variables([x.copy()])
    with np.errstate(all="ignore"):
        for step in chosen:
            step(run)
    return run


def _is_usable(value: Any, batch: int | None) -> bool:
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind not in "fb" or value.size > LARGEST:
        return False
    return value.size > 0 and (batch is None or (value.ndim > 0 and value.shape[0] == batch))


def _makers(is_rational: bool, batch: int | None) -> list[Callable[[Draw], Step]]:
    rational: list[Callable[[Draw], Step]] = [
        lambda draw: steps.of_one(draw, steps.ANYWHERE, steps.RATIONAL),
        lambda draw: steps.of_two(draw, steps.RATIONAL_OF_TWO),
        lambda draw: steps.reduce(draw, steps.RATIONAL_REDUCTIONS),
        lambda draw: steps.along(draw, steps.RATIONAL_ALONG),
        steps.index,
        steps.set_items,
        steps.in_place,
        steps.in_place_on_part,
        steps.alias,
        steps.compare,
        steps.decide,
    ]
    if is_rational:
        return [*rational, *rational[:4]]
    wild: list[Callable[[Draw], Step]] = [
        lambda draw: steps.of_one(draw, steps.ANYWHERE),
        steps.of_two,
        steps.reduce,
        steps.along,
        steps.move,
    ]
    rare = [
        lambda draw: steps.of_one(draw, steps.PARTLY),
        lambda draw: steps.of_one(draw, steps.COPIES),
        lambda draw: steps.of_one(draw, steps.CONTRACTIONS),
        steps.with_plain,
    ]
    writes = [steps.set_items, steps.in_place, steps.in_place_on_part]
    # Some traps mix the elements of a batch, which no function may do.
    mixing = [lambda draw: steps.of_one(draw, steps.TRAPS), lambda draw: steps.of_one(draw, steps.MIXING)]
    traps = mixing if batch is None else []
    return [*rational, *rational, *writes, *writes, *wild, *wild, *wild, *wild, *rare, *rare, *traps]


def check_program(seed: int) -> Outcome:
    """Enclose the program of a seed on random boxes, and compare with its values at members of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _checked(generate(seed), np.random.default_rng([seed, 1]))


def _checked(program: Program, rng: np.random.Generator) -> Outcome:
    known = 0
    for width in (0.0, 0.02, 1.0):
        low = rng.uniform(-1.2, 1.2, (program.batch or 1, TOKENS, WIDTH))
        high = low + width * rng.uniform(size=low.shape) * rng.choice([0.0, 1.0, 1.0], low.shape)
        try:
            result = enclose(program, low, high)
        except IntervalError as error:
            return Outcome(Kind.REFUSED, _named(str(error)))
        known += np.isfinite(result.low).any() or np.isfinite(result.high).any()
        for member in (low, high, members(rng, low, high), members(rng, low, high)):
            if (miss := _miss(program, member, result)) is not None:
                return Outcome(Kind.MISSED, miss)
    return Outcome(Kind.HELD if known else Kind.UNKNOWN)


def _named(message: str) -> str:
    return next((name for part, name in REASONS.items() if part in message), message)


def _miss(program: Program, member: np.ndarray, result: Any) -> str | None:
    for x in _layouts(member):
        with np.errstate(all="ignore"):
            try:
                values = np.asarray(program(x), dtype=float)
            except Exception as error:
                if isinstance(error, ZeroDivisionError) and np.isinf(result.low).all(axis=(1, 2)).any():
                    continue  # np.average raises it where weights add up to 0: a step without a value
                return f"{type(error).__name__} at {member.tolist()}: {error}"
        vacuous = (result.low == -np.inf) & (result.high == np.inf)
        inside = (result.low <= values) & (values <= result.high)
        if not (inside | vacuous).all():
            return f"{values.tolist()} at {member.tolist()} is not within {result!r}"
    return _exact_miss(program, member, result) if program.is_rational else None


def _exact_miss(program: Program, member: np.ndarray, result: Any) -> str | None:
    try:
        values = program(steps.exactly(member), exact=True)
    except ZeroDivisionError:
        return None
    for value, low, high in zip(values.flat, result.low.flat, result.high.flat, strict=True):
        if not low <= value <= high:
            return f"exactly {float(value)!r} at {member.tolist()} is not within [{low!r}, {high!r}]"
    return None


def _layouts(x: np.ndarray) -> list[np.ndarray]:
    return [x.copy(), x.copy(order="F"), np.repeat(x, 2, axis=-1)[..., ::2], x[:, ::-1].copy()[:, ::-1]]


def main() -> None:
    """Check many programs and count what became of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0)
    asked = parser.parse_args()
    start, counts, first = time.monotonic(), Counter[str](), []
    for seed in range(asked.seed, asked.seed + asked.count):
        if time.monotonic() - start > 60 * asked.minutes:
            break
        outcome = check_program(seed)
        counts[outcome.kind.name] += 1
        if outcome.kind is Kind.REFUSED:
            counts[f"  refused: {outcome.reason[:100]}"] += 1
        if outcome.kind is Kind.MISSED and len(first) < 10:
            first.append((seed, outcome.reason[:400]))
    for name, count in sorted(counts.items(), key=lambda pair: (pair[0].startswith(" "), -pair[1])):
        print(f"{count:7d} {name}")
    for seed, witness in first:
        print(f"missed with seed {seed}: {witness}")


if __name__ == "__main__":
    main()
