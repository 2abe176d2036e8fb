"""Building it: a request, a plan by some method, and the networks made from the plan."""

from anyformer.construction.assemble import Construction, build
from anyformer.construction.methods import (
    METHODS,
    Averaging,
    Method,
    SelectiveShift,
    SparseAveraging,
    SparseSelectiveShift,
)
from anyformer.construction.planning import plan
from anyformer.construction.plans.plan import ErrorSplit, Plan, PlannedStage
from anyformer.construction.refusal import Fit, Refusal, Resource, Shortage
from anyformer.construction.request import Request

__all__ = [
    "METHODS",
    "Averaging",
    "Construction",
    "ErrorSplit",
    "Fit",
    "Method",
    "Plan",
    "PlannedStage",
    "Refusal",
    "Request",
    "Resource",
    "SelectiveShift",
    "Shortage",
    "SparseAveraging",
    "SparseSelectiveShift",
    "build",
    "plan",
]
