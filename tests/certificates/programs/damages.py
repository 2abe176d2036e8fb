"""Damaged networks, hints and programs, and the judgement of each: a bound must never be below the error measured."""

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.programs.bound import bound_of_program
from anyformer.certificates.programs.hints import Hint
from anyformer.construction.request import Request
from anyformer.errors import CertificateError, NetworkError, NotTraceable
from anyformer.networks.layers import weights
from anyformer.networks.network import Network
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.program import Program
from anyformer.programs.tracing import trace
from anyformer.programs.values import evaluate
from anyformer.runtime.run import run
from anyformer.targets.target import Target
from tests.certificates.programs.functions import TARGETS, own

TOLERANCE = 1e-3
SAMPLES = 2000
# The values of program and network are float64 numbers themselves; measured errors below this are their rounding.
ROUNDING = 2.0**-40


class Outcome(enum.Enum):
    """What the checker made of a damage."""

    REFUSED = "refused"
    LARGER = "larger bound"
    SAME = "same bound"
    UNSOUND = "unsound"
    CRASH = "crash"


@dataclass(frozen=True, eq=False)
class Case:
    """A compiled target, inputs that reach the corners of its domain, and the values there."""

    target: Target
    program: Program
    network: Network
    hints: tuple[Hint, ...]
    bound: float
    x: Array


@dataclass(frozen=True, eq=False)
class Damaged:
    """What the checker is shown instead."""

    what: str
    program: Program
    network: Network
    hints: tuple[Hint, ...]


@cache
def case(name: str) -> Case:
    """The undamaged case of this name."""
    from anyformer.construction.methods.compile import Compile

    target = TARGETS[name]()
    plan = Compile().plan(Request(target=target, tolerance=TOLERANCE, p=math.inf))
    program = trace(target)
    network, hints = plan.written.network, plan.written.hints
    return Case(target, program, network, hints, bound_of_program(program, network, hints).largest, inputs(target))


