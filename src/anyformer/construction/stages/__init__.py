"""Runs of layers that do one step each, as hard drafts, and the softening that makes them real layers."""
