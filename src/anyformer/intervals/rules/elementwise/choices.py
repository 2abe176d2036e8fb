"""Values chosen among others: np.where, np.select, np.clip."""

from collections.abc import Sequence
from typing import Any

from anyformer.intervals import conditions
from anyformer.intervals.conditions import refuse_conditions, refuse_other_types
from anyformer.intervals.ends import Ends, ends_of, is_truth
from anyformer.intervals.rules.elementwise import arithmetic


def chosen(condition: Any, *branches: Any) -> Ends:
    """np.where, for choices that NumPy makes float64 or booleans of."""
    _refuse_choices("np.where", branches)
    return conditions.where(condition, *branches)


def selected(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Ends:
    """np.select, likewise."""
    _refuse_choices("np.select", [*choicelist, default])
    refuse_other_types("np.select", choicelist)
    return conditions.select(condlist, choicelist, default)


def _refuse_choices(name: str, choices: Sequence[Any]) -> None:
    """Choices are all conditions, or numbers of which NumPy makes float64."""
    if all(map(is_truth, choices)):
        return
    refuse_conditions(f"{name} with a choice between numbers and conditions, as it is", choices)
    if choices:
        refuse_other_types(name, choices)


def clipped(a: Ends, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Ends:
    """np.clip: what is below the lower bound is raised to it, then what is above the upper one lowered."""
    lower = a_min if min is None else min
    upper = a_max if max is None else max
    refuse_conditions("np.clip", [lower, upper])
    raised = a if lower is None else arithmetic.maximum(a, ends_of(lower))
    return arithmetic.positive(raised if upper is None else arithmetic.minimum(raised, ends_of(upper)))
