"""Following sets of inputs through a network: what it can return, in real arithmetic and in float64."""
