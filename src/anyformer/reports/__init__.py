"""Seeing it: plans, models, proofs and traces as data and as text."""

from anyformer.reports.catalogue import TargetEntry, target_entries
from anyformer.reports.tracing.trace import StageTrace, Trace, trace
from anyformer.reports.tracing.walk import Move

__all__ = ["Move", "StageTrace", "TargetEntry", "Trace", "target_entries", "trace"]
