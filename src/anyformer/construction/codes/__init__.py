"""Whole numbers that keep contexts apart: sets whose sums never collide, and multipliers."""
