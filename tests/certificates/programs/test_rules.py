"""Every rule of heads and units on weights made by hand: right ones get a small bound, wrong ones no false one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from anyformer.arrays import Array
from anyformer.certificates.programs import units as checked_units
from anyformer.certificates.programs.bound import bound_of_program
from anyformer.certificates.programs.hints import Hint
from anyformer.certificates.programs.layers import Attention, joined_layers
from anyformer.errors import NotShown
from anyformer.networks.layers import AttentionStage, BlockShape, FeedForwardStage, Stage
from anyformer.networks.network import Network
from anyformer.patterns.neighbours import from_pairs
from anyformer.patterns.pattern import SparsityPattern
from anyformer.programs.builder import Builder
from anyformer.programs.forms import Form
from anyformer.programs.numbers import Number
from anyformer.programs.program import Program
from anyformer.programs.steps import Attend, Mix, Norm, Table
from anyformer.programs.values import evaluate
from anyformer.runtime.run import run

TOKENS, WIDTH = 3, 2
STREAM = 6  # two inputs, then channels to be written; the last two may hold positions
LOW, HIGH = -1.0, 2.0


def program(make: Callable[[Builder, Form, Form], Form]) -> Program:
    """The function whose both outputs are this form of the two inputs."""
    builder = Builder(TOKENS, WIDTH)
    form = make(builder, builder.input(0), builder.input(1))
    return builder.program(np.full(WIDTH, LOW), np.full(WIDTH, HIGH), [form, form])


def units(*rows: tuple[dict[int, float], float, dict[int, float]], shift: dict[int, float] | None = None) -> Stage:
    """A feed-forward layer: for every unit what it reads, its bias, and what it writes."""
    W_1, b_1, W_2 = np.zeros((len(rows), STREAM)), np.zeros(len(rows)), np.zeros((STREAM, len(rows)))
    b_2 = np.zeros(STREAM)
    for k, (reads, bias, writes) in enumerate(rows):
        b_1[k] = bias
        for channel, weight in reads.items():
            W_1[k, channel] = weight
        for channel, weight in writes.items():
            W_2[channel, k] = weight
    for channel, value in (shift or {}).items():
        b_2[channel] = value
    return FeedForwardStage("units", W_1[None], b_1[None], W_2[None], b_2[None])


def head(
    value: dict[int, float],
    to: int,
    query: dict[int, float] | None = None,
    bias: float = 0.0,
    key: dict[int, float] | None = None,
) -> Stage:
    """A layer with one head of size 1."""
    W_Q, W_K, W_V, W_O = (np.zeros((1, 1, STREAM)) for _ in range(4))
    for row, entries in ((W_Q, query or {}), (W_K, key or {}), (W_V, value), (W_O, {to: 1.0})):
        for channel, weight in entries.items():
            row[0, 0, channel] = weight
    return AttentionStage("head", W_Q[None], np.full((1, 1, 1), bias), W_K[None], W_V[None], W_O.swapaxes(1, 2)[None])


def network(read: dict[int, float], *stages: Stage, bias: float = 0.0, positions: Array | None = None) -> Network:
    """Both outputs read the same channels."""
    W_E, W_R = np.eye(STREAM, WIDTH), np.zeros((WIDTH, STREAM))
    for channel, weight in read.items():
        W_R[:, channel] = weight
    shape = BlockShape(1, 1, max((stage.sizes.get("hidden_size", 1) for stage in stages), default=1))
    return Network(TOKENS, WIDTH, shape, stages, positions, None, W_E, W_R, np.full(WIDTH, bias))


@dataclass(frozen=True, eq=False)
class Example:
    """A program, a network for it and hints; wrong ones by what is wrong."""

    program: Program
    network: Network
    hints: tuple[Hint, ...]
    exactly: float = 1e-12


def _absolute() -> Example:
    return Example(
        program(lambda builder, a, b: builder.absolute(a - b)),
        network({2: 1.0, 0: -1.0, 1: 1.0}, units(({0: 1.0, 1: -1.0}, 0.0, {2: 2.0}))),
        (Hint(2, 0, 2, slopes=(-1.0,)),),
    )


def _relu() -> Example:
    """max(a + b, 0) = (a + b) + max(−a − b, 0), with a constant of the unit moved into b_2."""
    return Example(
        program(lambda builder, a, b: builder.relu(a + b)),
        network({2: 1.0, 0: 1.0, 1: 1.0}, units(({0: -1.0, 1: -1.0}, 0.0, {2: 1.0}), shift={2: 0.25}), bias=-0.25),
        (Hint(2, 0, 2, slopes=(1.0,), constant=-0.25),),
    )


def _maximum() -> Example:
    return Example(
        program(lambda builder, a, b: builder.maximum(a, b)),
        network({2: 1.0, 1: 1.0}, units(({0: 1.0, 1: -1.0}, 0.0, {2: 1.0}))),
        (Hint(2, 0, 2, slopes=(0.0, 1.0)),),
    )


def _minimum() -> Example:
    return Example(
        program(lambda builder, a, b: builder.minimum(a, b)),
        network({0: 1.0, 2: -1.0}, units(({0: 1.0, 1: -1.0}, 0.0, {2: 1.0}))),
        (Hint(2, 0, 2, slopes=(0.0, 1.0)),),
    )


def _curve() -> Example:
    """exp on [−1, 2] by its chord between the ends, and one unit."""
    low, middle, high = np.exp([LOW, 0.5, HIGH])
    slope, bend = (middle - low) / 1.5, (high - 2 * middle + low) / 1.5
    constant = low - slope * LOW
    return Example(
        program(lambda builder, a, b: builder.apply("exp", a)),
        network({2: 1.0, 0: slope}, units(({0: 1.0}, -0.5, {2: bend})), bias=constant),
        (Hint(2, 0, 2, slopes=(float(slope),), constant=float(constant)),),
        exactly=np.exp(2.0) * 1.5**2 / 8,
    )


def _product() -> Example:
    """a·b = ¼(a + b)² − ¼(a − b)², each square by three pieces."""

    def square(low: float, high: float, sign: float, reads: dict[int, float]) -> tuple[float, float, list[Any]]:
        knots = np.linspace(low, high, 4)
        values = sign * knots**2 / 4
        slopes = np.diff(values) / np.diff(knots)
        rows = [(reads, -float(k), {2: float(w)}) for k, w in zip(knots[1:-1], np.diff(slopes), strict=True)]
        return float(slopes[0]), float(values[0] - slopes[0] * low), rows

    s, c, first = square(-2.0, 4.0, 1.0, {0: 1.0, 1: 1.0})
    t, d, second = square(-3.0, 3.0, -1.0, {0: 1.0, 1: -1.0})
    return Example(
        program(lambda builder, a, b: builder.product(a, b)),
        network({2: 1.0, 0: s + t, 1: s - t}, units(*first, *second), bias=c + d),
        (Hint(2, 0, 2, slopes=(s, t), constant=c + d),),
        exactly=2 * 2.0**2 / 16,
    )


def _norm() -> Example:
    """|a| + |b|, shrunk: off by (√2 − 1)/(√2 + 1) relatively."""
    c = 2 / (1 + 2**0.5)
    return Example(
        program(lambda builder, a, b: builder.node(Norm(), a, b)),
        network({2: 1.0, 0: -c, 1: -c}, units(({0: 1.0}, 0.0, {2: 2 * c}), ({1: 1.0}, 0.0, {2: 2 * c}))),
        (Hint(2, 0, 2, slopes=(-c, -c)),),
        exactly=0.1716 * 8**0.5,
    )


POSITIONS = np.zeros((TOKENS, STREAM))
POSITIONS[:, 4], POSITIONS[:, 5] = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]


def _gate() -> Example:
    """(½, 2, 0)·a, by units that sleep at the other tokens."""
    rows = []
    for factor, mine in ((0.5, 4), (2.0, 5)):
        for sign in (1.0, -1.0):
            rows.append(({0: sign, mine: 4.0}, -4.0, {2: sign * factor}))
    return Example(
        program(lambda builder, a, b: builder.gate(Number(np.array([0.5, 2.0, 0.0])), a)),
        network({2: 1.0}, units(*rows), positions=POSITIONS),
        (Hint(2, 0, 2, slopes=(0.0,)),),
    )


def _mean() -> Example:
    return Example(
        program(lambda builder, a, b: builder.mean(a) + b),
        network({2: 1.0, 1: 1.0}, head({0: 1.0}, 2)),
        (Hint(2, 0, 2, head=0),),
    )


def _largest() -> Example:
    return Example(
        program(lambda builder, a, b: builder.largest(a)),
        network({2: 1.0}, head({0: 1.0}, 2, bias=1e4, key={0: 1.0})),
        (Hint(2, 0, 2, head=0),),
        exactly=2 / (np.e * 1e4) * 1.001,
    )


def _mixing() -> Example:
    """Scores that depend on the query and the key: two channels of positions give the table log(shares)."""
    scores = np.array([[0.4, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return Example(
        program(lambda builder, a, b: builder.node(Mix(Table(shares, 1e-15)), a, is_uniform=False)),
        network({2: 1.0}, head({0: 1.0}, 2, query={4: 0.4}, key={4: 1.0}), positions=POSITIONS),
        (Hint(2, 0, 2, head=0),),
    )


def _attention() -> Example:
    return Example(
        program(lambda builder, a, b: builder.attend([a], [b], b)),
        network({2: 1.0}, head({1: 1.0}, 2, query={0: 1.0}, key={1: 1.0})),
        (Hint(2, 0, 2, head=0),),
    )


EXAMPLES: dict[str, Callable[[], Example]] = {
    "absolute": _absolute,
    "relu": _relu,
    "maximum": _maximum,
    "minimum": _minimum,
    "curve": _curve,
    "product": _product,
    "norm": _norm,
    "gate": _gate,
    "mean": _mean,
    "largest": _largest,
    "mixing": _mixing,
    "attention": _attention,
}


def _inputs() -> Array:
    rng = np.random.default_rng(0)
    x = rng.uniform(LOW, HIGH, (3000, TOKENS, WIDTH))
    x[:1000] = rng.choice([LOW, 0.0, HIGH], (1000, TOKENS, WIDTH))
    return x


def _error(example: Example) -> float:
    x = _inputs()
    with np.errstate(all="ignore"):
        return float(np.nan_to_num(np.abs(run(example.network, x) - evaluate(example.program, x)), nan=np.inf).max())


def _bound(example: Example) -> float:
    return bound_of_program(example.program, example.network, example.hints).largest


@pytest.mark.parametrize("name", EXAMPLES)
def test_right_weights_have_a_small_bound(name: str) -> None:
    example = EXAMPLES[name]()
    assert _error(example) <= _bound(example) + 1e-15
    assert _bound(example) <= example.exactly * 1.2 + 1e-9


@pytest.mark.parametrize("factor", [0.0, -1.0, 0.9, 1.0001, 1 + 1e-9])
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_single_wrong_weight_is_noticed(name: str, factor: float) -> None:
    """Exhaustively: each weight of each stage, each entry of the read-out, each slope."""
    example = EXAMPLES[name]()
    for k, stage in enumerate(example.network.stages):
        for array in stage.AXES:
            for at in np.argwhere(getattr(stage, array)):
                changed = getattr(stage, array).copy()
                changed[tuple(at)] *= factor
                stages = list(example.network.stages)
                stages[k] = replace(stage, **{array: changed})
                _is_noticed(replace(example, network=replace(example.network, stages=tuple(stages))))
    for at in np.argwhere(example.network.W_R):
        changed = np.array(example.network.W_R)
        changed[tuple(at)] *= factor
        _is_noticed(replace(example, network=replace(example.network, W_R=changed)))


def _is_noticed(example: Example) -> None:
    try:
        found = _bound(example)
    except NotShown:
        return
    assert _error(example) <= found + 1e-15


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_extra_unit_or_head_belongs_to_no_claim(name: str) -> None:
    example = EXAMPLES[name]()
    for extra in (units(({1: 1.0}, 0.3, {3: 1e-9})), units(({}, 0.0, {}), shift={3: 1e-9}), head({0: 1e-9}, 3)):
        for stages in ((extra, *example.network.stages), (*example.network.stages, extra)):
            with pytest.raises(NotShown):
                _bound(replace(example, network=replace(example.network, stages=stages)))


@pytest.mark.parametrize("name", EXAMPLES)
def test_hints_must_say_what_is_so(name: str) -> None:
    example = EXAMPLES[name]()
    (hint,) = example.hints
    wrong = [(), (hint, hint), (replace(hint, channel=3),), (replace(hint, node=0),), (replace(hint, layer=1),)]
    wrong += [(replace(hint, head=None if hint.head == 0 else 0),), (replace(hint, node=99),)]
    wrong += [(replace(hint, channel=-1),), (replace(hint, channel=0),), (replace(hint, slopes=(np.nan, np.nan)),)]
    for hints in wrong:
        with pytest.raises(NotShown):
            _bound(replace(example, hints=hints))


# Faults that this checker once had


def test_a_coordinate_is_no_norm() -> None:
    example = _norm()
    network_of_one = network({0: 1.0}, units(({}, 0.0, {})))
    claim = Hint(2, 0, 2, slopes=(1.0, 0.0))
    idle = replace(example, network=network_of_one, hints=())
    with pytest.raises(NotShown):
        _bound(idle)
    # A layer with another claim, so that there is a layer to claim in.
    builder = Builder(TOKENS, WIDTH)
    a, b = builder.input(0), builder.input(1)
    form = builder.node(Norm(), a, b) + builder.relu(a).scaled(1e-9)
    both = builder.program(np.full(WIDTH, LOW), np.full(WIDTH, HIGH), [form, form])
    made = network({0: 1.0, 3: 1e-9}, units(({0: 1.0}, 0.0, {3: 1.0})))
    _is_noticed(Example(both, made, (claim, Hint(3, 0, 3, slopes=(0.0,)))))


def test_a_read_out_that_overflows_is_refused() -> None:
    positions = POSITIONS * 1e308
    example = _absolute()
    made = replace(example.network, positional_encoding=positions)
    W_R = np.array(made.W_R)
    W_R[:, 4] = 1e308
    with pytest.raises(NotShown):
        _bound(replace(example, network=replace(made, W_R=W_R)))


@pytest.mark.parametrize(
    "extra", [units(({0: 1e308, 1: 1e308}, 0.0, {})), head({0: 1e308}, 2, {0: 1e200}, 0.0, {0: 1e200})]
)
def test_what_writes_nothing_may_not_overflow(extra: Stage) -> None:
    """0 times infinity is NaN in float64."""
    if isinstance(extra, AttentionStage):
        extra = replace(extra, W_O=np.zeros_like(extra.W_O))
    example = _absolute()
    made = replace(example, network=replace(example.network, stages=(extra, *example.network.stages)))
    with pytest.raises(NotShown, match="overflow"):
        _bound(made)


def test_a_minimum_of_curves_needs_units_of_its_own() -> None:
    """min(e^a, a²) is a curve of a: e^a + a² − max is off by all three errors, not by that of the maximum."""
    builder = Builder(TOKENS, WIDTH)
    a = builder.input(0)
    builder.input(1)
    first, second = builder.apply("exp", a), builder.apply("square", a)
    least = builder.minimum(first, second)
    made = builder.program(np.full(WIDTH, LOW), np.full(WIDTH, HIGH), [least, first])
    from anyformer.construction.compiling.budget import Budget
    from anyformer.construction.compiling.schedule import needed
    from anyformer.construction.compiling.writer import Writer
    from anyformer.programs.ranges import Ranges

    ranges = Ranges(made)
    written = Writer(made, ranges, Budget(made, ranges, needed(made, ranges.roots), 1e-2)).write()
    assert bound_of_program(made, written.network, written.hints).largest <= 1e-2
    (node,) = least.terms
    with pytest.raises(NotShown):
        bound_of_program(made, written.network, [hint for hint in written.hints if hint.node != node.number])


def test_doubts_of_offsets_count() -> None:
    builder = Builder(TOKENS, WIDTH)
    a, b = builder.input(0), builder.input(1)
    offsets = Table(np.zeros((TOKENS, TOKENS)), 0.1)
    form = builder.node(Attend(1, offsets), a, b, b, is_uniform=False)
    made = builder.program(np.full(WIDTH, LOW), np.full(WIDTH, HIGH), [form, form])
    example = replace(_attention(), program=made)
    # Scores off by ±0.1 move a mean of values 3 apart by tanh(0.05)·3, at the most.
    assert np.tanh(0.05) * 3 <= _bound(example) <= np.tanh(0.05) * 4.01


def test_a_mean_over_some_tokens_is_no_mean() -> None:
    example = _mean()
    pairs = [(query, key) for query in range(TOKENS) for key in range(TOKENS) if (query, key) != (2, 0)]
    seen = SparsityPattern(((from_pairs(TOKENS, *zip(*pairs, strict=True)),),))
    with pytest.raises(NotShown, match="sees all"):
        _bound(replace(example, network=replace(example.network, pattern=seen)))


def test_a_channel_is_written_once() -> None:
    """Two layers that write one channel: the second claim would be about a sum."""
    builder = Builder(TOKENS, WIDTH)
    a, b = builder.input(0), builder.input(1)
    form = builder.relu(a) + builder.largest(b)
    made = builder.program(np.full(WIDTH, LOW), np.full(WIDTH, HIGH), [form, form])
    both = network({2: 1.0}, units(({0: 1.0}, 0.0, {2: 1.0})), head({1: 1.0}, 2, bias=1e4, key={1: 1.0}))
    hints = (Hint(2, 0, 2, slopes=(0.0,)), Hint(3, 1, 2, head=0))
    with pytest.raises(NotShown, match="once"):
        bound_of_program(made, both, hints)


def test_a_network_of_other_sizes_is_refused() -> None:
    builder = Builder(TOKENS + 1, WIDTH + 1)
    forms = [builder.input(k) for k in range(WIDTH + 1)]
    larger = builder.program(np.zeros(WIDTH + 1), np.ones(WIDTH + 1), forms)
    with pytest.raises(NotShown, match="tokens and width"):
        bound_of_program(larger, _absolute().network, ())


def _beyond_its_range() -> Example:
    """max(‖(a, b)‖, 0), with a unit that sleeps on the exact norms, up to √8, and wakes on those that are computed."""
    norm = _norm()
    builder = Builder(TOKENS, WIDTH)
    form = builder.relu(builder.node(Norm(), builder.input(0), builder.input(1)))
    both = builder.program(np.full(WIDTH, LOW), np.full(WIDTH, HIGH), [form, form])
    c = -norm.hints[0].slopes[0]
    late = units(({2: 1.0, 0: -c, 1: -c}, -(8**0.5) - 1e-9, {3: 100.0}))
    made = network({2: 1.0, 0: -c, 1: -c, 3: 1.0}, *norm.network.stages, late)
    return Example(both, made, (*norm.hints, Hint(3, 1, 3, slopes=(1.0,))))


def test_computed_arguments_lie_beyond_the_range() -> None:
    assert _error(_beyond_its_range()) > 40
    _is_noticed(_beyond_its_range())


def test_the_test_sees_a_missing_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_units.Along, "room_of", staticmethod(lambda stream, form, r: (0.0, 0.0)))
    with pytest.raises(AssertionError):
        _is_noticed(_beyond_its_range())


# Layers


def stacked(*stages: Stage) -> Stage:
    """Layers of one kind and size as one stage."""
    first = stages[0]
    return replace(first, **{name: np.concatenate([getattr(one, name) for one in stages]) for name in first.AXES})


def test_cut_layers_are_joined_and_others_are_not() -> None:
    first, second = units(({0: 1.0}, 0.0, {2: 1.0})), units(({1: 1.0}, 0.0, {2: 1.0}))
    reading = units(({2: 1.0}, 0.0, {3: 1.0}))
    assert len(joined_layers(network({}, stacked(first, second)))) == 1
    assert len(joined_layers(network({}, first, second))) == 2
    assert len(joined_layers(network({}, stacked(first, reading)))) == 2
    # The third reads what the first wrote, not the second.
    assert len(joined_layers(network({}, stacked(first, units(({1: 1.0}, 0.0, {3: 1.0})), reading)))) == 2
    shifted = units(({0: 1.0}, 0.0, {2: 1.0}), shift={2: 0.1})
    assert len(joined_layers(network({}, stacked(shifted, shifted)))) == 2
    mean, other = head({0: 1.0}, 2), head({2: 1.0}, 3)
    (joined,) = joined_layers(network({}, stacked(mean, head({1: 1.0}, 3))))
    assert isinstance(joined, Attention)
    assert len(joined.heads) == 2
    assert len(joined_layers(network({}, stacked(mean, other)))) == 2


def test_a_cut_layer_has_the_same_bound() -> None:
    example = _product()
    (stage,) = example.network.stages
    assert isinstance(stage, FeedForwardStage)
    parts = [
        FeedForwardStage("part", stage.W_1[:, [k]], stage.b_1[:, [k]], stage.W_2[:, :, [k]], stage.b_2)
        for k in range(stage.sizes["hidden_size"])
    ]
    cut = replace(example, network=replace(example.network, stages=(stacked(*parts),)))
    assert _bound(cut) == pytest.approx(_bound(example), rel=1e-12)
