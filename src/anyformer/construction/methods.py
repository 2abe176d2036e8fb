"""What a construction method is."""

from collections.abc import Callable
from dataclasses import dataclass

from anyformer.construction.drafts import Draft
from anyformer.construction.limits import Limits
from anyformer.construction.plans import Plan
from anyformer.targets.target import Target


@dataclass(frozen=True)
class Method:
    """A construction: how it plans, how it plans a little finer, and its stages."""

    plan: Callable[[Target, float, float, Limits], Plan]
    finer: Callable[[Plan, Limits], Plan]
    drafts: Callable[[Plan], list[Draft]]
