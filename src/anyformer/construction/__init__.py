"""Building it: a request, a plan by some method, and the networks made from the plan."""

from anyformer.construction.methods import (
    METHODS,
    Averaging,
    Compile,
    Method,
    SelectiveShift,
    SparseAveraging,
    SparseSelectiveShift,
)
from anyformer.construction.planning import plan
from anyformer.construction.plans.plan import Construction, Plan, PlannedStage
from anyformer.construction.plans.table_plan import ErrorSplit, TablePlan
from anyformer.construction.refusal import Fit, Refusal, Resource, Shortage
from anyformer.construction.request import Request

__all__ = [
    "METHODS",
    "Averaging",
    "Compile",
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
    "TablePlan",
    "plan",
]
