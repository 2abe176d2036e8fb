"""Method `averaging`: one layer of uniform attention, and ids for every sequence.

Quantise, gather each column's code in the first coordinate, recode it so that sums never collide, add a multiple of the
mean, give values, clip. Sequences with equal columns have ids too, so the error is that of the table alone.
"""

from dataclasses import dataclass, replace

import numpy as np

from anyformer.construction import budget
from anyformer.construction.averages import Naming, all_sequences, id_count, naming
from anyformer.construction.drafts import Draft, power_of_two_above
from anyformer.construction.growth import error_of_tables, growing_counts
from anyformer.construction.lattice import Integers, Lattice
from anyformer.construction.limits import Limits, refusal, shortage
from anyformer.construction.plans import ErrorSplit, Plan, PlannedStage
from anyformer.construction.quantise import mark_outside, quantise, to_grid
from anyformer.construction.rowwise import clamp_rows, falling
from anyformer.construction.staircases import packed, step_stage
from anyformer.construction.tables import cell_values
from anyformer.construction.value_map import lifted, round_outputs
from anyformer.construction.value_runs import Runs, find_runs, value_stage
from anyformer.errors import PlanError
from anyformer.networks.activations import Array, Softmax, pieces
from anyformer.networks.layers import AttentionStage, BlockShape, FeedForwardStage
from anyformer.targets.target import Target

NAME = "averaging"
# Shares of the tolerance: for merging neighbouring ids, and for rounding outputs so that several ids fit in one layer.
MERGE_SHARE = 2.0**-6
ROUNDING_SHARE = 2.0**-12


@dataclass(frozen=True, eq=False)
class Sizes:
    """What follows from a grid before any value is known, in the network's own units."""

    lattice: Lattice
    names: Naming
    bound: float
    lift: float
    top: float

    @classmethod
    def of(cls, lattice: Lattice, bound: float) -> "Sizes":
        """No lifted id reaches half of `top`; the lift is above all outputs and the ramp that strays fall from."""
        names = naming(lattice)
        lift = 4 * max(bound, power_of_two_above(lattice.largest_entry))
        return cls(lattice, names, bound, lift, 2 * power_of_two_above(names.largest_id * lattice.cell_width + lift))

    def quantum(self, widest: int) -> float:
        """The output grain for which a group of ids that reaches over `widest` is moved without any rounding.

        The largest product is (id/ramp)·(reach + ramp) with a ramp of half a cell; 53 bits from there down.
        """
        return self.top * power_of_two_above(2 * widest + 1) * 2.0**-53

    def widest(self, grain: float) -> int:
        """The widest reach that keeps the quantum at or below `grain`."""
        spare = int(np.floor(np.log2(grain / (self.top * 2.0**-53))))
        return 0 if spare < 1 else 2 ** min(spare - 1, 40) - 1


