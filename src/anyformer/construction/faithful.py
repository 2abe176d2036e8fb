"""Method `selective-shift`: Paper A's construction, with all sizes decided by the error budget."""

import math
from dataclasses import replace

import numpy as np

from anyformer.construction import budget
from anyformer.construction.drafts import Draft, power_of_two_above
from anyformer.construction.lattice import Integers, Lattice
from anyformer.construction.limits import Limits, refusal, shortage
from anyformer.construction.plans import ErrorSplit, Plan, PlannedStage
from anyformer.construction.quantise import mark_outside, quantise, to_grid
from anyformer.construction.rowwise import LADDER_RATIO, clamp_rows, vanish
from anyformer.construction.selective_shift import broadcast_gain, context_ids, largest_shifted, selective_shifts
from anyformer.construction.tables import centre_values
from anyformer.construction.value_map import round_outputs, value_map
from anyformer.networks.activations import Array
from anyformer.networks.layers import BlockShape
from anyformer.targets.target import Target

NAME = "selective-shift"
# A refusal names the size that would be needed, unless even counting its columns is too much.
COUNTABLE = 1 << 10


def plan(target: Target, tolerance: float, p: float, limits: Limits) -> Plan:
    """The coarsest dyadic grid that meets the tolerance, or a refusal."""
    best: Plan | None = None
    sides = target.domain.highs(target.width) - target.domain.lows(target.width)
    cell_width = 2.0 ** math.ceil(math.log2(float(sides.max())))
    while True:
        cell_width /= 2
        candidate = plan_at(target, tolerance, p, cell_width, limits.hidden_size)
        why = shortage(candidate, limits)
        enough = candidate.error.total <= tolerance
        if why and (_would_do(candidate.error, tolerance, p) or candidate.lattice.columns > COUNTABLE):
            raise refusal(candidate, why, best, _layers_with_fewer_tokens(candidate.lattice))
        if enough:
            return candidate
        best = best if why else candidate


def _would_do(error: ErrorSplit, tolerance: float, p: float) -> bool:
    """Whether the grid is fine enough, float64 and its bits aside."""
    return bool(error.variation**p + error.coincidence**p + error.ramps**p <= tolerance**p)


def _layers_with_fewer_tokens(lattice: Lattice) -> int:
    fewer = replace(lattice, tokens=max(lattice.tokens - 1, 1))
    return int(fewer.tokens * fewer.sequences)


def finer(plan: Plan, limits: Limits) -> Plan:
    """Half the cell width."""
    half = plan.lattice.cell_width / 2
    candidate = plan_at(plan.target, plan.tolerance, plan.p, half, limits.hidden_size)
    why = shortage(candidate, limits)
    if why:
        raise refusal(candidate, why, plan, _layers_with_fewer_tokens(candidate.lattice))
    return candidate


def plan_at(target: Target, tolerance: float, p: float, cell_width: float, hidden_size: int = 4) -> Plan:
    """The construction with cells of the given width: sizes by stage and the error it will have."""
    lattice = Lattice.dyadic(target, cell_width)
    reach = budget.reach_of(target)
    # A function that is 0 still needs a clip somewhere; a fraction of the tolerance will do.
    bound = power_of_two_above(max(reach, tolerance * 2.0**-10))
    largest_id = (1 + broadcast_gain(lattice)) * largest_shifted(lattice)
    # No lifted id reaches half of `top`; what 53 bits leave below it is the quantum for outputs in coordinate 0.
    top = 2 * power_of_two_above(largest_id * cell_width + _lift(lattice, bound))
    quantum = top * 2.0**-53
    ramp = budget.ramp_width(lattice, tolerance, p, reach, bound)
    return Plan(
        target=target,
        method=NAME,
        tolerance=tolerance,
        p=p,
        lattice=lattice,
        ramp=ramp,
        output_bound=bound,
        output_quantum=quantum,
        stages=_stages(lattice, bound, top),
        ids=lattice.tokens * lattice.sequences,
        id_bits=largest_id.bit_length(),
        error=_error(target, lattice, tolerance, p, reach, quantum),
        shape=BlockShape(hidden_size=hidden_size),
    )


def _error(target: Target, lattice: Lattice, tolerance: float, p: float, reach: float, quantum: float) -> ErrorSplit:
    """Where the error will go, with the modulus if there is one and else with what samples show."""
    deviation = budget.deviation(target, lattice, p)
    rounding = np.zeros_like(deviation)
    rounding[:, 0] = quantum / 2
    rounding += target.evaluation_error * (1 + reach)
    volume = target.domain.volume(lattice.tokens, lattice.width)
    coincidence = budget.coincidence_power(target, lattice, deviation, p)
    regular = float(volume * ((deviation + rounding) ** p).sum())
    ramps = budget.RAMP_SHARE * tolerance**p
    return ErrorSplit(
        variation=float((volume * (deviation**p).sum()) ** (1 / p)),
        coincidence=float(coincidence ** (1 / p)),
        rounding=float((volume * (rounding**p).sum()) ** (1 / p)),
        ramps=float(ramps ** (1 / p)),
        total=float((regular + coincidence + ramps) ** (1 / p)),
    )


