"""Patterns in and out: from edges, matrices, graphs and masks; as arrays, as text, as JSON, for FlexAttention."""