def inputs(target: Target, count: int = SAMPLES, seed: int = 0) -> Array:
    """Corners, sequences with a distribution of their own each, and sequences whose tokens lie close together."""
    rng = np.random.default_rng(seed)
    shape = (count, target.tokens, target.width)
    a, b = (np.exp(rng.uniform(-2.5, 2.5, (count, 1, target.width))) for _ in range(2))
    unit = rng.beta(a, b, shape)
    unit[: count // 4] = rng.integers(0, 2, (count // 4, *shape[1:]))
    near = rng.random((count, 1, 1)) * (rng.random((count, 1, 1)) < 0.3)
    unit = unit * (1 - near) + near * unit.mean(axis=1, keepdims=True)
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    return np.asarray(np.clip(low + unit * (high - low), low, high))


def judged(one: Case, damaged: Damaged) -> tuple[Outcome, str]:
    """The outcome, and what to say of it."""
    try:
        bound = bound_of_program(damaged.program, damaged.network, damaged.hints).largest
    except (CertificateError, NotTraceable):
        return Outcome.REFUSED, damaged.what
    except Exception as error:
        return Outcome.CRASH, f"{damaged.what}: {type(error).__name__}: {error}"
    error = measured(damaged, one.x)
    if not error <= bound:
        return Outcome.UNSOUND, f"{damaged.what}: measured {error!r}, bound {bound!r}"
    return (Outcome.LARGER if bound > one.bound * (1 + 1e-9) else Outcome.SAME), damaged.what


def measured(damaged: Damaged, x: Array) -> float:
    """The largest error on the inputs, without what may be rounding of the values themselves; NaN is infinite."""
    with np.errstate(all="ignore"):
        f, g = evaluate(damaged.program, x), run(damaged.network, x)
        error = np.abs(f - g) - ROUNDING * (np.abs(f) + np.abs(g))
    return float(np.nan_to_num(error, nan=np.inf, posinf=np.inf).max())


def damage(one: Case, rng: np.random.Generator) -> Damaged:
    """One damage of a kind chosen at random."""
    while True:
        kind = KINDS[rng.integers(len(KINDS))]
        try:
            made = kind(one, rng)
        except NetworkError:
            continue  # no network at all: it cannot be stored, nor shown to the checker
        if made is not None:
            return made


# Weights


def _arrays(network: Network) -> dict[tuple[int, str], Array]:
    """All arrays of a network, by stage (−1 for those around the stages) and name."""
    found = {(k, name): a for k, stage in enumerate(network.stages) for name, a in weights(stage).items()}
    for name in ("W_E", "W_R", "b_R", "positional_encoding"):
        array = getattr(network, name)
        if array is not None:
            found[-1, name] = array
    return {key: array for key, array in found.items() if array.size}


def changed_network(network: Network, arrays: dict[tuple[int, str], Array]) -> Network:
    """The network with other arrays in some places."""
    stages = list(network.stages)
    for (k, name), array in arrays.items():
        if k >= 0:
            stages[k] = replace(stages[k], **{name: array})
    around: dict[str, Any] = {name: array for (k, name), array in arrays.items() if k < 0}
    return replace(network, stages=tuple(stages), **around)


def _new_value(old: float, rng: np.random.Generator) -> tuple[str, float]:
    size = 10.0 ** rng.integers(-14, 1)
    ways = {
        "multiplied": old * (1 + rng.normal() * size),
        "negated": -old,
        "zeroed": 0.0,
        "shifted": old + rng.normal() * size,
        "replaced": float(rng.normal()),
        "doubled": old * 2,
        "made huge": math.copysign(10.0 ** float(rng.integers(3, 300)), old),
        "made tiny": math.copysign(10.0 ** -float(rng.integers(3, 300)), old),
    }
    name = list(ways)[rng.choice(len(ways), p=[0.25, 0.1, 0.1, 0.25, 0.1, 0.1, 0.05, 0.05])]
    return name, ways[name]


def _weights(one: Case, rng: np.random.Generator, among: Callable[[str], bool] = lambda name: True) -> Damaged | None:
    arrays = {key: array.copy() for key, array in _arrays(one.network).items() if among(key[1])}
    if not arrays:
        return None
    keys, said, touched = list(arrays), [], {}
    for _ in range(1 if rng.random() < 0.7 else rng.integers(2, 6)):
        key = keys[rng.integers(len(keys))]
        flat = arrays[key].reshape(-1)
        some = np.flatnonzero(flat)
        at = int(rng.choice(some)) if len(some) and rng.random() < 0.8 else int(rng.integers(len(flat)))
        how, value = _new_value(float(flat[at]), rng)
        said.append(f"{key}[{at}] {how}: {flat[at]!r} to {value!r}")
        flat[at], touched[key] = value, arrays[key]
    return Damaged("; ".join(said), one.program, changed_network(one.network, touched), one.hints)


def _scores(one: Case, rng: np.random.Generator) -> Damaged | None:
    return _weights(one, rng, lambda name: name in ("W_Q", "W_K", "b_Q"))


def _positions(one: Case, rng: np.random.Generator) -> Damaged | None:
    return _weights(one, rng, lambda name: name == "positional_encoding")


def _read_out(one: Case, rng: np.random.Generator) -> Damaged | None:
    return _weights(one, rng, lambda name: name in ("W_R", "b_R", "W_E"))


def _head(one: Case, rng: np.random.Generator) -> Damaged | None:
    """A query and a key of one head, of any size."""
    attending = [k for k, stage in enumerate(one.network.stages) if stage.kind == "attention"]
    if not attending:
        return None
    k = attending[rng.integers(len(attending))]
    arrays = {name: array.copy() for name, array in weights(one.network.stages[k]).items()}
    _, heads, size, width = arrays["W_Q"].shape
    head, row, size_of = rng.integers(heads), rng.integers(size), 10.0 ** rng.uniform(-12, 1)
    if rng.random() < 0.5:
        arrays["b_Q"][0, head, row] += rng.normal() * size_of
    else:
        arrays["W_Q"][0, head, row, rng.integers(width)] += rng.normal() * size_of
    arrays["W_K"][0, head, row, rng.integers(width)] += rng.normal()
    network = changed_network(one.network, {(k, name): array for name, array in arrays.items()})
    return Damaged(f"head {head} of stage {k}, row {row}, by {size_of}", one.program, network, one.hints)


def _units(one: Case, rng: np.random.Generator) -> Damaged | None:
    """A unit dropped, doubled, or its knot moved; or two units exchanged in part."""
    feeding = [k for k, stage in enumerate(one.network.stages) if stage.kind == "feed_forward"]
    if not feeding:
        return None
    k = feeding[rng.integers(len(feeding))]
    arrays = {name: array.copy() for name, array in weights(one.network.stages[k]).items()}
    units = arrays["b_1"].shape[1]
    unit, other = rng.integers(units), rng.integers(units)
    way = ("dropped", "doubled", "moved", "biases exchanged", "rows exchanged", "given an output")[rng.integers(6)]
    if way == "dropped":
        arrays["W_2"][:, :, unit] = 0
    elif way == "doubled":
        arrays["W_2"][:, :, unit] *= 2
    elif way == "moved":
        arrays["b_1"][:, unit] += rng.normal() * 10.0 ** rng.integers(-12, 1)
    elif way == "given an output":
        arrays["b_2"][:, rng.integers(arrays["b_2"].shape[1])] += rng.normal() * 10.0 ** rng.integers(-12, 1)
    else:
        name = "b_1" if way == "biases exchanged" else "W_1"
        arrays[name][:, [unit, other]] = arrays[name][:, [other, unit]]
    network = changed_network(one.network, {(k, name): array for name, array in arrays.items()})
    return Damaged(f"unit {unit} of stage {k} {way}", one.program, network, one.hints)


def _layer_order(one: Case, rng: np.random.Generator) -> Damaged | None:
    stages = list(one.network.stages)
    if len(stages) < 2:
        return None
    i, j = rng.choice(len(stages), 2, replace=False)
    way = rng.integers(3)
    if way == 0:
        stages[i], stages[j] = stages[j], stages[i]
    elif way == 1:
        del stages[i]
    else:
        stages.insert(i, stages[j])
    what = f"stages {i} and {j}: {('exchanged', 'first dropped', 'second doubled')[way]}"
    return Damaged(what, one.program, replace(one.network, stages=tuple(stages)), one.hints)


# Hints


def _hints(one: Case, rng: np.random.Generator) -> Damaged | None:
    hints = list(one.hints)
    if not hints:
        return None
    at, other = rng.integers(len(hints)), rng.integers(len(hints))
    hint, name = hints[at], ("node", "layer", "channel", "head", "slopes", "constant", "stretch")[rng.integers(7)]
    way = rng.integers(5)
    if way == 0:
        hints[at], hints[other] = (
            replace(hint, **{name: getattr(hints[other], name)}),
            replace(hints[other], **{name: getattr(hint, name)}),
        )
    elif way == 1:
        del hints[at]
    elif way == 2:
        hints.append(hint)
    else:
        hints[at] = replace(hint, **{name: _other_field(one, hint, name, rng)})
    what = f"hint {at} ({hint}), {name}: {('exchanged', 'dropped', 'doubled', 'changed', 'changed')[way]}"
    return Damaged(
        f"{what} with {other}, now {hints[min(at, len(hints) - 1)] if hints else None}",
        one.program,
        one.network,
        tuple(hints),
    )


def _other_field(one: Case, hint: Hint, name: str, rng: np.random.Generator) -> Any:
    if name == "slopes":
        shifts = rng.normal(size=len(hint.slopes)) * 10.0 ** rng.integers(-14, 1)
        return tuple(float(slope + shift) for slope, shift in zip(hint.slopes, shifts, strict=True))[: rng.integers(4)]
    if name == "constant":
        return float(hint.constant + rng.normal() * 10.0 ** rng.integers(-14, 1))
    if name == "stretch":
        return hint.stretch * float(rng.choice([0.5, 2.0, 4.0, 1.5, -1.0, 0.0]))
    most = {
        "node": len(one.program.nodes),
        "layer": len(one.network.stages),
        "channel": one.network.stream_width,
        "head": 3,
    }
    return int(rng.integers(-1, most[name] + 1))


def _hints_and_weights(one: Case, rng: np.random.Generator) -> Damaged | None:
    """A constant or slope changed here and there, so that it may cancel."""
    first = _hints(one, rng)
    assert first is not None or not one.hints
    second = _units(one, rng) or _weights(one, rng)
    if first is None or second is None:
        return second
    return Damaged(f"{first.what}; {second.what}", one.program, second.network, first.hints)


# What is asked for


def _outputs(one: Case, rng: np.random.Generator) -> Damaged | None:
    """Other forms of the same nodes as outputs."""
    outputs = list(one.program.outputs)
    at, other, nodes = rng.integers(len(outputs)), rng.integers(len(outputs)), one.program.nodes
    size = float(rng.normal() * 10.0 ** rng.integers(-13, 1))
    ways: list[Callable[[Form], Form]] = [
        lambda form: form.scaled(1 + size),
        lambda form: form + Form.of(size),
        lambda form: form + Form.node(nodes[rng.integers(len(nodes))]).scaled(size),
        lambda form: outputs[other] if len(outputs) > 1 else -form,
        lambda form: form + Form(constant=Number(size * rng.normal(size=one.program.tokens))),
    ]
    way = rng.integers(len(ways))
    outputs[at] = ways[way](outputs[at])
    return Damaged(f"output {at}, way {way}, by {size}", replace(one.program, outputs=outputs), one.network, one.hints)


def _target(one: Case, rng: np.random.Generator) -> Damaged | None:
    """Another function of the same sizes, traced anew."""
    function, size = one.target.function, 10.0 ** float(rng.integers(-12, 0))
    others: list[Callable[..., Any]] = [
        lambda x: function(x) * (1 + size),
        lambda x: function(x * (1 + size)),
        lambda x: function(x) + size * x,
        lambda x: function(x[..., ::-1]),
        lambda x: function(x[:, ::-1]),
        lambda x: np.sin(function(x)),
        lambda x: function(x) + size * np.square(x),
        lambda x: x,
    ]
    which = rng.integers(len(others))
    low, high = one.program.low, one.program.high
    try:
        program = trace(own(others[which], one.target.tokens, one.target.width, float(low[0]), float(high[0])))
    except NotTraceable:
        return None
    return Damaged(f"function {which} by {size}", program, one.network, one.hints)


Kind = Callable[[Case, np.random.Generator], Damaged | None]
KINDS: Sequence[Kind] = (
    *(_weights, _weights, _weights, _scores, _head, _positions, _read_out, _units, _units, _layer_order),
    *(_hints, _hints, _hints, _hints_and_weights, _outputs, _target),
)
