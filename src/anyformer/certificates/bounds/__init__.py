"""Bounding the error: cells, what each of them contributes, and what that costs."""
