"""Patterns in and out: from edges, matrices, graphs and masks; as arrays, as JSON, for FlexAttention."""
