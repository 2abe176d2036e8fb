"""Constructions by ids: quantise, give every token of every sequence an integer id, then a value to every id.

What differs between methods is the *context map*, the stages that make ids out of quantised columns; a `Way` names one.
Planning finds the coarsest grid whose table meets the tolerance, and lays out ids and values.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from anyformer.construction import budget
from anyformer.construction.averages import all_sequences, id_count
from anyformer.construction.drafts import Draft, power_of_two_above
from anyformer.construction.growth import error_of_tables, growing_counts
from anyformer.construction.lattice import Integers, Lattice
from anyformer.construction.limits import FLOAT_BITS, Limits, refusal, shortage, too_much_to_prove
from anyformer.construction.methods import Method
from anyformer.construction.plans import ErrorSplit, Plan, PlannedStage
from anyformer.construction.quantise import mark_outside, quantise, to_grid
from anyformer.construction.rowwise import clamp_rows, falling
from anyformer.construction.tables import cell_values
from anyformer.construction.value_map import lifted, round_outputs
from anyformer.construction.value_runs import Runs, find_runs, value_stage
from anyformer.errors import PlanError
from anyformer.networks.activations import Array
from anyformer.networks.layers import BlockShape
from anyformer.targets.target import Target

# Shares of the tolerance: for merging neighbouring ids, and for rounding outputs so that several ids fit in one layer.
MERGE_SHARE = 2.0**-6
ROUNDING_SHARE = 2.0**-12
# Where ids leave outputs with a grain above this share of the tolerance, they have too many bits.
COARSEST = 1 / 8


class ContextMap(Protocol):
    """How quantised columns become ids, whole numbers of cell widths in the first coordinate, all others being 0."""

    @property
    def largest_id(self) -> int:
        """No id is larger."""
        ...

    @property
    def carry(self) -> float:
        """At least this share of a token's first coordinate reaches the ids of all others."""
        ...

    def ids(self, columns: Integers) -> Integers:
        """Ids of sequences of columns, shape (sequences, tokens)."""
        ...

    def drafts(self, lattice: Lattice, slots: int) -> list[Draft]:
        """The stages that make them; feed-forward layers have room for `slots` steps."""
        ...


@dataclass(frozen=True)
class Way:
    """A method of this kind: its name, its grid, its context map, and whether values may be merged and share layers."""

    name: str
    lattice: Callable[[Target, tuple[int, ...], Limits], Lattice]
    context: Callable[[Lattice, Limits], ContextMap]
    is_merging: bool = True


@dataclass(frozen=True, eq=False)
class Sizes:
    """What follows from a grid before any value is known, in the network's own units."""

    lattice: Lattice
    context: ContextMap
    bound: float
    lift: float
    top: float

    @classmethod
    def of(cls, lattice: Lattice, context: ContextMap, bound: float) -> "Sizes":
        """No lifted id reaches half of `top`; the lift is above all outputs and the ramp that strays fall from."""
        lift = 4 * max(bound, power_of_two_above(lattice.largest_entry))
        return cls(
            lattice, context, bound, lift, 2 * power_of_two_above(context.largest_id * lattice.cell_width + lift)
        )

    def quantum(self, widest: int) -> float:
        """The output grain for which a group of ids that reaches over `widest` is moved without any rounding.

        The largest product is (id/ramp)·(reach + ramp) with a ramp of half a cell; 53 bits from there down.
        """
        return self.top * power_of_two_above(2 * widest + 1) * 2.0**-53

    def widest(self, grain: float) -> int:
        """The widest reach that keeps the quantum at or below `grain`."""
        spare = int(np.floor(np.log2(grain / (self.top * 2.0**-53))))
        return 0 if spare < 1 else 2 ** min(spare - 1, 40) - 1


def plan(way: Way, target: Target, tolerance: float, p: float, limits: Limits) -> Plan:
    """The coarsest grid that meets the tolerance, or a refusal."""
    if id_count(way.lattice(target, (2,) * target.width, limits)) > 1000 * limits.max_layers * limits.hidden_size:
        raise PlanError(
            f"{target.name} on {target.tokens} tokens of width {target.width} cannot be built by {way.name}: even with "
            f"two cells per axis it has far more ids than {limits.max_layers:,} layers can serve; ask for fewer tokens "
            f"or a smaller width"
        )
    goal = tolerance * (1 - MERGE_SHARE - ROUNDING_SHARE) * (1 - budget.RAMP_SHARE)
    counts: tuple[int, ...] | None = None
    for counts in growing_counts(target, p, goal):
        if id_count(way.lattice(target, counts, limits)) > limits.max_layers * _slots(way, limits):
            raise _too_long(way, target, tolerance, p, counts, limits)
        if excess := too_much_to_prove(target, way.lattice(target, counts, limits), limits):
            raise PlanError(
                f"{target.name} on {target.tokens} tokens of width {target.width} with error {tolerance:g} in L^{p:g} "
                f"cannot be proved by {way.name}: {excess}.\nWhat would fit:\n"
                f"  - a larger tolerance, fewer tokens, or a higher limit (--max-cells, --max-memory)."
            )
    assert counts is not None
    return _checked(way, target, tolerance, p, counts, limits)


