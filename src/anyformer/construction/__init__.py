"""Building it: plan, quantise, contextual map, value map, soften."""

from anyformer.construction.assemble import Construction, build
from anyformer.construction.plans import ErrorSplit, Plan, PlannedStage
from anyformer.construction.select import METHODS, plan

__all__ = ["METHODS", "Construction", "ErrorSplit", "Plan", "PlannedStage", "build", "plan"]