def _stages(lattice: Lattice, bound: float, top: float) -> tuple[PlannedStage, ...]:
    """Count layers by building every stage but the value map, whose layers are its ids."""
    drafts = [*_before(lattice, lattice.cell_width / 4, top), *selective_shifts(lattice), *_outside(lattice, top)]
    after = [*_strays(lattice, bound), _clip(lattice, bound, top)]
    count = [PlannedStage(draft.stage.name, draft.stage.kind, len(draft.stage)) for draft in drafts]
    values = [PlannedStage("lift", "feed_forward", 1)]
    if lattice.sequences:
        values.append(PlannedStage("value map", "feed_forward", lattice.tokens * lattice.sequences))
    return (*count, *values, *(PlannedStage(draft.stage.name, draft.stage.kind, len(draft.stage)) for draft in after))


def drafts(plan: Plan) -> list[Draft]:
    """Quantise, map contexts apart, give values, tidy up: the whole network in hard stages."""
    lattice, bound = plan.lattice, plan.output_bound
    top = plan.output_quantum * 2.0**53
    return [
        *_before(lattice, plan.ramp, top),
        *selective_shifts(lattice),
        *_outside(lattice, top),
        *_values(plan),
        *_strays(lattice, bound),
        _clip(lattice, bound, top),
    ]


def _before(lattice: Lattice, ramp: float, top: float) -> list[Draft]:
    return [*to_grid(lattice), *mark_outside(lattice, ramp, _mark(lattice, top)), *quantise(lattice, ramp)]


def _mark(lattice: Lattice, top: float) -> float:
    """So high that the global shift alone, C·max >= C·mark > top, carries every token of the sequence over all ids."""
    return 4 * power_of_two_above(max(top / broadcast_gain(lattice), lattice.largest_entry))


def _outside(lattice: Lattice, top: float) -> list[Draft]:
    """Every token of a sequence with an entry outside the support is above `top` now: all vanish."""
    if not lattice.is_guarded:
        return []
    return vanish("vanish outside", lattice.width, threshold=top, others=_entry_ceiling(lattice))


def _entry_ceiling(lattice: Lattice) -> float:
    return 4 * power_of_two_above(lattice.largest_entry)


def _stray_threshold(lattice: Lattice, bound: float) -> float:
    """Above all outputs and grid entries by a factor that keeps both below the ramp."""
    return 4 * max(bound, power_of_two_above(lattice.largest_entry))


def _lift(lattice: Lattice, bound: float) -> float:
    """Above u·A for every output column A, and above the stray threshold."""
    return max(2 * power_of_two_above(bound * sum(lattice.radices)), _stray_threshold(lattice, bound))


def _strays(lattice: Lattice, bound: float) -> list[Draft]:
    """Tokens without an id are still up where the lift put them: send them to 0. With positions there are none."""
    if lattice.has_positions:
        return []
    threshold = _stray_threshold(lattice, bound)
    return vanish("vanish strays", lattice.width, threshold=threshold, others=threshold)


def _clip(lattice: Lattice, bound: float, top: float) -> Draft:
    """Bound the output everywhere, also where an input sits in a ramp and its token kept some huge value."""
    # A sweep layer multiplies what it finds by at most 1 + 2M, so this is how far the garbage can have grown.
    growth = lattice.slots * lattice.columns * math.log2(1 + 2 * lattice.columns) + math.log2(top / LADDER_RATIO) + 45
    return clamp_rows("clip", lattice.width, bound, 2.0**growth if growth < 1000 else math.inf)


def _values(plan: Plan) -> list[Draft]:
    lattice = plan.lattice
    codes = lattice.sequence_codes()
    cells = lattice.column_table()[codes] + lattice.slot_cells
    outputs = table(plan, codes).reshape(-1, lattice.width)
    ids = context_ids(lattice, codes).ravel()
    lift = _lift(lattice, plan.output_bound)
    return value_map(lattice, cells.reshape(-1, lattice.width), ids, outputs, lift)


def table(plan: Plan, codes: Integers) -> Array:
    """f̄: the value of the target at each cell's centre, rounded to what the ids leave bits for."""
    quanta = np.full(plan.lattice.width, plan.output_bound * 2.0**-50)
    quanta[0] = max(plan.output_quantum, quanta[0])
    return round_outputs(centre_values(plan.target, plan.lattice, codes), quanta)