def finer(way: Way, plan: Plan, limits: Limits) -> Plan:
    """About a tenth more cells along every coordinate."""
    counts = tuple(count + max(1, count // 10) for count in plan.lattice.counts)
    return _checked(way, plan.target, plan.tolerance, plan.p, counts, limits)


def _slots(way: Way, limits: Limits) -> int:
    """How many runs of ids a layer of the value map serves."""
    return limits.hidden_size // 2 if way.is_merging else 1


def _checked(way: Way, target: Target, tolerance: float, p: float, counts: tuple[int, ...], limits: Limits) -> Plan:
    """Bits are counted before anything is listed: too long ids could not even be computed."""
    lattice = way.lattice(target, counts, limits)
    context = way.context(lattice, limits)
    if context.largest_id.bit_length() > FLOAT_BITS:
        raise _too_many_bits(way, target, tolerance, p, lattice, context.largest_id.bit_length())
    made = plan_with(way, target, tolerance, p, counts, limits)
    why = shortage(made, limits)
    if why:
        raise refusal(made, why, None, _layers_with_fewer_tokens(lattice, limits))
    if made.output_quantum > COARSEST * tolerance:
        raise _too_many_bits(way, target, tolerance, p, lattice, made.id_bits)
    return made


def _too_many_bits(way: Way, target: Target, tolerance: float, p: float, lattice: Lattice, bits: int) -> PlanError:
    return PlanError(
        f"{target.name} on {target.tokens} tokens of width {target.width} with error {tolerance:g} in L^{p:g} cannot "
        f"be built by {way.name}: it needs {' × '.join(map(str, lattice.counts))} cells per token, and that means ids "
        f"of {bits} bits, where float64 has {FLOAT_BITS} for the id and the output together.\n"
        f"What would fit:\n  - a larger tolerance, fewer tokens, or another method (--method)."
    )


def _layers_with_fewer_tokens(lattice: Lattice, limits: Limits) -> int:
    return id_count(replace(lattice, tokens=max(lattice.tokens - 1, 2))) // (limits.hidden_size // 2)


def _too_long(
    way: Way, target: Target, tolerance: float, p: float, counts: tuple[int, ...], limits: Limits
) -> PlanError:
    """Refuse with numbers: what it would take, and the tolerance that a grid a tenth coarser in ids could meet."""
    slots = _slots(way, limits)
    layers = id_count(way.lattice(target, counts, limits)) // slots
    smaller = counts
    while id_count(way.lattice(target, smaller, limits)) > limits.max_layers * slots:
        smaller = tuple(max(1, int(count * 0.9)) for count in smaller)
    enough = error_of_tables(target, p)(way.lattice(target, smaller, limits)) * 1.05
    return PlanError(
        f"{target.name} on {target.tokens} tokens of width {target.width} with error {tolerance:g} in L^{p:g} cannot "
        f"be built by {way.name}: it needs at least {' × '.join(map(str, counts))} cells per token, and that means "
        f"over {layers:,} layers where {limits.max_layers:,} are allowed.\nWhat would fit:\n"
        f"  - a tolerance of {enough:.3g} or more ({' × '.join(map(str, smaller))} cells per token);\n"
        f"  - fewer tokens, a higher limit on the layers (--max-layers) or more hidden units (--hidden-size)."
    )


def plan_with(way: Way, target: Target, tolerance: float, p: float, counts: tuple[int, ...], limits: Limits) -> Plan:
    """The construction on a grid of the given counts."""
    lattice = way.lattice(target, counts, limits)
    reach = budget.reach_of(target)
    # A function that is 0 still needs a clip somewhere; a fraction of the tolerance will do.
    bound = power_of_two_above(max(reach, tolerance * 2.0**-10))
    sizes = Sizes.of(lattice, way.context(lattice, limits), bound)
    entries = (target.domain.volume(lattice.tokens, lattice.width) * lattice.tokens * lattice.width) ** (1 / p)
    layout = _layout(target, sizes, tolerance / entries, _slots(way, limits), way.is_merging)
    quantum = sizes.quantum(layout.widest)
    ramp = budget.ramp_width(lattice, tolerance, p, reach, bound)
    merged = MERGE_SHARE * tolerance if layout.layers * _slots(way, limits) < id_count(lattice) else 0.0
    return Plan(
        target=target,
        method=way.name,
        tolerance=tolerance,
        p=p,
        lattice=lattice,
        ramp=ramp,
        output_bound=bound,
        output_quantum=quantum,
        stages=_stages(sizes, layout, limits.hidden_size),
        ids=id_count(lattice),
        id_bits=sizes.context.largest_id.bit_length(),
        error=_error(target, lattice, tolerance, p, quantum * entries / 2 + merged),
        shape=BlockShape(hidden_size=limits.hidden_size),
        values=layout,
        pattern=limits.pattern,
        probability_map=limits.probability_map,
    )


def _error(target: Target, lattice: Lattice, tolerance: float, p: float, rounding: float) -> ErrorSplit:
    variation = error_of_tables(target, p)(lattice)
    ramps = (budget.RAMP_SHARE * tolerance**p) ** (1 / p)
    total = ((variation + rounding) ** p + ramps**p) ** (1 / p)
    return ErrorSplit(variation, 0.0, rounding, ramps, float(total))


def _layout(target: Target, sizes: Sizes, tolerance: float, slots: int, is_merging: bool) -> Runs:
    """All ids with their values, merged and grouped."""
    lattice = sizes.lattice
    sequences = all_sequences(lattice)
    widest = sizes.widest(ROUNDING_SHARE * tolerance) if is_merging else 0
    outputs = round_outputs(cell_values(target, lattice, sequences), _quanta(sizes, widest, lattice.width))
    ids, first = np.unique(sizes.context.ids(sequences).ravel(), return_index=True)
    values = outputs.reshape(-1, lattice.width)[first]
    assert len(ids) == id_count(lattice), "two tokens that must be told apart share an id"
    plain = find_runs(ids, values, 0.0, slots, widest)
    runs = find_runs(ids, values, 2 * MERGE_SHARE * tolerance, slots, widest) if is_merging else plain
    # Merging costs accuracy: take it only where it saves a tenth of the layers or more.
    chosen = runs if runs.layers < 0.9 * plain.layers else plain
    grain = _quanta(sizes, widest, lattice.width)
    return Runs(chosen.lowest, chosen.highest, round_outputs(chosen.values, grain), chosen.group)


def _quanta(sizes: Sizes, widest: int, width: int) -> Array:
    """The grain of outputs in each coordinate: the first shares its bits with the ids."""
    quanta = np.full(width, sizes.bound * power_of_two_above(2 * widest + 1) * 2.0**-50)
    quanta[0] = max(sizes.quantum(widest), quanta[0])
    return quanta


def _stages(sizes: Sizes, layout: Runs, hidden_size: int) -> tuple[PlannedStage, ...]:
    drafts = [*_before(sizes, sizes.lattice.cell_width / 4, hidden_size), *_after(sizes)]
    names = [PlannedStage(draft.stage.name, draft.stage.kind, len(draft.stage)) for draft in drafts]
    tail = len(_after(sizes))
    values = [PlannedStage("lift", "feed_forward", 1), PlannedStage("value map", "feed_forward", layout.layers)]
    return (*names[:-tail], *values, *names[-tail:])


def drafts(way: Way, plan: Plan) -> list[Draft]:
    """Quantise, make ids, give values, tidy up."""
    sizes = _sizes(way, plan)
    assert plan.values is not None
    slots, unit = plan.shape.hidden_size // 2, plan.lattice.cell_width
    values = value_stage(plan.values, slots, unit, sizes.lift)
    return [
        *_before(sizes, plan.ramp, plan.shape.hidden_size),
        lifted(plan.lattice, sizes.lift),
        values,
        *_after(sizes),
    ]


def _sizes(way: Way, plan: Plan) -> Sizes:
    limits = Limits(hidden_size=plan.shape.hidden_size, pattern=plan.pattern, probability_map=plan.probability_map)
    return Sizes.of(plan.lattice, way.context(plan.lattice, limits), plan.output_bound)


def _before(sizes: Sizes, ramp: float, hidden_size: int) -> list[Draft]:
    lattice, context = sizes.lattice, sizes.context
    # What a mark alone brings, carry·mark >= top, must lift every token of a sequence that leaves the support over all.
    mark = 4 * power_of_two_above(max(sizes.top / context.carry, lattice.largest_entry))
    outside = [Draft(falling("vanish outside", lattice.width, [0], sizes.top), sizes.top / 2)]
    return [
        *to_grid(lattice),
        *mark_outside(lattice, ramp, mark),
        *quantise(lattice, ramp),
        *context.drafts(lattice, hidden_size // 2),
        *(outside if lattice.is_guarded else []),
    ]


def _after(sizes: Sizes) -> list[Draft]:
    lattice = sizes.lattice
    # What vanished outside the support was lifted with the rest: send it back to 0.
    strays = [Draft(falling("vanish strays", lattice.width, [0], sizes.lift), sizes.lift / 2)]
    clip = clamp_rows("clip", lattice.width, sizes.bound, 2 * sizes.top * lattice.tokens)
    return [*(strays if lattice.is_guarded else []), clip]


def table(way: Way, plan: Plan, codes: Integers) -> Array:
    """What the network returns on the cells of the given sequences, rows in increasing order without positions."""
    assert plan.values is not None
    ids = _sizes(way, plan).context.ids(codes)
    # Runs go downwards: the first whose lowest id is at or below the id holds it.
    run = np.searchsorted(-plan.values.lowest, -ids)
    return plan.values.values[run]


def method(way: Way) -> Method:
    """The way as the methods' list wants it."""
    return Method(partial(plan, way), partial(finer, way), partial(drafts, way))