def plan(target: Target, tolerance: float, p: float, limits: Limits) -> Plan:
    """The coarsest grid that meets the tolerance, or a refusal."""
    if id_count(Lattice.with_counts(target, (2,) * target.width)) > 1000 * limits.max_layers * limits.hidden_size:
        raise PlanError(
            f"{target.name} on {target.tokens} tokens of width {target.width} cannot be built by {NAME}: even with two "
            f"cells per axis it has far more ids than {limits.max_layers:,} layers can serve; ask for fewer tokens or "
            f"a smaller width"
        )
    goal = tolerance * (1 - MERGE_SHARE - ROUNDING_SHARE) * (1 - budget.RAMP_SHARE)
    counts: tuple[int, ...] | None = None
    for counts in growing_counts(target, p, goal):
        if id_count(Lattice.with_counts(target, counts)) > limits.max_layers * (limits.hidden_size // 2):
            raise _too_long(target, tolerance, p, counts, limits)
    assert counts is not None
    return _checked(plan_with(target, tolerance, p, counts, limits.hidden_size), limits)


def finer(plan: Plan, limits: Limits) -> Plan:
    """About a tenth more cells along every coordinate."""
    counts = tuple(count + max(1, count // 10) for count in plan.lattice.counts)
    return _checked(plan_with(plan.target, plan.tolerance, plan.p, counts, limits.hidden_size), limits)


def _checked(plan: Plan, limits: Limits) -> Plan:
    why = shortage(plan, limits)
    if why:
        raise refusal(plan, why, None, _layers_with_fewer_tokens(plan.lattice, limits))
    return plan


def _layers_with_fewer_tokens(lattice: Lattice, limits: Limits) -> int:
    return id_count(replace(lattice, tokens=max(lattice.tokens - 1, 2))) // (limits.hidden_size // 2)


def _too_long(target: Target, tolerance: float, p: float, counts: tuple[int, ...], limits: Limits) -> PlanError:
    """Refuse with numbers: what it would take, and the tolerance that a grid a tenth coarser in ids could meet."""
    lattice = Lattice.with_counts(target, counts)
    layers = id_count(lattice) // (limits.hidden_size // 2)
    smaller = counts
    while id_count(Lattice.with_counts(target, smaller)) > limits.max_layers * (limits.hidden_size // 2):
        smaller = tuple(max(1, int(count * 0.9)) for count in smaller)
    enough = error_of_tables(target, p)(Lattice.with_counts(target, smaller)) * 1.05
    return PlanError(
        f"{target.name} on {target.tokens} tokens of width {target.width} with error {tolerance:g} in L^{p:g} cannot "
        f"be built by {NAME}: it needs at least {' × '.join(map(str, counts))} cells per token, and that means over "
        f"{layers:,} layers where {limits.max_layers:,} are allowed.\nWhat would fit:\n"
        f"  - a tolerance of {enough:.3g} or more ({' × '.join(map(str, smaller))} cells per token);\n"
        f"  - fewer tokens, a higher limit on the layers (--max-layers) or more hidden units (--hidden-size)."
    )


def plan_with(target: Target, tolerance: float, p: float, counts: tuple[int, ...], hidden_size: int) -> Plan:
    """The construction on a grid of the given counts."""
    lattice = Lattice.with_counts(target, counts)
    reach = budget.reach_of(target)
    # A function that is 0 still needs a clip somewhere; a fraction of the tolerance will do.
    bound = power_of_two_above(max(reach, tolerance * 2.0**-10))
    sizes = Sizes.of(lattice, bound)
    entries = (target.domain.volume(lattice.tokens, lattice.width) * lattice.tokens * lattice.width) ** (1 / p)
    layout = _layout(target, sizes, tolerance / entries, hidden_size // 2)
    quantum = sizes.quantum(layout.widest)
    ramp = budget.ramp_width(lattice, tolerance, p, reach, bound)
    merged = MERGE_SHARE * tolerance if layout.layers * (hidden_size // 2) < id_count(lattice) else 0.0
    return Plan(
        target=target,
        method=NAME,
        tolerance=tolerance,
        p=p,
        lattice=lattice,
        ramp=ramp,
        output_bound=bound,
        output_quantum=quantum,
        stages=_stages(sizes, layout, hidden_size),
        ids=id_count(lattice),
        id_bits=sizes.names.largest_id.bit_length(),
        error=_error(target, lattice, tolerance, p, quantum * entries / 2 + merged),
        shape=BlockShape(hidden_size=hidden_size),
        values=layout,
    )


def _error(target: Target, lattice: Lattice, tolerance: float, p: float, rounding: float) -> ErrorSplit:
    variation = error_of_tables(target, p)(lattice)
    ramps = (budget.RAMP_SHARE * tolerance**p) ** (1 / p)
    total = ((variation + rounding) ** p + ramps**p) ** (1 / p)
    return ErrorSplit(variation, 0.0, rounding, ramps, float(total))


def _layout(target: Target, sizes: Sizes, tolerance: float, slots: int) -> Runs:
    """All ids with their values, merged and grouped."""
    lattice, names = sizes.lattice, sizes.names
    sequences = all_sequences(lattice)
    widest = sizes.widest(ROUNDING_SHARE * tolerance)
    outputs = round_outputs(cell_values(target, lattice, sequences), _quanta(sizes, widest, lattice.width))
    ids, first = np.unique(names.ids(sequences).ravel(), return_index=True)
    values = outputs.reshape(-1, lattice.width)[first]
    runs = find_runs(ids, values, 2 * MERGE_SHARE * tolerance, slots, widest)
    plain = find_runs(ids, values, 0.0, slots, widest)
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


def drafts(plan: Plan) -> list[Draft]:
    """Quantise, gather, recode, average, give values, tidy up."""
    sizes = Sizes.of(plan.lattice, plan.output_bound)
    assert plan.values is not None
    slots, unit = plan.shape.hidden_size // 2, plan.lattice.cell_width
    values = value_stage(plan.values, slots, unit, sizes.lift)
    return [
        *_before(sizes, plan.ramp, plan.shape.hidden_size),
        lifted(plan.lattice, sizes.lift),
        values,
        *_after(sizes),
    ]


def _before(sizes: Sizes, ramp: float, hidden_size: int) -> list[Draft]:
    lattice, names = sizes.lattice, sizes.names
    # The mean alone, gain·mark/n >= top, must carry every token of a sequence with an entry outside over all ids.
    mark = 4 * power_of_two_above(max(sizes.top * lattice.tokens / names.attention_gain, lattice.largest_entry))
    outside = [Draft(falling("vanish outside", lattice.width, [0], sizes.top), sizes.top / 2)]
    return [
        *to_grid(lattice),
        *mark_outside(lattice, ramp, mark),
        *quantise(lattice, ramp),
        *gather(lattice),
        *recode(lattice, names, hidden_size // 2),
        average(lattice, names.attention_gain),
        *(outside if lattice.is_guarded else []),
    ]


def gather(lattice: Lattice) -> list[Draft]:
    """Collect the code in the first coordinate: z_0 += radix·z_i and z_i = 0, exactly, for every other coordinate i."""
    width = lattice.width
    if width == 1:
        return []
    rows = range(1, width)
    W_1, W_2 = np.zeros((width - 1, 1, width)), np.zeros((width - 1, width, 1))
    for layer, i in enumerate(rows):
        W_1[layer, 0, i], W_2[layer, 0, 0], W_2[layer, i, 0] = 1.0, lattice.radices[i], -1.0
    ramp_up = pieces((0.0,), (0, 0), (1, 0))
    zeros = np.zeros((width - 1, 1)), np.zeros((width - 1, width))
    return [Draft(FeedForwardStage("gather", W_1, zeros[0], W_2, zeros[1], ramp_up), 1.0)]


def recode(lattice: Lattice, names: Naming, slots: int) -> list[Draft]:
    """Raise the token with code number c to f·g_c: a step at every number from the highest down, each by what g adds.

    A token is at or above a number iff its own is, before and after any raise, since codes rise with their numbers.
    """
    unit = lattice.cell_width
    targets = names.factor * names.codes.ravel()
    rises = np.diff(targets, prepend=-1) - 1
    numbers = np.flatnonzero(rises)[::-1]
    jumps = np.zeros((len(numbers), lattice.width))
    jumps[:, 0] = rises[numbers] * unit
    if not len(numbers):
        return []
    return [step_stage("recode", packed(numbers.astype(np.float64) * unit, jumps, slots), unit / 2)]


def average(lattice: Lattice, gain: int) -> Draft:
    """Uniform attention: no query, no key; every token gets gain times the mean of the first coordinates."""
    zeros = np.zeros((1, 2, 1, lattice.width))
    W_V, W_O = zeros.copy(), np.zeros((1, 2, lattice.width, 1))
    W_V[0, 0, 0, 0], W_O[0, 0, 0, 0] = 1.0, gain
    return Draft(AttentionStage("average", zeros, np.zeros((1, 2, 1)), zeros, W_V, W_O, Softmax()), 1.0)


def _after(sizes: Sizes) -> list[Draft]:
    lattice = sizes.lattice
    # What vanished outside the support was lifted with the rest: send it back to 0.
    strays = [Draft(falling("vanish strays", lattice.width, [0], sizes.lift), sizes.lift / 2)]
    clip = clamp_rows("clip", lattice.width, sizes.bound, 2 * sizes.top * lattice.tokens)
    return [*(strays if lattice.is_guarded else []), clip]


def table(plan: Plan, codes: Integers) -> Array:
    """What the network returns on the cells of the given sequences, rows in increasing order without positions."""
    sizes = Sizes.of(plan.lattice, plan.output_bound)
    assert plan.values is not None
    ids = sizes.names.ids(codes)
    # Runs go downwards: the first whose lowest id is at or below the id holds it.
    run = np.searchsorted(-plan.values.lowest, -ids)
    return plan.values.values[run]
