"""Showing it: plans, models, proofs, comparisons and traces as data, as text and as pictures."""

from anyformer.reports.catalogue import TargetEntry, target_entries
from anyformer.reports.tracing.trace import StageTrace, Trace, trace
from anyformer.reports.tracing.walk import Move

__all__ = ["Move", "StageTrace", "TargetEntry", "Trace", "target_entries", "trace"]
