"""Plans on a grid of our choosing, so that sizes double when we want them to."""

from anyformer.construction import Averaging, Construction, Request, TablePlan
from anyformer.targets import Target

P = 2.0
# The proof is asked for half as much again as the planned error: about what `construct` leaves it.
ROOM = 1.5


def plan_with_counts(target: Target, count: int) -> TablePlan:
    """`count` cells along every axis, and a tolerance in proportion to how much the target varies on a cell."""
    rough = plan_at(target, 1.0, count)
    return plan_at(target, ROOM * rough.error.variation, count)


def plan_at(target: Target, tolerance: float, count: int) -> TablePlan:
    """`count` cells along every axis, and this tolerance."""
    return Averaging().plan_with(Request(target=target, tolerance=tolerance, p=P), (count,) * target.width)


def build(plan: TablePlan) -> Construction:
    """The network of a plan."""
    return Averaging().build(plan)
